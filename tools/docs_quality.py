#!/usr/bin/env python3
"""Puts the quality gate's figures into docs/numerics.md.

    docs_quality.py TEXT=FILE...    each FILE is what `ridge perplexity MODEL ... --kld --json` printed,
                                    TEXT names the text; writes the section "quality"
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs_markers  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
NEEDED = ("model", "cache_type", "kernels", "tokens", "perplexity", "perplexity_change", "mean_kld",
          "mean_kld_error", "kld_999", "same_top", "same_top_error")


def row(argument):
    text, found, path = argument.partition("=")
    if not found:
        raise SystemExit(f"docs_quality: '{argument}' is not TEXT=FILE")
    try:
        with open(path, encoding="utf-8") as file:
            q = json.load(file)
    except (OSError, ValueError) as error:
        raise SystemExit(f"docs_quality: {path} is not what perplexity --json prints ({error})") from error
    lost = [key for key in NEEDED if key not in q]
    if lost:
        raise SystemExit(f"docs_quality: {path} has no {', '.join(lost)}: was it run with --kld?")
    model = os.path.basename(q["model"]).removesuffix(".gguf")
    return (f"| {model} | {text} | {q['tokens']:,} | {q['kernels']}, {q['cache_type']} | "
            f"{q['mean_kld']:.5f} +- {q['mean_kld_error']:.5f} | {q['kld_999']:.4f} | "
            f"{100 * q['same_top']:.1f} +- {100 * q['same_top_error']:.1f} | "
            f"{q['perplexity']:.2f} | {100 * q['perplexity_change']:+.2f} |")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    lines = ["| model | text | tokens scored | kernels, cache | mean KLD (nats) | 99.9th percentile | same top % | "
             "perplexity | change % |", "|---|---|---:|---|---:|---:|---:|---:|---:|"]
    lines += [row(argument) for argument in sys.argv[1:]]
    docs_markers.replace_in(os.path.join(ROOT, "docs/numerics.md"), "quality", "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
