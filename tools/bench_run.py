#!/usr/bin/env python3
"""Measures ridge on this machine, model by model, and keeps what came out in one JSON file.

    bench_run.py [--ridge PATH] [--make-model PATH] [--results FILE] [--only MODEL ...] [--quick]
                 [--peer PATH ...] [--threads N] [--rounds N] [--list]

A model's figures replace those the file had of it, so a run may be split with --only and its parts
merge. With --peer (a llama-bench; may be repeated) the models that are compared are measured in
rounds: ridge, then each peer, again and again, because a machine shared with others changes from
minute to minute. Figures are medians over the repetitions of all rounds; shares are against the
roofs that ridge bench measures between its rows, and are medians of the rounds.

--wrap COMMAND runs every measurement under that command (taskset, nice, a lock of one's own).
"""
import argparse
import datetime
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_models  # noqa: E402
import bench_peers  # noqa: E402

VERSION = 1
BATCHES = "1,2,3,4,6,8,12,16,24,32"
FEW_BATCHES = "1,2,4,8,16,32"
SHARES = ("gb_s", "gop_s", "roof_percent", "own_roof_percent", "products_percent", "attention_percent",
          "read_roof_percent", "step_ms", "batch_ratio", "read_gb_s_roof", "int8_gop_s_roof", "bf16_gflop_s_roof",
          "f32_gflop_s_roof", "wait_us_per_pass", "barriers_per_pass", "read_bytes")
STEP_FIGURES = ("ms", "share_percent", "gb_s", "gop_s", "roof_percent")


class Failed(Exception):
    """A measurement that did not work; one sentence."""


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


class Progress:
    """One line on a terminal, rewritten; off a terminal a line a model."""

    def __init__(self):
        self.terminal = sys.stderr.isatty()

    def show(self, text):
        if self.terminal:
            width = max(shutil.get_terminal_size().columns - 1, 1)
            print(f"\r{text[:width]}\033[K", end="", file=sys.stderr, flush=True)

    def model(self, text):
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options, progress):
        self.ridge, self.threads, self.progress = options.ridge, options.threads, progress
        self.wrap = shlex.split(options.wrap)
        self.roof_seconds = str(options.roof_seconds)

    def output(self, command, measured=True):
        """What a command prints; Failed with its own last words where it does not succeed."""
        try:
            done = subprocess.run((self.wrap if measured else []) + command, capture_output=True, text=True,
                                  check=False, errors="replace")
        except OSError as error:
            raise Failed(f"{command[0]} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            words = done.stderr.strip().splitlines()
            raise Failed(f"{os.path.basename(command[0])} ended with code {done.returncode}: "
                         f"{words[-1] if words else 'it said nothing'}")
        return done.stdout

    def rows(self, file, *arguments, roofs=True):
        return json.loads(self.output([self.ridge, "bench", file, "-o", "json", "--attempts", "1", "--roof-seconds",
                                       self.roof_seconds if roofs else "0", *arguments]))

    def first_token_ms(self, file, repetitions):
        """Times from the start of `ridge run` with a prompt of 32 tokens to the first byte it prints."""
        words = "Why does a stone that is thrown upwards come down again after a while, and what would it do " * 4
        low, high = 1, len(words)
        while low < high:
            half = (low + high) // 2
            ids = json.loads(self.output([self.ridge, "tokenize", file, "-p", words[:half], "--json"], False))["ids"]
            low, high = (low, half) if len(ids) >= 32 else (half + 1, high)
        command = [self.ridge, "run", file, "-p", words[:low], "-n", "1", "-t", str(self.threads)]
        # The clock is read under the wrapper, whose own start is not ridge's.
        script = "import subprocess,sys,time\n" \
                 "for _ in range(int(sys.argv[1])):\n" \
                 "    begin = time.perf_counter()\n" \
                 "    child = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n" \
                 "    child.stdout.read(1)\n" \
                 "    print(1e3 * (time.perf_counter() - begin))\n" \
                 "    child.stdout.read()\n" \
                 "    child.wait()\n"
        return [float(line) for line in
                self.output([sys.executable, "-c", script, str(repetitions), *command]).split()]


def merged_steps(rows):
    """The ten slowest steps, each figure the median over the runs of one row."""
    found = {}
    for row in rows:
        for step in row.get("steps", []):
            found.setdefault((step["kind"], step["name"], step["kernel"], step["layers"]), []).append(step)
    steps = []
    for (kind, name, kernel, layers), runs in found.items():
        step = {"kind": kind, "name": name, "kernel": kernel, "layers": layers}
        step.update({key: round_to(median([run[key] for run in runs])) for key in STEP_FIGURES})
        operations = sum(runs[0][key] for key in ("int8_ops", "bf16_ops", "f32_ops"))
        step["ops_per_byte"] = round_to(operations / runs[0]["bytes"]) if runs[0]["bytes"] else None
        step["operations"] = max(("int8_ops", "bf16_ops", "f32_ops"), key=lambda key: runs[0][key])[:-4]
        steps.append(step)
    return sorted(steps, key=lambda step: -step["ms"])[:10]


def round_to(value, digits=5):
    return None if value is None else float(f"{value:.{digits}g}")


def merged(part, runs):
    """One entry for each row that the runs of one part of the bench (lists of rows) hold."""
    found = {}
    for rows in runs:
        for row in rows:
            found.setdefault((row["test"], row["type_k"], row["n_threads"], row["kernels"]), []).append(row)
    out = []
    for (test, kv, threads, kernels), same in found.items():
        samples = [value for row in same for value in row["samples_ts"]]
        first = same[0]
        entry = {"part": part, "test": test, "kv": kv, "threads": threads, "kernels": kernels,
                 "prompt": first["n_prompt"], "gen": first["n_gen"], "depth": first["n_depth"],
                 "batch": first["n_batch"], "tokens_s": round_to(median(samples)),
                 "range": [round_to(min(samples)), round_to(max(samples))], "samples": len(samples),
                 "noisy": sum(row["noisy"] for row in same), "own_roof": first["own_roof"],
                 "logits_hash": first["logits_hash"]}
        entry.update({key: round_to(median([row[key] for row in same])) for key in SHARES})
        steps = merged_steps(same)
        if steps:
            entry["steps"] = steps
        out.append(entry)
    return out


def measure_peers(bench, peers, model, file, turn, repetitions, found):
    for peer in peers:
        for mode, command in peer.commands(file, bench.threads, model.gen, repetitions, model.deep):
            bench.progress.show(f"{model.name}: round {turn}, {peer.name} {mode}")
            try:
                rows = bench_peers.parse(bench.output(command))
            except (Failed, ValueError) as error:
                bench.progress.model(f"bench_run: {model.name}: {peer.name} {mode} gave no figures ({error})")
                continue
            for test, samples, commit in rows:
                found.setdefault((peer.name, mode, test), {"commit": commit, "samples": []})["samples"] += samples


def merged_peers(found):
    rows = []
    for (name, mode, test), kept in found.items():
        samples = kept["samples"]
        rows.append({"peer": name, "mode": mode, "test": test, "commit": kept["commit"],
                     "tokens_s": round_to(median(samples)), "range": [round_to(min(samples)), round_to(max(samples))],
                     "samples": len(samples)})
    return rows


def measure(bench, model, file, peers, options):
    """Everything of one model."""
    show, threads, gen = bench.progress.show, str(bench.threads), str(model.gen)
    rounds = options.rounds if model.peers else 1
    repetitions = str(max(2, -(-5 // rounds)))  # at least five in all
    prefill, decode, found = [], [], {}
    for turn in range(1, rounds + 1):
        show(f"{model.name}: round {turn} of {rounds}, ridge")
        prefill.append(bench.rows(file, "-t", threads, "-p", "128,512,2048", "-n", "0", "-r", repetitions, "--steps"))
        decode.append(bench.rows(file, "-t", threads, "-p", "0", "-n", gen, "-d", "0,2048", "-r", repetitions, "--steps"))
        if model.peers:
            measure_peers(bench, peers, model, file, turn, repetitions, found)
    rows = merged("speed", prefill) + merged("speed", decode)
    show(f"{model.name}: batches")
    batches = BATCHES if model.peers else FEW_BATCHES
    rows += merged("batch", [bench.rows(file, "-t", threads, "-p", "512", "-n", "8", "-b", batches, "-r", "5")])
    extra = (("kv", ("-p", "512,2048", "-n", "0", "-ctk", "bf16,int8", "-t", threads)),
             ("threads", ("-p", "0", "-n", gen, "-t", f"1,{threads}" if bench.threads > 1 else "1")),
             ("avx2", ("-p", "512", "-n", "0", "--kernels", "avx2", "-t", threads)))
    for part, arguments in extra:
        if part in model.extras:
            show(f"{model.name}: {part}")
            rows += merged(part, [bench.rows(file, *arguments, "-r", "5")])
    show(f"{model.name}: loading")
    one = bench.rows(file, "-t", threads, "-p", "32", "-n", "0", "-r", "5", "--load", roofs=False)[0]
    startup = {"load_ms": round_to(one["load_ms"]), "file_read_ms": round_to(one["file_read_ms"])}
    if "first" in model.extras:
        show(f"{model.name}: first token")
        startup["first_token_ms"] = round_to(median(bench.first_token_ms(file, 7)[-5:]))
    first = prefill[0][0]
    return {"title": model.title, "file": os.path.basename(file), "type": first["model_type"],
            "bytes": first["model_size"], "params": first["model_n_params"], "cpu": first["cpu_info"],
            "commit": first["build_commit"], "kernels": first["kernels"], "threads": bench.threads,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "bytes_per_token": first["bytes_per_token"], "rows": rows, "peers": merged_peers(found),
            "startup": startup}


def load_results(path):
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except FileNotFoundError:
        return {"version": VERSION, "models": {}}
    except (OSError, ValueError) as error:
        raise SystemExit(f"bench_run: {path} is not a file of results ({error}); name another with --results") \
            from error
    if not isinstance(results, dict) or results.get("version") != VERSION:
        raise SystemExit(f"bench_run: {path} is not a file of results of this version; name another with --results")
    return results


def save_results(path, results):
    order = [model.name for model in bench_models.MODELS]
    results["models"] = dict(sorted(results["models"].items(),
                                    key=lambda item: order.index(item[0]) if item[0] in order else len(order)))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)
        file.write("\n")
    os.replace(part, path)


def parse_arguments():
    root = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    build = os.path.join(root, "build", "release")
    home = os.path.expanduser("~")
    parser = argparse.ArgumentParser(description="measures ridge on this machine", allow_abbrev=False)
    parser.add_argument("--ridge", default=os.path.join(build, "ridge"))
    parser.add_argument("--make-model", default=os.path.join(build, "make_model"))
    parser.add_argument("--results", default=os.path.join(root, "build", "performance.json"), metavar="FILE")
    parser.add_argument("--only", action="append", default=[], metavar="MODEL")
    parser.add_argument("--quick", action="store_true", help="three models, one round")
    parser.add_argument("--peer", action="append", default=[], metavar="PATH", help="a llama-bench")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="of the models that peers measure (2)")
    parser.add_argument("--roof-seconds", type=float, default=0.25, metavar="S")
    parser.add_argument("--cache", default=os.environ.get("RIDGE_BENCH_MODELS", os.path.join(home, ".cache/ridge-bench")),
                        metavar="DIR", help="where random models are kept")
    parser.add_argument("--models", default=os.environ.get("RIDGE_MODELS", os.path.join(home, ".cache/ridge")),
                        metavar="DIR", help="where real models are")
    parser.add_argument("--wrap", default="", metavar="COMMAND", help="run each measurement under this command")
    parser.add_argument("--list", action="store_true", help="names of the models")
    return parser.parse_args()


def chosen(options):
    names = [model.name for model in bench_models.MODELS]
    for name in options.only:
        if name not in names:
            raise SystemExit(f"bench_run: there is no model '{name}': {', '.join(names)}")
    models = [model for model in bench_models.MODELS if not options.only or model.name in options.only]
    return [model for model in models if model.quick] if options.quick and not options.only else models


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(f"{model.name:<14} {model.title}" for model in bench_models.MODELS))
        return 0
    if options.threads < 1 or options.rounds < 1:
        raise SystemExit("bench_run: --threads and --rounds take a number above 0")
    if options.quick:
        options.rounds = 1
    models, progress = chosen(options), Progress()
    peers = [bench_peers.Peer(path) for path in options.peer]
    results = load_results(options.results)
    bench, code = Bench(options, progress), 0
    for index, model in enumerate(models, 1):
        begin = time.monotonic()
        try:
            progress.show(f"{model.name}: making it" if model.make else model.name)
            file = bench_models.path_of(model, options.models, options.cache, options.make_model)
            results["models"][model.name] = measure(bench, model, file, peers, options)
        except (bench_models.Unavailable, Failed) as error:
            progress.clear()
            print(f"bench_run: {model.name}: {error}", file=sys.stderr)
            code = 1
            continue
        save_results(options.results, results)
        progress.model(f"{model.name} measured, {index} of {len(models)}, {time.monotonic() - begin:.0f} s")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nbench_run: stopped; models that were finished are kept", file=sys.stderr)
        sys.exit(130)
