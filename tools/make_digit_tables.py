#!/usr/bin/env python3
"""Writes src/text/jinja_digits.inc: what Python's str.isdecimal, isdigit and isnumeric hold for
beyond ASCII, and which digit a decimal one is.

  python3 tools/make_digit_tables.py > src/text/jinja_digits.inc
"""
import unicodedata


def ranges(holds):
    out = []
    for c in range(0x80, 0x110000):
        if 0xD800 <= c <= 0xDFFF or not holds(chr(c)):
            continue
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def main():
    print(f"// Made by tools/make_digit_tables.py from Unicode {unicodedata.unidata_version}.")
    decimal = ranges(str.isdecimal)
    # Ten in a row each time, from 0 to 9: the value follows from the place.
    for first, last in decimal:
        assert all(unicodedata.decimal(chr(c)) == (c - first) % 10 for c in range(first, last + 1))
    for name, table in (("decimals", decimal),
                        ("digits", ranges(lambda c: c.isdigit() and not c.isdecimal())),
                        ("numerics", ranges(lambda c: c.isnumeric() and not c.isdigit()))):
        print(f"constexpr Range k_{name}[] = {{")
        for first, last in table:
            print(f"    {{0x{first:X}, 0x{last:X}}},")
        print("};")


main()
