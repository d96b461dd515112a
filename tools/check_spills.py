#!/usr/bin/env python3
"""Looks for spilled registers in the inner loops of the int8 panel product.

Usage: check_spills.py OBJECT...

The tiles of src/kernels/avx512/panel_q8.hpp are laid out so that their accumulators fill the vector
registers and none goes to the stack between one vpdpbusd and the next. A compiler may decide
otherwise without a word. This reads the disassembly (objdump) of every function panel_tile of two
column groups with the most rows its kind takes, from the first vpdpbusd to the end of the loop, and
fails if more zmm operands lie on the stack there than the table below grants, or if no such tile is
found. Five rows with scales per 16 k have 30 values to keep beside two weights and the broadcasts;
two sums in memory still beat four rows (77 against 75 % of the int8 roof on Zen 5). Objects other than the int8 products of the avx512 set are passed over.
"""

import re
import subprocess
import sys

# Template arguments of panel_tile<Wide16, Min, Rows, Groups> in mangled names, what they stand for,
# and the operands granted to the stack.
TILES = {
    "ILb0ELb0ELi6ELi2E": ("6 rows", 0),
    "ILb0ELb1ELi6ELi2E": ("6 rows with minima", 0),
    "ILb1ELb0ELi5ELi2E": ("5 rows, scales per 16 k", 2),
    "ILb1ELb1ELi4ELi2E": ("4 rows, scales per 16 k with minima", 0),
}


def functions(disassembly):
    """(name, lines) of each function of an objdump -d listing."""
    name, lines = None, []
    for line in disassembly.splitlines():
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if head:
            if name:
                yield name, lines
            name, lines = head.group(1), []
        elif line.strip():
            lines.append(line)
    if name:
        yield name, lines


def loop(lines):
    """From the first vpdpbusd to the first jump after the last."""
    dots = [i for i, line in enumerate(lines) if "vpdpbusd" in line]
    if not dots:
        return []
    end = next((i for i in range(dots[-1], len(lines)) if re.search(r"\tj\w+\s", lines[i])),
               len(lines))
    return lines[dots[0]:end]


def spills(lines):
    """Instructions of the loop with a zmm register and an operand on the stack."""
    return [line for line in loop(lines) if "%zmm" in line and "(%rsp" in line]


def check(listings):
    """Lines to report for the listings, {object: disassembly}; empty if all is well."""
    found, faults = set(), []
    for path, text in listings.items():
        for name, lines in functions(text):
            if "panel_tile" not in name:
                continue
            for arguments, (kind, granted) in TILES.items():
                if arguments in name:
                    found.add(kind)
                    bad = spills(lines)
                    if len(bad) > granted:
                        faults.append(f"{path}: the tile of {kind} spills: {bad[0].strip()}"
                                      f" ({len(bad)} such instructions)")
    faults += [f"no tile of {kind} was found" for kind, _ in TILES.values()
               if kind not in found]
    return faults


def main(paths):
    listings = {}
    for path in paths:
        if re.search(r"avx512/product_q8_\w+\.cpp\.o$", path):
            listings[path] = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path],
                                            check=True, capture_output=True, text=True).stdout
    faults = check(listings)
    for fault in faults:
        print(f"check_spills: {fault}", file=sys.stderr)
    if not faults:
        print(f"check_spills: {len(TILES)} kinds of tiles stay in registers")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
