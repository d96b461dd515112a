"""tools/bench_run.py with programs that stand in for ridge and llama-bench: what it runs, keeps and says."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import bench_peers  # noqa: E402
import docs_bench  # noqa: E402

# A ridge whose speed is the number of its calls; every call is written down.
RIDGE = """#!{python}
import json, sys
log = open({log!r}, "a+"); log.write(json.dumps(["ridge"] + sys.argv[1:]) + "\\n"); log.seek(0)
calls = len(log.readlines())
a = sys.argv[1:]
def option(name, default):
    return a[a.index(name) + 1] if name in a else default
if a[0] == "tokenize":
    print(json.dumps({{"ids": list(range(len(a[a.index("-p") + 1]) // 2))}}))
elif a[0] == "run":
    print("x")
else:
    rows = []
    for kv in option("-ctk", "bf16").split(","):
        for threads in option("-t", "2").split(","):
            for depth in option("-d", "0").split(","):
                cases = [(int(p), 0, 1) for p in option("-p", "512").split(",") if p != "0"]
                cases += [(0, int(option("-n", "128")), int(b)) for b in option("-b", "1").split(",") if option("-n", "128") != "0"]
                for prompt, gen, batch in cases:
                    test = (f"pp{{prompt}}" if prompt else f"tg{{gen}}") + (f" x{{batch}}" if batch > 1 else "")
                    test += f" @ d{{depth}}" if depth != "0" else ""
                    step = dict(kind="product", name="p", kernel="k", layers="0", ms=float(calls), share_percent=50.0, gb_s=1.0,
                                gop_s=5.0, roof_percent=10.0, bytes=10.0, int8_ops=50.0, bf16_ops=0.0, f32_ops=0.0)
                    rows.append(dict(
                        test=test, type_k=kv, n_threads=int(threads), kernels=option("--kernels", "avx512"), n_prompt=prompt,
                        n_gen=gen, n_depth=int(depth), n_batch=batch, samples_ts=[float(calls)] * int(option("-r", "5")),
                        noisy=False, own_roof="int8", logits_hash="00", gb_s=1.0, gop_s=5.0, roof_percent=10.0,
                        own_roof_percent=float(calls), products_percent=20.0, attention_percent=None, read_roof_percent=30.0,
                        step_ms=1.0 if gen else None, batch_ratio=1.5 if batch > 1 else None, read_gb_s_roof=40.0,
                        int8_gop_s_roof=2000.0, bf16_gflop_s_roof=1000.0, f32_gflop_s_roof=500.0, wait_us_per_pass=1.0,
                        barriers_per_pass=150.0, read_bytes=1e6, steps=[step] if "--steps" in a else [], model_type="llama",
                        model_size=1, model_n_params=1, cpu_info="CPU", build_commit="c", bytes_per_token=1,
                        load_ms=50.0 if "--load" in a else None, file_read_ms=25.0 if "--load" in a else None))
    print(json.dumps(rows))
"""

# ik_llama.cpp's way: -rtr, -gp instead of -d, words before the JSON.
PEER = """#!{python}
import json, sys
a = sys.argv[1:]
if "--help" in a:
    print("-p, --n-prompt <n>  -w, --warmup <0|1>  -rtr, --run-time-repack <0|1>")
    sys.exit(0)
open({log!r}, "a").write(json.dumps(["peer"] + a) + "\\n")
if {fails}:
    sys.exit("unknown type")
speed = 100.0 if a[a.index("-rtr") + 1] == "1" else 60.0
rows = [dict(n_prompt=int(p), n_gen=0, test=f"pp{{p}}") for p in a[a.index("-p") + 1].split(",") if p != "0"]
if a[a.index("-n") + 1] != "0":
    rows.append(dict(n_prompt=0, n_gen=128, test="tg128"))
if "-gp" in a:
    rows.append(dict(n_prompt=2048, n_gen=128, test="tg128@pp2048"))
print("loading ...")
print(json.dumps([dict(row, samples_ts=[speed], build_commit="p") for row in rows]))
"""


class Harness(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log, self.results = self.path("log"), self.path("results.json")
        self.ridge = self.program("ridge", RIDGE)
        for model in ("SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-Q4_K_M.gguf"):
            self.program(model, "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def program(self, name, text, fails=False):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text.format(python=sys.executable, log=self.path("log"), fails=fails))
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def bench(self, *arguments):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "bench_run.py"), "--ridge", self.ridge, "--models",
                               self.folder, "--cache", self.path("made"), "--make-model", self.path("none"), "--results",
                               self.results, "--threads", "2", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def calls(self):
        with open(self.log, encoding="ascii") as file:
            return [json.loads(line) for line in file]

    def kept(self):
        with open(self.results, encoding="ascii") as file:
            return json.load(file)["models"]

    def test_rounds_alternate_and_are_merged(self):
        peer = self.program("llama-bench", PEER)
        code, out, said = self.bench("--only", "smollm2", "--peer", peer)
        self.assertEqual((code, out, said.count("\n")), (0, "", 1), said)
        order = [call[0] for call in self.calls()]
        self.assertEqual(order[:8], ["ridge", "ridge"] + ["peer"] * 6)  # two modes: short rows, pp2048, behind 2048
        self.assertEqual(order.count("peer"), 12)
        model = self.kept()["smollm2"]
        rows = {(row["part"], row["test"], row["kv"], row["threads"]): row for row in model["rows"]}
        pp = rows["speed", "pp512", "bf16", 2]
        # Calls 1 and 9 of all programs, three samples each.
        self.assertEqual((pp["samples"], pp["tokens_s"], pp["range"], pp["own_roof_percent"]), (6, 5, [1, 9], 5))
        self.assertEqual((pp["steps"][0]["ms"], pp["steps"][0]["ops_per_byte"], pp["steps"][0]["operations"]), (5, 5, "int8"))
        for key in (("speed", "tg128 @ d2048", "bf16", 2), ("batch", "tg8 x32", "bf16", 2), ("kv", "pp2048", "int8", 2),
                    ("threads", "tg128", "bf16", 1)):
            self.assertGreaterEqual(rows[key]["samples"], 5, key)
        deep = bench_peers.better(model["peers"], "ik_llama.cpp", "tg128 @ d2048")
        self.assertEqual((deep["mode"], deep["tokens_s"], deep["samples"]), ("-rtr 1", 100, 2))
        self.assertEqual(model["startup"]["load_ms"], 50)
        self.assertGreater(model["startup"]["first_token_ms"], 0)
        runs = [call for call in self.calls() if call[1] == "run"]
        self.assertEqual(len({call[call.index("-p") + 1] for call in runs}), 1)
        self.assertEqual(len(runs[0][runs[0].index("-p") + 1]) // 2, 32)  # tokens, as that ridge counts them
        self.assertIn("| SmolLM2-135M Q4_1 | pp512 |", docs_bench.outputs({"models": self.kept()})[0])

    def test_parts_merge_and_keep_their_order(self):
        self.assertEqual(self.bench("--only", "gemma3", "--rounds", "1")[0], 0)
        first = self.kept()["gemma3"]
        self.assertEqual(self.bench("--only", "smollm2", "--rounds", "1")[0], 0)
        self.assertEqual(list(self.kept()), ["smollm2", "gemma3"])
        self.assertEqual(self.kept()["gemma3"], first)

    def test_a_peer_that_fails_costs_its_figures_only(self):
        peer = self.program("llama-bench", PEER, fails=True)
        code, _, said = self.bench("--only", "smollm2", "--rounds", "1", "--peer", peer)
        self.assertEqual(code, 0)
        self.assertIn("unknown type", said)
        self.assertEqual(self.kept()["smollm2"]["peers"], [])

    def test_every_measurement_runs_under_the_wrapper(self):
        wrap = self.program("wrap", "#!/bin/sh\necho wrapped >> {log}.wrap\nexec \"$@\"\n")
        self.assertEqual(self.bench("--only", "gemma3", "--rounds", "1", "--wrap", wrap)[0], 0)
        measured = [call for call in self.calls() if call[1] == "bench"]
        with open(self.log + ".wrap", encoding="ascii") as file:
            self.assertEqual(len(file.readlines()), len(measured) + 1)  # and the first token

    def test_says_what_is_wrong_in_one_sentence(self):
        for arguments, words in ((["--only", "nope"], "there is no model 'nope'"),
                                 (["--peer", self.path("none")], "is not a program"),
                                 (["--peer", self.program("other", "#!/bin/sh\n")], "is no llama-bench"),
                                 (["--threads", "0"], "above 0"),
                                 (["--only", "0.6b-q4_0"], "none"),
                                 (["--only", "smollm2", "--models", self.path("made")], "./dev models")):
            code, out, said = self.bench(*arguments)
            self.assertNotEqual(code, 0, arguments)
            self.assertEqual((out, said.count("\n")), ("", 1), said)
            self.assertIn(words, said)
        with open(self.results, "w", encoding="ascii") as file:
            file.write("[]")
        code, _, said = self.bench("--only", "smollm2")
        self.assertEqual((code, said.count("\n")), (1, 1))

    def test_a_ridge_that_fails_is_named_and_keeps_the_others(self):
        self.assertEqual(self.bench("--only", "gemma3", "--rounds", "1")[0], 0)
        self.ridge = self.program("broken", "#!/bin/sh\necho 'ridge: no' >&2\nexit 3\n")
        code, _, said = self.bench("--only", "smollm2")
        self.assertEqual((code, said.count("\n")), (1, 1))
        self.assertIn("ended with code 3: ridge: no", said)
        self.assertEqual(list(self.kept()), ["gemma3"])


if __name__ == "__main__":
    unittest.main()
