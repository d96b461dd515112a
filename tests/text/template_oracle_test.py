#!/usr/bin/env python3
"""ridge's chat templates against other readers of them.

  template_oracle_test.py RENDER_TEMPLATE FOLDER jinja2|huggingface|generated [FIRST COUNT]
  template_oracle_test.py RENDER_TEMPLATE FOLDER huggingface --write

jinja2       every template that PyPI's trl and axolotl carry, over every conversation, against
             Python's jinja2: the same text, or both fail.
huggingface  the same against npm's @huggingface/jinja. It is no copy of Python: where it differs,
             jinja2 has to be on ridge's side, and its answer has to be one that
             tests/data/text/huggingface_differs.json holds (as a digest, by the digest of the
             template). --write writes that file; look at what it prints before keeping it.
generated    templates by a seeded generator against jinja2.

FOLDER keeps what is installed: the packages in the versions below, and a jinja2 where none can be
imported. Ends with 77 (skipped, with the reason) where a package is not to be had."""
import collections
import hashlib
import importlib.util
import json
import pathlib
import sys

import packages
import template_cases as cases
import template_oracles as oracles
from template_generator import VARIABLES, Generator

DIFFERS = pathlib.Path(__file__).resolve().parent.parent / "data/text/huggingface_differs.json"
VERSIONS = {"trl": "1.16.0", "axolotl": "0.19.0", "@huggingface/jinja": "0.5.11"}
JINJA2 = "3.1.6"


def package_templates(folder, package):
    """The templates in a package's wheel, by name; the wheel is not installed, only read."""
    root = pathlib.Path(packages.pypi_files(folder, package, VERSIONS[package]))
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in sorted(root.rglob("*.jinja"))}


def requests(templates):
    for name, source in templates.items():
        for title, conversation in cases.CONVERSATIONS.items():
            yield name, title, dict(template=source, now=cases.NOW, **cases.SPECIAL, **conversation)


def differs(name, title, ours, theirs, why):
    at = next((i for i, (a, b) in enumerate(zip(ours or "", theirs or "")) if a != b), 0)
    around = slice(max(0, at - 40), at + 80)
    print(f"{name}, {title!r}:\n  ridge  {(why if ours is None else ours)[around]!r}\n"
          f"  theirs {('fails' if theirs is None else theirs)[around]!r}")


def against_jinja2(ridge, templates):
    python = oracles.Jinja2()
    count = collections.Counter()
    for name, title, request in requests(templates):
        ours, why = ridge.render(request)
        theirs, _ = python.render(request)
        count["equal" if ours == theirs and ours is not None else
              "both fail" if ours == theirs else "different"] += 1
        if ours != theirs:
            differs(name, title, ours, theirs, why)
    families = {pathlib.Path(name).stem.split("_")[0].rstrip("0123456789") for name in templates}
    print(f"{len(templates)} templates of {len(families)} families: {dict(count)}")
    return (count["different"] == 0 and len(families) >= 12 and
            count["equal"] > 3 * count["both fail"])


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def against_huggingface(ridge, templates, folder, write):
    python = oracles.Jinja2()
    name = "@huggingface/jinja"
    node = oracles.HuggingFace(packages.node_command(folder), pathlib.Path(
        packages.npm_files(folder, name, VERSIONS[name])) / "package", folder)
    listed = {"answers": {}} if write else json.loads(DIFFERS.read_text(encoding="utf-8"))
    known, seen = listed["answers"], {}
    count = collections.Counter()
    for name, title, request in requests(templates):
        ours, why = ridge.render(request)
        theirs, _ = node.render(request)
        answer = "fails" if theirs is None else digest(theirs)
        template = digest(request["template"])
        if ours == theirs:
            count["equal" if ours is not None else "both fail"] += 1
        elif ours != python.render(request)[0]:
            count["different"] += 1
            differs(name, title, ours, theirs, why)
        else:
            seen.setdefault(template, {"name": pathlib.Path(name).stem})[title] = answer
            if known.get(template, {}).get(title) == answer:
                count["differs from jinja2 too"] += 1
            else:
                count["not in the list"] += 1
                differs(name, title, ours, theirs, why)
    node.close()
    print(f"{len(templates)} templates: {dict(count)}")
    print("@huggingface/jinja differs from jinja2 in " + ", ".join(sorted(t["name"] for t in seen.values())))
    if write:
        write_differences(seen)
        return count["different"] == 0
    gone = sum(title not in seen.get(template, {}) for template, answers in known.items() for title in answers)
    if gone or listed["versions"] != VERSIONS:
        print(f"{DIFFERS.name} is of {listed['versions']}, and {gone} of its differences are gone: "
              "write it anew with --write")
        return False
    return count["different"] == 0 and count["not in the list"] == 0 and count["equal"] > 1000


def write_differences(seen):
    """A line for each template: a change of the list can be read."""
    lines = [f"  {json.dumps(template)}: {json.dumps(answers)}" for template, answers in
             sorted(seen.items(), key=lambda item: item[1]["name"])]
    DIFFERS.write_text(f'{{"versions": {json.dumps(VERSIONS)},\n "answers": {{\n' + ",\n".join(lines) + "\n}}\n",
                       encoding="utf-8")


def against_generated(ridge, first, number):
    """Named exceptions: an object's address in the text; what ridge says that it does not support."""
    python = oracles.Jinja2()
    count = collections.Counter()
    for seed in range(first, first + number):
        request = dict(template=Generator(seed).template(), now=cases.NOW, variables=VARIABLES,
                       messages=cases.CONVERSATIONS["turns"]["messages"], **cases.SPECIAL)
        ours, why = ridge.render(request)
        theirs, _ = python.render(request)
        python.templates.clear()
        if ours == theirs:
            count["equal" if ours is not None else "both fail"] += 1
        elif theirs is not None and (" object at 0x" in theirs or "<built-in " in theirs):
            count["prints an address"] += 1
        elif ours is None and "not supported" in why:
            count["refused"] += 1
        else:
            count["different"] += 1
            print(f"seed {seed}: {request['template']!r}")
            differs("generated", seed, ours, theirs, why)
    print(f"{number} templates from seed {first}: {dict(count)}")
    named = count["prints an address"] + count["refused"]
    return count["different"] == 0 and count["equal"] > number // 2 and named < number // 40


def main():
    program, folder, what = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    ridge = oracles.Ridge(program)
    try:
        if not importlib.util.find_spec("jinja2"):
            packages.library(folder, "jinja2", JINJA2, needs=True)
        if what == "generated":
            first, number = (int(a) for a in sys.argv[4:6]) if len(sys.argv) > 4 else (0, 1000)
            good = against_generated(ridge, first, number)
        else:
            templates = {**package_templates(folder, "trl"), **package_templates(folder, "axolotl")}
            good = (against_jinja2(ridge, templates) if what == "jinja2" else
                    against_huggingface(ridge, templates, folder, "--write" in sys.argv))
    except packages.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(packages.SKIP)
    ridge.close()
    sys.exit(0 if good else 1)


main()
