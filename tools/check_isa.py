#!/usr/bin/env python3
"""Checks that instruction-set code stays in its own objects (DESIGN.md, "Kernels").

    check_isa.py OBJECT...     exit code 0: isolated; 1: it is not, one line a breach

One binary runs on any x86-64, so a register of AVX2 or AVX-512 may appear only in functions that
are called after a look at the CPU. By disassembly and symbol table of each object file:

* outside kernels/avx2/ and kernels/avx512/: no ymm, zmm or mask register and no VEX or EVEX
  instruction (in GNU syntax exactly the mnemonics that begin with v, few system ones aside);
* in kernels/avx2/: nothing that only AVX-512 has (zmm, mask registers, vector registers 16 to 31);
* in both: every function that other objects can see belongs to namespace ridge::avx2 or
  ridge::avx512. An inline function of any other name is emitted weak; the linker keeps one copy of
  it for the whole program, and that could be the one built with the set's flags;
* in both: no static constructor, which would run the set's code before anything asked the CPU.
"""
import re
import subprocess
import sys

SETS = ("avx2", "avx512")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(.*)$")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
WIDE = re.compile(r"%[yz]mm\d|%k[0-7]\b")
AVX512_ONLY = re.compile(r"%zmm|%k[0-7]\b|%[xy]mm(1[6-9]|2\d|3[01])\b")
VEX = re.compile(r"^(\{\w+\}\s+)?v(?!err\b|erw\b|m[a-z]*(call|launch|resume|read|write|run|load|save|func)\b)[a-z]")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def set_of(path):
    for name in SETS:
        if f"/kernels/{name}/" in path:
            return name
    return None


def vector_breaches(path, forbidden, what):
    """One line for each function of the object with an instruction that `forbidden` accepts."""
    function, seen, breaches = "?", set(), []
    for line in run("objdump", "-d", "-C", "--no-show-raw-insn", path).splitlines():
        start = FUNCTION.match(line)
        if start:
            function = start.group(1)
            continue
        found = INSTRUCTION.match(line)
        if found and function not in seen and forbidden(found.group(1)):
            seen.add(function)
            breaches.append(f"{path}: {function}: {what}: {' '.join(found.group(1).split())}")
    return breaches


def symbol_breaches(path, name):
    """Functions that other objects see and that do not carry the set's namespace."""
    breaches = []
    for line in run("nm", "-C", "--defined-only", path).splitlines():
        kind, symbol = line[17:].split(" ", 1)
        if kind in "TWw" and f"ridge::{name}::" not in symbol:
            how = "a weak copy that the whole program may get" if kind in "Ww" else "outside its namespace"
            breaches.append(f"{path}: {symbol}: {how} in an object of {name}")
    return breaches


def constructor_breaches(path, name):
    if ".init_array" in run("objdump", "-h", path) or ".ctors" in run("objdump", "-h", path):
        return [f"{path}: a static constructor would run code of {name} on every machine"]
    return []


def check_object(path):
    name = set_of(path)
    if name is None:
        return vector_breaches(path, lambda text: WIDE.search(text) or VEX.match(text),
                               "vector code outside the kernel sets")
    breaches = symbol_breaches(path, name) + constructor_breaches(path, name)
    if name == "avx2":
        breaches += vector_breaches(path, AVX512_ONLY.search, "AVX-512 in an object of avx2")
    return breaches


def main():
    objects = [path for path in sys.argv[1:] if path.endswith(".o")]
    breaches = [breach for path in objects for breach in check_object(path)]
    for breach in breaches:
        print(breach)
    inside = sum(set_of(path) is not None for path in objects)
    print(f"check_isa: {len(objects)} objects, {inside} of them of a kernel set, {len(breaches)} breaches")
    return 1 if breaches or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
