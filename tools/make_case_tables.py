#!/usr/bin/env python3
"""Writes src/text/jinja_case.inc: how Python's str.lower(), upper() and title() map code points.

  python3 tools/make_case_tables.py > src/text/jinja_case.inc
"""
import unicodedata


def runs(pairs):
    """(first, last, step, delta) for code points that move by the same distance."""
    out, i = [], 0
    while i < len(pairs):
        best, step = i, 1
        for s in (1, 2):
            j = i
            while j + 1 < len(pairs) and pairs[j + 1] == (pairs[j][0] + s, pairs[j][1]):
                j += 1
            if j > best:
                best, step = j, s
        out.append((pairs[i][0], pairs[best][0], step, pairs[i][1]))
        i = best + 1
    return out


def literal(text):
    return '"' + "".join(f"\\x{b:02x}" for b in text.encode()) + '"'


def main():
    points = [chr(c) for c in range(0x80, 0x110000) if not 0xD800 <= c <= 0xDFFF]
    print(f"// Made by tools/make_case_tables.py from Unicode {unicodedata.unidata_version}.")
    for name, mapped in (("lower", str.lower), ("upper", str.upper)):
        changed = [(c, mapped(c)) for c in points if mapped(c) != c]
        print(f"constexpr Run k_{name}[] = {{")
        for run in runs([(ord(c), ord(t) - ord(c)) for c, t in changed if len(t) == 1]):
            print("    {0x%X, 0x%X, %d, %d}," % run)
        print(f"}};\nconstexpr Special k_{name}_special[] = {{")
        for c, t in changed:
            if len(t) > 1:
                print(f"    {{0x{ord(c):X}, {literal(t)}}},")
        print("};")
    print("constexpr Special k_title_special[] = {  // where it is not the upper case")
    for c in points:
        if c.title() != c.upper():
            print(f"    {{0x{ord(c):X}, {literal(c.title())}}},")
    print("};")


main()
