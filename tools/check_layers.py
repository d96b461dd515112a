#!/usr/bin/env python3
"""Checks that every part includes only what DESIGN.md, "Layers", lets it include.

    check_layers.py [ROOT]     exit code 0: the tree keeps the table; 1: it does not, one line a breach

Every quoted include is written from src/ ("base/half.hpp") or from include/ ("ridge/ridge.h"), names
a file that exists, and belongs to a part that the including part may use. Within kernels/, the
folder of one instruction set shares nothing with the folder of another.
"""
import os
import re
import sys

# "A: B C" reads: A may include B and C, and what they may include.
LAYERS = {
    "base": "",
    "sim": "base",
    "format": "base",
    "text": "format",
    "sample": "text",
    "program": "base",
    "model": "program format",
    "kernels": "base",
    "lower": "program kernels format",
    "plan": "lower model",
    "runtime": "lower model sample",
    "image": "runtime",
    "api": "runtime",
    "serve": "api",
    "cli": "serve plan image sim",
}
PUBLIC_HEADER_USERS = {"api", "serve", "cli"}  # include/ridge/, the C API
# Registers and limits of a board, the one file that its firmware and its simulator share.
# And the format of its image, which its firmware and the exporter share.
BOARD_HEADER = re.compile(r"^boards/[\w-]+/(firmware/image|\w+)\.h$")
BOARD_HEADER_USERS = {"sim", "image"}
GENERATED = {"ridge_commit.hpp": {"cli"}}  # written by the build, and who may include it
SOURCE_SUFFIXES = (".hpp", ".h", ".cpp", ".c", ".inc", ".S")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def allowed_parts(layers):
    """Each part with everything it may include: the transitive closure, itself among it."""
    def closure(part, path):
        if part in path:
            raise SystemExit("check_layers: the table has a cycle: " + " -> ".join(path + [part]))
        found = {part}
        for other in layers[part].split():
            found |= closure(other, path + [part])
        return found
    return {part: closure(part, []) for part in layers}


def source_files(root):
    """(part, path below root) of every source file; sim/ lives beside src/, all other parts in it."""
    for top in ("src", "sim"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(SOURCE_SUFFIXES):
                    path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                    parts = path.split("/")
                    yield (parts[1] if top == "src" else "sim"), path


def kernel_set(root, path):
    """The kernel set that a path from src/ belongs to ("avx2"), or None."""
    pieces = path.split("/")
    if pieces[0] != "kernels" or len(pieces) < 3:
        return None
    return pieces[1] if os.path.isfile(os.path.join(root, "src/kernels", pieces[1], "kernels.inc")) else None


def judge(root, part, path, target, allowed):
    """What is wrong with one include, or None."""
    if target.startswith("ridge/"):
        if not os.path.isfile(os.path.join(root, "include", target)):
            return f'"{target}" is not in include/'
        if part not in PUBLIC_HEADER_USERS:
            return f'"{target}" is the public API: {part} lies below it'
        return None
    if BOARD_HEADER.match(target):
        if not os.path.isfile(os.path.join(root, target)):
            return f'"{target}" is not there'
        return None if part in BOARD_HEADER_USERS else f'"{target}" is not for {part}'
    if target in GENERATED:
        return None if part in GENERATED[target] else f'"{target}" is not for {part}'
    other = target.split("/")[0]
    if other not in LAYERS or "/" not in target:
        return f'"{target}" must be written from src/, as "part/file"'
    top = "" if other == "sim" else "src"
    if not os.path.isfile(os.path.join(root, top, target)):
        return f'"{target}" is not there'
    if other not in allowed[part]:
        may = " ".join(sorted(allowed[part] - {part})) or "nothing"
        return f'"{target}": {part} may include {may}'
    mine = kernel_set(root, path[len("src/"):])
    theirs = kernel_set(root, target)
    if mine and theirs and mine != theirs:
        return f'"{target}": kernels/{mine} must share no code with kernels/{theirs}'
    return None


def check(root):
    """(number of files read, list of breaches)."""
    allowed = allowed_parts(LAYERS)
    files, breaches = 0, []
    for part, path in source_files(root):
        files += 1
        if part not in LAYERS:
            breaches.append(f"{path}: src/{part} is not a part of DESIGN.md's table")
            continue
        with open(os.path.join(root, path), encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                match = INCLUDE.match(line)
                wrong = match and judge(root, part, path, match.group(1), allowed)
                if wrong:
                    breaches.append(f"{path}:{number}: {wrong}")
    return files, breaches


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    root = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else here)
    files, breaches = check(root)
    for breach in breaches:
        print(breach)
    if files == 0:
        print(f"check_layers: no source file below {root}")
    print(f"check_layers: {files} files, {len(breaches)} breaches")
    return 1 if breaches or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
