#!/usr/bin/env python3
"""Adds up gcovr's summary of some folders and says whether each reaches what is asked of it:
coverage_part.py SUMMARY.json LINES BRANCHES FOLDER... (both in percent)"""
import json
import sys

KEYS = ("line_total", "line_covered", "branch_total", "branch_covered")


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def report(files: list, folder: str, least_lines: float, least_branches: float) -> bool:
    files = [x for x in files if x["filename"].startswith(folder)]
    if not files:
        print(f"{folder:<12} nothing was counted")
        return False
    total = {k: sum(x[k] for x in files) for k in KEYS}
    lines = percent(total["line_covered"], total["line_total"])
    branches = percent(total["branch_covered"], total["branch_total"])
    good = lines >= least_lines and branches >= least_branches
    print(f"{folder:<12} lines {lines:5.1f} % of {total['line_total']}, branches {branches:5.1f} % of "
          f"{total['branch_total']}" + ("" if good else
          f"  <- below {least_lines:g} % of lines, {least_branches:g} % of branches"))
    for x in sorted(files, key=lambda x: percent(x["branch_covered"], x["branch_total"]))[:4]:
        print(f"    {x['filename']:<40} lines {percent(x['line_covered'], x['line_total']):5.1f} %, "
              f"branches {percent(x['branch_covered'], x['branch_total']):5.1f} %")
    return good


def main() -> int:
    if len(sys.argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as f:
        files = json.load(f)["files"]
    results = [report(files, folder, float(sys.argv[2]), float(sys.argv[3])) for folder in sys.argv[4:]]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
