#!/usr/bin/env python3
"""Reads what ctest --output-junit wrote; prints failures and skips, then "PASSED FAILED SKIPPED".

    ctest_summary.py FILE [--limit LINES]      LINES: of each failed test's output, the last so many

A skipped test counts as neither passed nor failed, and is named with its reason.
"""
import argparse
import re
import sys
import xml.etree.ElementTree

# What GoogleTest frames every test with.
FRAME = re.compile(r"Running main|Note: Google Test|\[[-= ]|\[  (PASSED|FAILED)  \] \d|\[ RUN| *\d+ FAILED TEST|$")
# What GoogleTest says of a skip, and what the tests that are scripts say before they end with 77.
SKIP_REASON = re.compile(r": Skipped\n(.*)|^skipped: (.*)", re.MULTILINE)


def short(name):
    """Without the parameter's bytes that GoogleTest appends."""
    return name.split("  # GetParam")[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--limit", type=int, default=40)
    arguments = parser.parse_args()
    passed, failed, reasons = 0, 0, {}
    for case in xml.etree.ElementTree.parse(arguments.file).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            reason = SKIP_REASON.search(output)
            reasons.setdefault((reason.group(1) or reason.group(2) or "").strip() if reason else "no reason given", []).append(short(case.get("name")))
        elif case.get("status") == "run" and case.find("failure") is None:
            passed += 1
        else:
            failed += 1
            print(f"-- FAILED {short(case.get('name'))}")
            lines = [line for line in output.splitlines() if not FRAME.match(line)]
            print("\n".join(lines[-arguments.limit:]))
    for reason, names in sorted(reasons.items()):
        print(f"-- skipped {len(names)}: {reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    print(passed, failed, sum(map(len, reasons.values())))


if __name__ == "__main__":
    sys.exit(main())
