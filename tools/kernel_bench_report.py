#!/usr/bin/env python3
"""Puts what kernel_bench measured into docs/performance-kernels.md.

    kernel_bench_report.py FILE...            writes the document from one or several --benchmark_out files
    kernel_bench_report.py --print FILE...    prints it instead
    kernel_bench_report.py --below N FILE...  lists the benchmarks below N percent of their cap
"""
import argparse
import json
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
DOCUMENT = "docs/performance-kernels.md"
SHORT = {"int8": "i", "bf16": "b", "f32": "f", "read": "r", "cache read": "c", "pipes": "p"}
INTRO = """# Speed of the kernels

Each kernel of the `{kernels}` set beside the roofs that can bind it, measured in turn in one process by `bench/kernels`
on {cpu}, {threads} threads, {date}: medians of {samples} samples. This document is what these commands write, on a
machine that is quiet otherwise:

    ninja -C build/release kernel_bench
    build/release/bench/kernel_bench --benchmark_out=build/kernels.json
    python3 tools/kernel_bench_report.py build/kernels.json

`RIDGE_KERNELS=avx2` measures another set, `--benchmark_filter=REGEX` a part; the report takes several files. On a
virtual machine neighbours move the clock by a tenth and the memory's bandwidth by half within minutes. A share compares
a kernel with a roof measured a millisecond later and moves less, by some points between runs; compare no figure
with one of another run.

A cell is the percentage of the *cap*: what a kernel can reach of the roof that binds it, by the count of instructions
in its header (`bench/kernels/caps.hpp` quotes each). The letter behind it is the roof that binds: **i** int8 dot
products, **b** bf16 dot products, **f** f32 multiply-adds (the loops of `src/kernels/roof/`), **r** reading memory, by
the best of eight combinations of streams and prefetch, **c** reading a buffer of the kernel's size out of the cache it
lies in, **p** vector operations, twice as many as FMA. A cap for a few rows rests on an estimate of the unpacking, so a
cell may be a little above 100. Where a set's headers state no caps, cells are percentages of the roof.
"""


class Bench:
    def __init__(self, entry):
        parts = re.sub(r"/iterations:\d+|/manual_time", "", entry["name"]).split("/")
        self.name = "/".join(parts)
        self.kernel = parts[0]
        self.keys = {}
        for part in parts[1:]:
            key, found, value = part.partition(":")
            self.keys[key if found else "type" if part in ("bf16", "f16", "f32", "int8") else "place"] = value or part
        self.roof = entry["label"]
        self.of_roof = entry["%roof"]
        self.of_cap = entry.get("%cap")
        self.cap = entry.get("cap")
        self.gb_s = entry.get("GB/s")
        self.gop_s = entry.get("GOP/s")

    def cell(self):
        return f"{self.of_roof if self.of_cap is None else self.of_cap:.0f} {SHORT[self.roof]}"


def load(paths):
    benches, context = {}, None
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            context = context or data["context"]
            for entry in data["benchmarks"]:
                if entry.get("error_occurred"):
                    raise SystemExit(f"kernel_bench_report: {path}: {entry['name']}: {entry.get('error_message')}")
                bench = Bench(entry)
                benches[bench.name] = bench
            if data["context"]["kernels"] != context["kernels"]:
                raise SystemExit(f"kernel_bench_report: {path} is of another set of kernels than {paths[0]}")
        except (OSError, ValueError, KeyError) as error:
            raise SystemExit(f"kernel_bench_report: {path} is not what kernel_bench wrote ({error!r})") from error
    if not benches:
        raise SystemExit("kernel_bench_report: no benchmark in the files")
    return list(benches.values()), context


def table(heads, rows):
    rows = [row for row in rows if any(cell for cell in row[1:])]
    if not rows:
        return "Not measured.\n"
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


class Results:
    def __init__(self, benches, kernels):
        self.benches, self.set = benches, kernels

    def kernels(self, pattern):
        """(short name, kernel name), in the order they were measured."""
        found = {}
        for bench in self.benches:
            match = re.fullmatch(pattern.replace("SET", self.set), bench.kernel)
            if match:
                found.setdefault(bench.kernel, match.group(1))
        return [(short, kernel) for kernel, short in found.items()]

    def find(self, kernel, **keys):
        for bench in self.benches:
            if bench.kernel == kernel and all(bench.keys.get(k) == str(v) for k, v in keys.items()):
                return bench
        return None

    def cell(self, kernel, **keys):
        bench = self.find(kernel, **keys)
        return bench.cell() if bench else ""


def number(bench, what):
    value = getattr(bench, what) if bench else None
    return "" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def panel(r):
    shapes = [(rows, k) for k in (1024,) for rows in (8, 16, 32, 512)] + [(512, 576), (512, 3072)]
    heads = ["type", "cap, % of int8"] + [f"{rows} x {k}" for rows, k in shapes] + ["512 x 1024, % of int8", "GOP/s"]
    rows = []
    for short, kernel in r.kernels(r"product_q8_(.*)_SET"):
        best = r.find(kernel, rows=512, k=1024, place="L2")
        rows.append([short.upper(), number(best, "cap")] +
                    [r.cell(kernel, rows=n, k=k, place="L2") for n, k in shapes] +
                    [number(best, "of_roof"), number(best, "gop_s")])
    return table(heads, rows)


def few(r):
    heads = ["type"] + [f"{n} in {place}" for n in range(1, 7) for place in ("L1", "L2")]
    return table(heads, [[short.upper()] + [r.cell(kernel, rows=n, k=1024, place=place)
                                            for n in range(1, 7) for place in ("L1", "L2")]
                         for short, kernel in r.kernels(r"product_q8_(.*)_SET")])


def far(r, threads):
    counts = (1, 2, 3, 4, 5, 6, 8, 16, 32, 512)
    heads = ["type", "1: GB/s", "1, one thread", "1, k 576", "1, k 3072"] + [str(n) for n in counts]
    rows = []
    for short, kernel in r.kernels(r"product_q8_(.*)_SET"):
        place = {"place": "memory", "threads": threads}
        rows.append([short.upper(), number(r.find(kernel, rows=1, k=1024, **place), "gb_s"),
                     r.cell(kernel, rows=1, k=1024, place="memory", threads=1),
                     r.cell(kernel, rows=1, k=576, **place), r.cell(kernel, rows=1, k=3072, **place)] +
                    [r.cell(kernel, rows=n, k=1024, **place) for n in counts])
    return table(heads, rows)


def plain(r, threads):
    heads = ["kernel"] + [f"{n} in {p}" for n, p in ((1, "L1"), (1, "L2"), (8, "L2"), (16, "L2"), (32, "L2"),
                                                     (512, "L2"), (1, "memory"), (8, "memory"), (512, "memory"))]
    rows = []
    for short, kernel in r.kernels(r"product_((?:f32|bf16)_.*)_SET"):
        cells = []
        for head in heads[1:]:
            n, _, place = head.partition(" in ")
            cells.append(r.cell(kernel, rows=n, k=1024, place=place, threads=threads if place == "memory" else 1))
        rows.append([short] + cells)
    return table(heads, rows)


def attention(r):
    shapes = [(n, "L2") for n in (1, 2, 3, 4, 8, 32)] + [(n, "memory") for n in (1, 2, 8)]
    heads = ["cache", "head"] + [f"{n} in {place}" for n, place in shapes] + ["32: GOP/s", "1 in memory: GB/s"]
    rows = []
    for _, kernel in r.kernels(r"(attend_span)_SET"):
        for kind in ("bf16", "int8", "f16", "f32"):
            for head in (64, 128, 256):
                keys = {"type": kind, "head_dim": head}
                rows.append([f"{kind}", str(head)] +
                            [r.cell(kernel, queries=n, place=place, **keys) for n, place in shapes] +
                            [number(r.find(kernel, queries=32, place="L2", **keys), "gop_s"),
                             number(r.find(kernel, queries=1, place="memory", **keys), "gb_s")])
    return table(heads, rows)


def by_row(r):
    rows = []
    for short, kernel in r.kernels(r"(.*)_SET"):
        if short.startswith(("product_", "attend_")):
            continue
        for bench in r.benches:
            if bench.kernel == kernel:
                rows.append([short, bench.keys.get("n", ""), bench.cell(), number(bench, "gb_s")])
    return table(["kernel", "floats", "of cap", "GB/s read and written"], rows)


def packing(r, threads):
    rows = []
    for short, kernel in r.kernels(r"pack_(.*)"):
        near, away = r.find(kernel, place="L2"), r.find(kernel, place="memory", threads=threads)
        rows.append([short, number(near, "gb_s"), number(away, "gb_s"), number(away, "of_roof")])
    return table(["type", "cache, one thread: GB/s", f"memory, {threads} threads: GB/s",
                  "read and written, % of read roof"], rows)


def document(benches, context):
    r, threads = Results(benches, context["kernels"]), context["threads"]
    return INTRO.format(kernels=context["kernels"], cpu=context["cpu"], threads=threads, date=context["date"][:10],
                        samples=context["samples"]) + f"""
## Products of int8, many rows

Weights in L2, one thread, rows x k. The caps leave the unpacking of a panel out, which the rows share: with 8 rows it
is a quarter of the time.

{panel(r)}
## Products of int8, a few rows

Weights in L1 or L2, k 1024, one thread.

{few(r)}
## Products of int8, weights from memory

{threads} threads, each through its own part of a matrix of hundreds of megabytes; k 1024 unless said. One row is decode.

{far(r, threads)}
## Products of f32, f16 and bf16

And of quantized types with f32 activations, which serve as oracle; k 1024.

{plain(r, threads)}
## Attention of a span

A page of 256 keys, all visible: 1 to 8 queries that share it are decode, 32 are a prompt. Time of softmax is included.

{attention(r)}
## Rows

Row kernels, operands in L1. GB/s count what is read and what is written.

{by_row(r)}
## Packing

File rows of k 1024 to packed pairs; GB/s of the file's bytes.

{packing(r, threads)}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--below", type=float, metavar="N")
    options = parser.parse_args()
    benches, context = load(options.files)
    if options.below is not None:
        for bench in benches:
            if bench.of_cap is not None and bench.of_cap < options.below:
                print(f"{bench.name}: {bench.of_cap:.0f} % of cap, {bench.of_roof:.0f} % of {bench.roof}")
        return 0
    text = document(benches, context)
    if options.print:
        print(text, end="")
        return 0
    with open(os.path.join(ROOT, DOCUMENT), "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
