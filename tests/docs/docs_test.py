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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_run_test import Harness  # noqa: E402, F401

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import bench_roofline  # noqa: E402
import docs_bench  # noqa: E402
import docs_layers  # noqa: E402
import docs_markers  # noqa: E402
import docs_quality  # noqa: E402

DOCUMENTS = ["README.md", "CHANGELOG.md", "docs/architecture.md", "docs/models.md", "docs/numerics.md",
             "docs/performance.md", "docs/sampling.md", "docs/user-needs.md"]
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


class UserNeeds(unittest.TestCase):
    def test_every_test_that_is_named_exists(self):
        tests = set()
        for path in glob.glob(os.path.join(ROOT, "tests", "*", "*_test.cpp")):
            with open(path, encoding="utf-8") as file:
                tests |= {f"{a}.{b}" for a, b in
                          re.findall(r"^TEST(?:_[FP])?\((\w+), *(\w+)", file.read(), re.M)}
        named = set(re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", read("docs/user-needs.md"))) - {"Suite.Name"}
        self.assertGreater(len(named), 40)
        self.assertEqual(sorted(named - tests), [])


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


def bench_row(part, test, **figures):
    """A row as tools/bench_run.py keeps it."""
    step = {"kind": "product", "name": "ffn_gate+up", "kernel": "product_q8_q4_1_avx512", "layers": "0-29", "ms": 12.0,
            "share_percent": 60.0, "gb_s": 2.0, "gop_s": 900.0, "roof_percent": 45.0, "ops_per_byte": 300.0,
            "operations": "int8"}
    row = {"part": part, "test": test, "kv": "bf16", "threads": 2, "kernels": "avx512", "prompt": 512, "gen": 0, "depth": 0,
           "batch": 1, "tokens_s": 1100.0, "range": [1000.0, 1200.0], "samples": 6, "noisy": 0, "own_roof": "int8",
           "logits_hash": "0", "gb_s": 3.0, "gop_s": 900.0, "roof_percent": 50.0, "own_roof_percent": 44.0,
           "products_percent": 55.0, "attention_percent": 47.0, "read_roof_percent": 4.0, "step_ms": None,
           "batch_ratio": None, "read_gb_s_roof": 40.0, "int8_gop_s_roof": 2000.0, "bf16_gflop_s_roof": 1000.0,
           "f32_gflop_s_roof": 500.0, "wait_us_per_pass": 9.0, "barriers_per_pass": 150.0, "read_bytes": 1e8,
           "steps": [step, dict(step, name="ffn_down", gop_s=901.0, roof_percent=145.0)]}
    return dict(row, **figures)


def bench_results():
    """A file as tools/bench_run.py writes it: one model, with peers, batches and the rest."""
    decode = {"prompt": 0, "gen": 128, "tokens_s": 90.0, "read_roof_percent": 71.0, "step_ms": 11.0, "read_bytes": 128e8}
    rows = [bench_row("speed", "pp128", prompt=128), bench_row("speed", "pp512"),
            bench_row("speed", "pp2048", prompt=2048, tokens_s=770.0), bench_row("speed", "tg128", **decode),
            bench_row("speed", "tg128 @ d2048", **dict(decode, depth=2048, step_ms=13.2, read_bytes=128 * 1.4e8)),
            bench_row("batch", "tg8", **dict(decode, gen=8)),
            bench_row("batch", "tg8 x4", **dict(decode, gen=8, batch=4, step_ms=12.5, batch_ratio=1.14)),
            bench_row("kv", "pp512"), bench_row("kv", "pp512", kv="int8", tokens_s=1045.0),
            bench_row("threads", "tg128", **dict(decode, threads=1, tokens_s=60.0)),
            bench_row("threads", "tg128", **decode), bench_row("avx2", "pp512", kernels="avx2", tokens_s=333.0)]
    peers = [{"peer": "llama.cpp", "mode": "", "test": "pp512", "commit": "p1", "tokens_s": 440.0,
              "range": [430.0, 450.0], "samples": 6}]
    peers += [{"peer": "ik_llama.cpp", "mode": mode, "test": "pp512", "commit": "p2", "tokens_s": speed,
               "range": [speed, speed], "samples": 6} for mode, speed in (("-rtr 0", 700.0), ("-rtr 1", 550.0))]
    model = {"title": "SmolLM2-135M Q4_1", "file": "s.gguf", "type": "llama", "bytes": 1, "params": 1, "cpu": "Some CPU",
             "commit": "abc1234", "kernels": "avx512", "threads": 2, "date": "2026-01-02", "bytes_per_token": 1,
             "rows": rows, "peers": peers, "startup": {"load_ms": 50.0, "file_read_ms": 20.0, "first_token_ms": 77.0}}
    return {"version": 1, "models": {"smollm2": model}}


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

    def test_fills_the_section_the_page_and_the_pictures(self):
        results = self.write("r.json", json.dumps(bench_results()))
        self.assertEqual(self.run_tool(docs_bench, results)[0], 0)
        text = self.read("README.md")
        for part in ("| SmolLM2-135M Q4_1 | pp512 | 1100 | 44 int8 | 440 | 2.50 | 700 | 1.57 |",
                     "| SmolLM2-135M Q4_1 | tg128 | 90.0 | 71 read | - | - | - | - |", "Some CPU"):
            self.assertIn(part, text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        page = self.read("docs/performance.md")
        for part in ("1100 (1000 - 1200)", "700 (700 - 700) `-rtr 0` | 1.57",  # the better mode
                     "| 90.0 (1000 - 1200) |",
                     "| 1.10 |",  # 13.2 ms over 11 + 0.4e8 bytes at 40 GB/s
                     "12.50 ms, 90.0/s, 1.14 |", "1.14 at 4", "| 50 | 20 | 2.50 | 77 |", "int8 cache over bf16",
                     "2 threads over 1", "| 333 | 2000 |", "product_q8_q4_1_avx512", "> 100", "(roofline-smollm2.svg)"):
            self.assertIn(part, page)
        for name, words in (("docs/speed.svg", "tg128"), ("docs/roofline-smollm2.svg", "ffn_gate+up 45 %")):
            xml.fromstring(self.read(name))
            self.assertIn(words, self.read(name))
        self.assertEqual(self.run_tool(docs_bench, "--check")[0], 0)
        self.write("README.md", text.replace("1100", "1101"))
        self.assertEqual(self.run_tool(docs_bench, "--check")[0], 1)
        self.write("README.md", text)
        for name in ("docs/performance.md", "docs/speed.svg", "docs/roofline-smollm2.svg"):
            kept = self.read(name)
            self.write(name, kept + " ")
            code, said = self.run_tool(docs_bench, "--check")
            self.assertEqual((code, name in said), (1, True))
            self.write(name, kept)
        self.write("docs/roofline-old.svg", "<svg/>")  # of a model that is no longer there
        self.assertEqual(self.run_tool(docs_bench, "--check")[0], 1)

    def test_prints_the_page(self):
        code, said = self.run_tool(docs_bench, "--print", self.write("r.json", json.dumps(bench_results())))
        self.assertEqual(code, 0)
        self.assertTrue(said.startswith("# Performance\n"))
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "docs/performance.md")))

    def test_roofline_labels_keep_their_distance(self):
        heights = bench_roofline.spread([60, 60, 61, 300, 450, 455, 460], 50, 460)
        self.assertEqual(heights, sorted(heights))
        self.assertLessEqual(heights[-1], 460)
        for above, below in zip(heights, heights[1:]):
            self.assertGreaterEqual(below - above, bench_roofline.LINE)

    def test_refuses_other_files(self):
        for content in ("", "{}", "[]", '{"models": {}}', '{"models": {"a": {"rows": []}}}'):
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
