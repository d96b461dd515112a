"""Peers of ridge in ./dev bench: llama-bench programs, and how each is asked for the same rows.

llama.cpp's knows -d (tokens before what is timed); ik_llama.cpp's has -gp PROMPT,GEN for that, and
-rtr, which repacks weights while loading: it is measured in both modes and the better one counts.
"""
import json
import os
import subprocess


class Peer:
    def __init__(self, path):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            raise SystemExit(f"bench_run: {path} is not a program; --peer takes the path of a llama-bench")
        self.path = path
        said = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
        text = said.stdout + said.stderr
        if "--n-prompt" not in text:
            raise SystemExit(f"bench_run: {path} is no llama-bench: its --help knows no --n-prompt")
        repacks = "--run-time-repack" in text
        self.name = "ik_llama.cpp" if repacks else "llama.cpp"
        self.has_depth = "--n-depth" in text
        self.cold = ["-w", "0"] if "--warmup" in text and "--no-warmup" not in text else ["--no-warmup"]
        # Flash attention costs llama.cpp half its speed behind a depth: there both ways are tried.
        self.modes = [("-rtr 0", ["-fa", "1", "-rtr", "0"]), ("-rtr 1", ["-fa", "1", "-rtr", "1"])] if repacks \
            else [("-fa 1", ["-fa", "1"])]
        self.deep_modes = self.modes if repacks else [*self.modes, ("-fa 0", ["-fa", "0"])]

    def commands(self, file, threads, gen, repetitions, deep):
        """(mode, command) pairs that together measure the rows of one round, those that take long once."""
        base = [self.path, "-m", file, "-t", str(threads), "-o", "json"]
        behind = ["-p", "0", "-n", str(gen), "-d", "2048"] if self.has_depth else \
                 ["-p", "0", "-n", "0", "-gp", f"2048,{gen}"]
        for mode, flags in self.modes:
            yield mode, base + flags + ["-p", "128,512", "-n", str(gen), "-r", repetitions]
        for mode, flags in self.deep_modes if deep else []:
            yield mode, base + flags + ["-p", "2048", "-n", "0", "-r", "1"]
            yield mode, base + flags + self.cold + behind + ["-r", "1"]


def parse(text):
    """The rows of llama-bench -o json, as (test, samples_ts, commit); other lines may stand before them."""
    start = 0 if text.startswith("[") else text.find("\n[") + 1
    rows = []
    for row in json.loads(text[start:]):
        prompt, gen = row["n_prompt"], row["n_gen"]
        depth = row.get("n_depth", 0)
        if "@pp" in row.get("test", ""):
            prompt, depth = 0, prompt
        test = (f"pp{prompt}" if prompt else "") + (f"tg{gen}" if gen else "") + (f" @ d{depth}" if depth else "")
        rows.append((test, row["samples_ts"], row.get("build_commit", "unknown")))
    return rows


def better(rows, peer, test):
    """Of a peer's modes the one with the higher median in a row: that entry of `rows`, or None."""
    found = [row for row in rows if row["peer"] == peer and row["test"] == test]
    return max(found, key=lambda row: row["tokens_s"], default=None)
