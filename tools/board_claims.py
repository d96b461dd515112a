#!/usr/bin/env python3
"""Judges a board's claims by what was measured: boards/<name>/claims.toml and a results JSON in,
result and verdict of each claim out. One format and one renderer for every board.

    board_claims.py boards/ai-max-395/claims.toml results.json            prints the table
    board_claims.py boards/ai-max-395/claims.toml results.json --write    writes result and verdict
    board_claims.py boards/ai-max-395/claims.toml results.json --check    fails where they differ
"""

import argparse
import ast
import json
import operator
import re
import sys
import tomllib

VERDICTS = ("reached", "not reached", "contradictory", "not applicable", "not measured")
FIELDS = {"id", "section", "text", "claimed", "unit", "method", "measure", "reached", "consistent",
          "contradiction", "not_applicable", "given", "result", "verdict"}
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}
FUNCTIONS = {"abs": abs, "min": min, "max": max}


class Unmeasured(Exception):
    """An expression names something that the results do not hold."""


def evaluate(text, names):
    """An expression of numbers, comparisons, abs, min, max and dotted names of `names`."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in names:
                raise Unmeasured(node.id)
            return names[node.id]
        if isinstance(node, ast.Attribute):
            parent = value(node.value)
            if not isinstance(parent, dict) or node.attr not in parent:
                raise Unmeasured(ast.unparse(node))
            return parent[node.attr]
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return OPERATORS[type(node.ops[0])](value(node.left), value(node.comparators[0]))
        if isinstance(node, ast.BoolOp):
            parts = [value(v) for v in node.values]
            return all(parts) if isinstance(node.op, ast.And) else any(parts)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return FUNCTIONS[node.func.id](*[value(a) for a in node.args])
        raise ValueError(f"'{text}' has '{ast.unparse(node)}', which no claim may use")
    result = value(ast.parse(text, mode="eval").body)
    if isinstance(result, dict):
        raise Unmeasured(text)
    return result


def judge(claim, measured):
    """(result or None, verdict, reason) of one claim."""
    if "not_applicable" in claim:
        return None, "not applicable", claim["not_applicable"]
    result = None
    names = dict(measured)
    names["claimed"] = claim["claimed"]
    if "measure" in claim:
        try:
            result = evaluate(claim["measure"], measured)
            names["result"] = result
        except Unmeasured as missing:
            if "consistent" not in claim and "contradiction" not in claim:
                return None, "not measured", f"{missing} was not measured"
    if "contradiction" in claim:
        return result, "contradictory", claim["contradiction"]
    if "consistent" in claim and not evaluate(claim["consistent"], measured):
        return result, "contradictory", f"{claim['consistent']} is false"
    try:
        ok = evaluate(claim["reached"], names)
    except Unmeasured as missing:
        return result, "not measured", f"{missing} was not measured"
    return result, "reached" if ok else "not reached", claim["reached"]


def number(x):
    """A number for people: four digits that count."""
    if isinstance(x, bool) or isinstance(x, str):
        return str(x)
    if x == 0 or (float(x).is_integer() and abs(x) < 1e6):
        return f"{x:.0f}"
    if abs(x) >= 1e6:
        return f"{x:,.0f}"
    return f"{x:.4g}" if abs(x) >= 1e-3 else f"{x:.2g}"


def with_unit(x, unit):
    if isinstance(x, str) or unit in ("", "error", "version", "bool"):
        return number(x)
    if unit == "address":
        return f"{x:#x}"
    return number(x) + ("" if unit == "x" else " ") + unit


def problems(document):
    """What is wrong with a claims file, as sentences."""
    wrong, seen = [], set()
    for c in document.get("claim", []):
        name = c.get("id", "?")
        if name in seen:
            wrong.append(f"{name} is there twice")
        seen.add(name)
        for field in ("id", "section", "text", "claimed", "method"):
            if field not in c:
                wrong.append(f"{name} has no {field}")
        for field in c.keys() - FIELDS:
            wrong.append(f"{name} has a field '{field}' that no claim has")
        rules = [k for k in ("reached", "contradiction", "not_applicable") if k in c]
        if not rules:
            wrong.append(f"{name} has no rule for its verdict")
        if "reached" in c and "measure" not in c:
            wrong.append(f"{name} has a rule but nothing measured")
    return wrong


def rows(document, measured):
    for c in document["claim"]:
        result, verdict, reason = judge(c, measured)
        unit = c.get("unit", "")
        yield c, ("" if result is None else with_unit(result, unit)), verdict, reason


def table(document, measured):
    """The claims as a Markdown table, and the count of each verdict before it."""
    lines, counts = [], dict.fromkeys(VERDICTS, 0)
    for c, result, verdict, reason in rows(document, measured):
        counts[verdict] += 1
        claimed = with_unit(c["claimed"], c.get("unit", "") if c["claimed"] != "technique" else "")
        why = reason if verdict in ("contradictory", "not applicable", "not measured") else ""
        how = c["method"] if not why else (why if c["method"] in ("none", "reading")
                                           else f"{c['method']}: {why}")
        how = how.replace("|", "\\|")
        lines.append(f"| {c['section']} | {c['text']} | {claimed} | {result or '-'} | "
                     f"{verdict} | {how} |")
    summary = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
    head = ["| section | the article says | claimed | measured | verdict | how, why |",
            "|---|---|---|---|---|---|"]
    return f"{sum(counts.values())} claims: {summary}.", "\n".join(head + lines)


def by_construction(document, measured):
    """(ids, ids) of the claims that are reached because the number is this project's own: measured
    from board.toml or soc.h alone (or from nothing but arithmetic), and read back from a cost of
    board.toml through the simulator (`given`)."""
    direct, through = [], []
    for c, _, verdict, _ in rows(document, measured):
        if verdict != "reached":
            continue
        roots = {n.id for n in ast.walk(ast.parse(c["measure"], mode="eval"))
                 if isinstance(n, ast.Name)} - FUNCTIONS.keys()
        if roots <= {"soc", "board"}:
            direct.append(c["id"])
        elif "given" in c:
            through.append(c["id"])
    return direct, through


def rewritten(text, document, measured):
    """The claims file's text with `result` and `verdict` of each claim as measured."""
    verdicts = {c["id"]: (result, verdict) for c, result, verdict, _ in rows(document, measured)}
    out, name, lines = [], None, text.splitlines()

    def close():
        nonlocal name
        if name is None:
            return
        tail = []
        while out and (not out[-1].strip() or out[-1].startswith("#")):
            tail.insert(0, out.pop())
        result, verdict = verdicts[name]
        if result:
            out.append(f"result = {json.dumps(result)}")
        out.append(f"verdict = {json.dumps(verdict)}")
        out.extend(tail)
        name = None
    for line in lines:
        if line.startswith("[[claim]]"):
            close()
        if re.match(r"(result|verdict) = ", line):
            continue
        if match := re.match(r'id = "([^"]+)"', line):
            name = match.group(1)
        out.append(line)
    close()
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("claims")
    parser.add_argument("results")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="write results and verdicts")
    action.add_argument("--check", action="store_true", help="fail where they are not as written")
    arguments = parser.parse_args()
    with open(arguments.claims, encoding="utf-8") as file:
        text = file.read()
    with open(arguments.results, encoding="utf-8") as file:
        measured = json.load(file)
    document = tomllib.loads(text)
    wrong = problems(document)
    if wrong:
        sys.exit("board_claims: " + "; ".join(wrong))
    new = rewritten(text, document, measured)
    if arguments.write:
        with open(arguments.claims, "w", encoding="utf-8") as file:
            file.write(new)
    elif arguments.check:
        if new != text:
            sys.exit(f"board_claims: {arguments.claims} is not what {arguments.results} gives; "
                     "--write mends it")
    else:
        print("\n\n".join(table(document, measured)))


if __name__ == "__main__":
    main()
