#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: the general category (first letter) of every code point.

    python3.13 tools/make_unicode_tables.py > src/text/unicode_tables.inc

The data are those of Python's unicodedata. Which Unicode version matters: a letter that a model's
tokenizer knows and ridge does not splits words in other places. The committed table is Unicode
15.1.0 (Python 3.13), the version llama.cpp's tables have; another version needs --any-version.
"""
import sys
import unicodedata

WANTED = "15.1.0"
LIMIT = 0x110000
PER_LINE = 7


def main():
    version = unicodedata.unidata_version
    if version != WANTED and "--any-version" not in sys.argv[1:]:
        sys.exit(f"this Python has Unicode {version}, the table wants {WANTED}: use Python 3.13, "
                 "or pass --any-version and look at what the tokenizer tests say")
    ranges = []
    for code in range(LIMIT):
        kind = unicodedata.category(chr(code))[0]
        if not ranges or ranges[-1][1] != kind:
            ranges.append((code, kind))
    print(f"// Unicode {version}: first code point of each range and its general category's first "
          "letter.")
    print("// Written by tools/make_unicode_tables.py; do not edit.")
    for start in range(0, len(ranges), PER_LINE):
        row = ranges[start:start + PER_LINE]
        print(" ".join(f"{{0x{code:X},'{kind}'}}," for code, kind in row))


if __name__ == "__main__":
    main()
