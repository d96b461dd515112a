#!/usr/bin/env python3
"""Writes src/text/unicode_tables.inc: the general category of every code point, by one letter.

U is Lu or Lt, l is Ll, L is Lm or Lo (letters without case); else the category's first letter.

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
LETTERS = {"Lu": "U", "Lt": "U", "Ll": "l"}


def main():
    version = unicodedata.unidata_version
    if version != WANTED and "--any-version" not in sys.argv[1:]:
        sys.exit(f"this Python has Unicode {version}, the table wants {WANTED}: use Python 3.13, "
                 "or pass --any-version and look at what the tokenizer tests say")
    ranges = []
    for code in range(LIMIT):
        category = unicodedata.category(chr(code))
        kind = LETTERS.get(category, category[0])
        if not ranges or ranges[-1][1] != kind:
            ranges.append((code, kind))
    print(f"// Unicode {version}: first code point of each range and its general category (U: Lu or "
          "Lt,")
    print("// l: Ll, L: Lm or Lo, else the first letter).")
    print("// Written by tools/make_unicode_tables.py; do not edit.")
    for start in range(0, len(ranges), PER_LINE):
        row = ranges[start:start + PER_LINE]
        print(" ".join(f"{{0x{code:X},'{kind}'}}," for code, kind in row))


if __name__ == "__main__":
    main()
