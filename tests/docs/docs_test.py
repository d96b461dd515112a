#!/usr/bin/env python3
"""Tests that the documents are true to the tree: names, paths, links, commands and generated parts.

In docs/architecture.md every word in backticks must exist: as a path, a command that the program or
./dev has, or names that the sources hold. In the other documents paths, links and commands must.
"""
import contextlib
import glob
import io
import json
import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import docs_bench  # noqa: E402
import docs_layers  # noqa: E402
import docs_markers  # noqa: E402
import docs_quality  # noqa: E402

DOCUMENTS = ["README.md", "CHANGELOG.md", "docs/architecture.md", "docs/models.md", "docs/numerics.md"]
CODE_FOLDERS = ("src", "tests", "tools", "cmake", "fuzz")
CODE_SUFFIXES = (".hpp", ".cpp", ".inc", ".py", ".cmake", ".txt", ".sh")
PATH = re.compile(r"^[\w.*{}<>-]*/[\w./*{}<>-]*$|^[\w-]+\.(py|md|cpp|hpp|inc|txt|svg|cmake|json)$")
WORD = re.compile(r"[A-Za-z_]\w*")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def spans(text):
    """What stands in backticks, outside of code blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = "\n".join(line for line in text.split("\n") if not line.startswith("    "))
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", text)]


def commands(text):
    """Lines of code blocks and backtick spans that call ridge or ./dev."""
    lines = [line[4:] for line in text.split("\n") if line.startswith("    ")]
    for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.S | re.M):
        lines += block.split("\n")
    found = []
    for line in lines + spans(text):
        for piece in re.split(r"\||&&|;", line.split(" #")[0]):
            words = piece.split()
            if words and (os.path.basename(words[0]) == "ridge" and "." not in words[0] or words[0] == "./dev"):
                found.append([os.path.basename(words[0])] + words[1:])
    return found


def exists(path):
    """Whether a path, with <name> as a wildcard, is in the tree (also as written from src/, or a bare name)."""
    pattern = re.sub(r"<[^>]*>", "*", path)
    if "/" not in pattern and glob.glob(os.path.join(ROOT, "src", "**", pattern), recursive=True):
        return True
    return any(glob.glob(os.path.join(ROOT, base, pattern)) for base in ("", "src"))


def sources():
    text = [read("CMakeLists.txt"), read("dev")]
    for folder in CODE_FOLDERS:
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            if os.path.abspath(at) == os.path.dirname(os.path.abspath(__file__)) or "/data" in at:
                continue
            text += [read(os.path.join(at, name)) for name in names if name.endswith(CODE_SUFFIXES)]
    return text


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sources = sources()
        cls.words = set().union(*(WORD.findall(text) for text in cls.sources))

    def missing(self, text):
        """Names in backticks that no source holds."""
        wrong = []
        for span in spans(text):
            if PATH.match(span):
                if not exists(span):
                    wrong.append(span)
            elif span.startswith("-"):
                if not any(span in source for source in self.sources):
                    wrong.append(span)
            elif not span.startswith(("ridge ", "./dev")):
                words = WORD.findall(span)
                together = "::" in span and not any(all(re.search(rf"\b{w}\b", s) for w in words)
                                                    for s in self.sources)
                if together or any(word not in self.words for word in words):
                    wrong.append(span)
        return wrong

    def test_architecture_names_what_there_is(self):
        text = read("docs/architecture.md")
        self.assertGreater(len(spans(text)), 100)
        self.assertEqual(self.missing(text), [])
        self.assertLessEqual(text.count("\n"), 200)

    def test_a_wrong_name_is_seen(self):
        for wrong in ("no_such_function()", "NoSuchType", "src/nowhere.cpp", "Context::no_such", "--unheard-of-option",
                      "tools/no_*.py"):
            self.assertEqual(self.missing(f"text `{wrong}` text"), [wrong])
        self.assertEqual(self.missing("`Context::pass()`, `src/kernels/`, `kernels/contract.hpp`"), [])


class Documents(unittest.TestCase):
    def test_paths_and_links_lead_somewhere(self):
        for document in DOCUMENTS:
            text = read(document)
            for span in spans(text):
                if PATH.match(span) and not span.startswith(("/", "~", "build/")):
                    self.assertTrue(exists(span) or exists(os.path.join(os.path.dirname(document), span)),
                                    f"{document}: `{span}`")
            for link in re.findall(r"\]\(([^)#\s]+)", text):
                if "://" not in link:
                    path = os.path.normpath(os.path.join(ROOT, os.path.dirname(document), link))
                    self.assertTrue(os.path.exists(path), f"{document}: ({link})")

    def test_commands_exist(self):
        verbs = set(re.findall(r"add_(\w+)\(CLI::App", read("src/cli/verbs.hpp")))
        developer = set(re.findall(r"^verb_(\w+)\(\)", read("dev"), flags=re.M))
        options = "\n".join(read(path) for path in glob.glob("src/cli/*.cpp", root_dir=ROOT))
        seen = 0
        for document in DOCUMENTS:
            for name, verb, *words in (c for c in commands(read(document)) if len(c) > 1):
                where = f"{document}: {name} {verb} {' '.join(words)}"
                self.assertIn(verb, developer if name == "dev" else verbs, where)
                if name == "ridge":
                    for option in words:
                        if option.startswith("--"):
                            self.assertIn(option, options, where)
                seen += 1
        self.assertGreater(seen, 8)

    def test_are_short_and_name_no_registry(self):
        self.assertLess(read("README.md").count("\n"), 120)
        for document in DOCUMENTS:
            self.assertNotRegex(read(document), r"pypi\.org|npmjs|huggingface\.co|github\.com|debian\.org", document)


class Pictures(unittest.TestCase):
    def test_layers_are_what_the_table_gives(self):
        self.assertEqual(read("docs/layers.svg"), docs_layers.picture(), "run tools/docs_layers.py")

    def test_layers_follow_the_table(self):
        layers = dict(docs_layers.LAYERS)
        before = docs_layers.draw(layers, set(layers))
        self.assertEqual(before.count("<rect"), len(layers))
        self.assertEqual(before.count("marker-end"), sum(len(below.split()) for below in layers.values()))
        layers["plan"] = "lower"
        self.assertNotEqual(docs_layers.draw(layers, set(layers)), before)
        with self.assertRaisesRegex(SystemExit, "missing"):
            docs_layers.draw(dict(layers, fresh="base"), set())

    def test_all_are_well_formed_and_bring_no_font(self):
        for path in glob.glob(os.path.join(ROOT, "docs", "*.svg")):
            text = read(path)
            xml.fromstring(text)
            self.assertTrue(text.isascii())
            self.assertNotRegex(text, r"@import|font-face|<image|href")


ROW = {"build_commit": "abc1234", "cpu_info": "Some CPU", "model_filename": "/m/SmolLM2-135M-Instruct.Q4_1.gguf",
       "model_type": "llama 134.5M Q4_1", "n_threads": 2, "type_k": "bf16", "n_prompt": 512, "n_gen": 0, "n_depth": 0,
       "n_batch": 1, "test": "pp512", "test_time": "2026-01-02T03:04:05Z", "avg_ts": 1000.0, "stddev_ts": 5.0,
       "gb_s": 3.0, "gop_s": 300.0, "roof_percent": 40.0, "int8_roof_percent": 35.0, "read_roof_percent": 4.0,
       "kernels": "avx512", "noisy": False, "read_gb_s_roof": 40.0, "int8_gop_s_roof": 900.0}


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.makedirs(os.path.join(self.folder.name, "docs"))
        self.write("README.md", "before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n")

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
            return file.read()

    def run_tool(self, tool, *arguments):
        with mock.patch.object(tool, "ROOT", self.folder.name), \
             mock.patch.object(sys, "argv", ["tool", *arguments]), contextlib.redirect_stdout(io.StringIO()) as said:
            return tool.main(), said.getvalue()

    def test_the_committed_section_is_up_to_date(self):
        with mock.patch.object(sys, "argv", ["tool", "--check"]):
            self.assertEqual(docs_bench.main(), 0, "run tools/docs_bench.py")

    def test_fills_the_section_and_draws(self):
        decode = dict(ROW, n_prompt=0, n_gen=128, test="tg128", avg_ts=90.0, gb_s=8.0, read_roof_percent=55.0)
        ours = self.write("a.json", json.dumps([ROW, decode]))
        again = self.write("b.json", json.dumps([dict(ROW, avg_ts=1200.0)]))
        peer = self.write("p.json", json.dumps([dict(ROW, avg_ts=550.0, build_commit="peer1")]))
        self.assertEqual(self.run_tool(docs_bench, ours, again, "--peer", peer)[0], 0)
        text = self.read("README.md")
        self.assertIn("1100", text)  # median of the two runs
        self.assertIn("550", text)
        self.assertIn("Some CPU", text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        picture = self.read("docs/speed.svg")
        xml.fromstring(picture)
        self.assertIn("tg128", picture)
        self.assertEqual(self.run_tool(docs_bench, "--check")[0], 0)
        self.write("README.md", text.replace("1100", "1101"))
        self.assertEqual(self.run_tool(docs_bench, "--check")[0], 1)

    def test_refuses_other_files(self):
        for content in ("", "{}", "[]", '[{"avg_ts": 1}]'):
            with self.assertRaises(SystemExit):
                self.run_tool(docs_bench, self.write("bad.json", content))

    def test_quality_section(self):
        self.write("docs/numerics.md", "x\n<!-- quality:begin -->\n<!-- quality:end -->\n")
        one = self.write("q.json", json.dumps({
            "model": "/m/SmolLM2-135M-Instruct.Q4_1.gguf", "cache_type": "bf16", "kernels": "avx512", "tokens": 8704,
            "perplexity": 30.1, "oracle_perplexity": 30.0, "perplexity_change": 0.00333, "mean_kld": 0.0031,
            "mean_kld_error": 0.00004, "kld_999": 0.03, "same_top": 0.9612, "same_top_error": 0.002}))
        self.assertEqual(self.run_tool(docs_quality, f"Northanger Abbey={one}")[0], 0)
        text = self.read("docs/numerics.md")
        self.assertIn("| SmolLM2-135M-Instruct.Q4_1 | Northanger Abbey | 8,704 |", text)
        self.assertIn("0.00310", text)

    def test_markers(self):
        self.assertEqual(docs_markers.section("a\n<!-- x:begin -->\nb\n<!-- x:end -->\n", "x"), "b\n")
        for text in ("nothing", "<!-- x:end -->\n<!-- x:begin -->\n"):
            with self.assertRaisesRegex(SystemExit, "x:begin"):
                docs_markers.replaced(text, "x", "new\n", "FILE")


if __name__ == "__main__":
    unittest.main()
