#!/usr/bin/env python3
"""tools/board_claims.py: expressions, verdicts, and that what is committed is what it computes."""
import glob
import json
import os
import sys
import tomllib
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import board_claims as claims  # noqa: E402
import board_report  # noqa: E402

MEASURED = {"a": {"ms": 4.0, "list": {"x": 2}}, "b": 8}


def claim(**fields):
    return {"id": "c", "section": "1", "text": "t", "claimed": 5, "unit": "ms", "method": "m",
            **fields}


class Expressions(unittest.TestCase):
    def test_arithmetic(self):
        for text, value in (("1 + 2 * 3", 7), ("a.ms / b", 0.5), ("abs(0 - a.list.x)", 2),
                            ("min(a.ms, b)", 4), ("2 ** 3 % 5", 3), ("-b", -8),
                            ("a.ms < b and b == 8", True), ("a.ms > b or b != 8", False)):
            self.assertEqual(claims.evaluate(text, MEASURED), value, text)

    def test_what_is_not_there_is_unmeasured(self):
        for text in ("z", "a.z", "a.ms.z", "a", "a.list"):
            with self.assertRaises(claims.Unmeasured, msg=text):
                claims.evaluate(text, MEASURED)

    def test_nothing_else_is_evaluated(self):
        for text in ("__import__('os')", "a['ms']", "[1]", "'x'", "(lambda: 1)()", "a.ms if b else b"):
            with self.assertRaises((ValueError, KeyError, TypeError, AttributeError), msg=text):
                claims.evaluate(text, MEASURED)


class Verdicts(unittest.TestCase):
    def verdict(self, **fields):
        return claims.judge(claim(**fields), MEASURED)[:2]

    def test_each(self):
        rule = {"measure": "a.ms", "reached": "result <= claimed"}
        self.assertEqual(self.verdict(**rule), (4.0, "reached"))
        self.assertEqual(self.verdict(**{**rule, "measure": "b"}), (8, "not reached"))
        self.assertEqual(self.verdict(**rule, consistent="1 == 2"), (4.0, "contradictory"))
        self.assertEqual(self.verdict(**rule, consistent="1 == 1"), (4.0, "reached"))
        self.assertEqual(self.verdict(contradiction="why"), (None, "contradictory"))
        self.assertEqual(self.verdict(not_applicable="why", **rule), (None, "not applicable"))
        self.assertEqual(self.verdict(**{**rule, "measure": "z"}), (None, "not measured"))
        self.assertEqual(self.verdict(measure="b", reached="result < z"), (8, "not measured"))

    def test_written_text_is_stable_and_follows_the_measurement(self):
        text = ('# head\n\n[[claim]]\nid = "x"\nsection = "1"\ntext = "t"\nclaimed = 5\nunit = "ms"\n'
                'method = "m"\nmeasure = "a.ms"\nreached = "result <= claimed"\n\n# --- next\n\n'
                '[[claim]]\nid = "y"\nsection = "1"\ntext = "t"\nclaimed = 5\nmethod = "m"\n'
                'not_applicable = "w"\n')
        document = tomllib.loads(text)
        once = claims.rewritten(text, document, MEASURED)
        self.assertIn('reached = "result <= claimed"\nresult = "4 ms"\nverdict = "reached"\n\n# --- next',
                      once)
        self.assertTrue(once.endswith('not_applicable = "w"\nverdict = "not applicable"\n'))
        self.assertEqual(claims.rewritten(once, tomllib.loads(once), MEASURED), once)
        other = claims.rewritten(once, document, {"a": {"ms": 6.0}})
        self.assertIn('result = "6 ms"\nverdict = "not reached"', other)

    def test_what_holds_by_construction(self):
        rule = {"measure": "a.ms", "reached": "result <= claimed"}
        document = {"claim": [
            claim(id="measured", **rule), claim(id="read", measure="max(board.x, soc.y)", reached="result > 1"),
            claim(id="sum", measure="2 + 2", reached="result < claimed"), claim(id="back", given="cost.z", **rule),
            claim(id="missed", measure="board.x", reached="result < 1"),
            claim(id="never", given="cost.z", measure="b", reached="result < claimed"),
            claim(id="mixed", measure="board.x * a.ms", reached="result > 1")]}
        measured = {**MEASURED, "board": {"x": 2}, "soc": {"y": 3}}
        self.assertEqual(claims.by_construction(document, measured), (["read", "sum"], ["back"]))

    def test_faulty_files_are_named(self):
        good = claim(measure="b", reached="result < 1")
        self.assertEqual(claims.problems({"claim": [good]}), [])
        for bad, word in ((claim(), "no rule"), (claim(reached="1 < 2"), "nothing measured"),
                          ({**good, "colour": 1}, "colour"), ({"id": "c", "reached": "1"}, "section")):
            self.assertIn(word, "; ".join(claims.problems({"claim": [bad]})))
        self.assertIn("twice", claims.problems({"claim": [good, good]})[0])


class Committed(unittest.TestCase):
    def test_every_board_s_claims_are_well_formed(self):
        files = glob.glob(os.path.join(ROOT, "boards", "*", "claims.toml"))
        self.assertTrue(files)
        for path in files:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            document = tomllib.loads(text)
            self.assertEqual(claims.problems(document), [], path)
            self.assertGreaterEqual(len(document["claim"]), 45)
            with open(os.path.join(os.path.dirname(path), "board.toml"), "rb") as file:
                numbers = tomllib.load(file)
            for name in (n for c in document["claim"] if "given" in c for n in c["given"].split(", ")):
                table, key = name.split(".")
                self.assertIn(key, numbers[table], f"{path}: given = {name}")

    def test_generated_documents_are_what_the_results_give(self):
        for path in glob.glob(os.path.join(ROOT, "docs", "boards", "*-results.json")):
            board = os.path.basename(path).removesuffix("-results.json")
            with open(path, encoding="utf-8") as file:
                measured = json.load(file)
            for name, text in board_report.outputs(board, measured).items():
                with open(name, encoding="utf-8") as file:
                    self.assertEqual(file.read(), text, f"{name}: run tools/board_report.py {path}")


if __name__ == "__main__":
    unittest.main()
