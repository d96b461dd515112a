#!/usr/bin/env python3
"""Quantizes a model to every type and puts what comes of it into docs/models.md.

    docs_quantize.py RIDGE F32_MODEL TEXT [--peer LLAMA_QUANTIZE] [--tokens N] [--work DIR]

RIDGE is the program; F32_MODEL a GGUF of F32 weights; TEXT a text file. For each type: `ridge quantize`, then `run`
(a few tokens must come), `perplexity --kld` and `bench`, in one go on this machine. With --peer the same is asked of
the file that llama.cpp's llama-quantize makes: ridge's perplexity of it is the last column. Writes the section
"quantize".
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs_markers  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TYPES = ["F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q5_0", "Q4_K_M", "Q4_K_S", "Q4_1", "Q4_0", "IQ4_NL"]


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"docs_quantize: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def perplexity(ridge, model, text, tokens, *options):
    return json.loads(output(ridge, "perplexity", model, text, *options, "--json", "--max-tokens", str(tokens)))


def rate(ridge, model):
    rows = json.loads(output(ridge, "bench", model, "-p", "0", "-n", "64", "-r", "3", "-o", "json"))
    rows = rows if isinstance(rows, list) else rows.get("rows") or rows.get("results")
    return next(r.get("avg_ts") or r.get("tokens_per_second") for r in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ridge")
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--peer")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--work")
    a = parser.parse_args()
    head = "| type | MB | bits a weight | quantized in | perplexity | against F32 | mean KLD of int8 activations | decode tokens/s |"
    rule = "|---|---:|---:|---:|---:|---:|---:|---:|"
    about = (f"Perplexity over the first {a.tokens:,} tokens of `{os.path.relpath(a.text, ROOT)}`; \"against F32\" compares "
             "with the F32\nfile computed without rounding activations.\n")
    lines, first = [about, head + (" perplexity of llama-quantize's file |" if a.peer else ""), rule + ("---:|" if a.peer else "")], None
    with tempfile.TemporaryDirectory(dir=a.work) as folder:
        out = os.path.join(folder, "m.gguf")
        for name in TYPES:
            before = time.monotonic()
            said = output(a.ridge, "quantize", a.model, out, name)
            took = time.monotonic() - before
            bits = said.split("MB, ")[1].split(" bits")[0]
            if not output(a.ridge, "run", out, "-p", "The", "-n", "8").strip():
                raise SystemExit(f"docs_quantize: {name} says nothing")
            q = perplexity(a.ridge, out, a.text, a.tokens, "--kld")
            first = first or q["oracle_perplexity"]
            size = os.path.getsize(out)
            line = (f"| {name} | {size / 1e6:.1f} | {bits} | {took:.1f} s | {q['perplexity']:.3f} | "
                    f"{100 * (q['perplexity'] / first - 1):+.2f} % | {q['mean_kld']:.5f} | {rate(a.ridge, out):.0f} |")
            if a.peer:
                subprocess.run([a.peer, a.model, out, name], capture_output=True, check=True)
                if os.path.getsize(out) != size and abs(os.path.getsize(out) - size) > 4096:
                    raise SystemExit(f"docs_quantize: {name}: sizes differ, {size} and {os.path.getsize(out)}")
                line += f" {perplexity(a.ridge, out, a.text, a.tokens)['perplexity']:.3f} |"
            lines.append(line)
            print(line, flush=True)
    docs_markers.replace_in(os.path.join(ROOT, "docs/models.md"), "quantize", "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
