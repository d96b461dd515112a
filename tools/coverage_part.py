#!/usr/bin/env python3
"""Adds up gcovr's summary of one folder: coverage_part.py SUMMARY.json FOLDER"""
import json
import sys


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as f:
        files = [x for x in json.load(f)["files"] if x["filename"].startswith(sys.argv[2])]
    if not files:
        print(f"coverage_part: {sys.argv[1]} has nothing of {sys.argv[2]}", file=sys.stderr)
        return 1
    total = {k: sum(x[k] for x in files) for k in
             ("line_total", "line_covered", "branch_total", "branch_covered")}
    print(f"{sys.argv[2]:<14} lines {100 * total['line_covered'] / total['line_total']:5.1f} % of "
          f"{total['line_total']}, branches {100 * total['branch_covered'] / total['branch_total']:5.1f} % of "
          f"{total['branch_total']}")
    for x in sorted(files, key=lambda x: x["branch_percent"])[:6]:
        print(f"    {x['filename']:<44} lines {x['line_percent']:5.1f} %, branches {x['branch_percent']:5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
