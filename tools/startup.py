#!/usr/bin/env python3
"""Times how long the program takes from its start to the first token of a prompt of 32 tokens.

    tools/startup.py RIDGE MODEL... [-t THREADS] [--runs N] [--json]

For each model, medians of N runs (9) of `ridge run MODEL -n 1`, by turns with reads of the whole
file into one buffer of 1 MiB, which is what `cat FILE >/dev/null` costs while the file is in the
page cache:

    read     the warm read
    ready    until model and vocabulary are loaded (the program's own clock), and its multiple of
             the read
    first    from before the process is started until the first byte of its answer
    exit     until the process is gone
    peak     largest resident memory, as the kernel counted it

The first run of each model is not counted: it warms the page cache and takes memory that the
machine may have to fetch from its host.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PROMPT_TOKENS = 32


def warm_read(path):
    """Seconds to read the file."""
    buffer = bytearray(1 << 20)
    file = os.open(path, os.O_RDONLY)
    try:
        begin = time.perf_counter()
        while os.readv(file, [buffer]):
            pass
        return time.perf_counter() - begin
    finally:
        os.close(file)


def command(args, model, prompt):
    return [args.ridge, "run", model, "-p", prompt, "-n", "1", "--ignore-eos", "-t",
            str(args.threads)]


def answer(args, model, prompt):
    """The JSON of one run."""
    run = subprocess.run(command(args, model, prompt) + ["--json"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr.strip() or f"startup: {args.ridge} failed")
    return json.loads(run.stdout)


def find_prompt(args, model):
    """A text of PROMPT_TOKENS tokens, or of one more where one word more makes two."""
    words = 1
    while True:
        prompt = "a" + " a" * (words - 1)
        missing = PROMPT_TOKENS - answer(args, model, prompt)["prompt_tokens"]
        if missing <= 0:
            return prompt
        words += max(1, missing // 2)


def first_token(args, model, prompt):
    """Seconds to the first byte and to the exit, and peak bytes, of one run."""
    begin = time.perf_counter()
    child = subprocess.Popen(command(args, model, prompt), stdout=subprocess.PIPE, bufsize=0)
    child.stdout.read(1)
    first = time.perf_counter() - begin
    child.stdout.read()
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"startup: {args.ridge} failed on {model}")
    return first, time.perf_counter() - begin, usage.ru_maxrss * 1024


def measure(args, model):
    prompt = find_prompt(args, model)
    first_token(args, model, prompt)
    rows = []
    for _ in range(args.runs):
        read = warm_read(model)
        # Of two processes, as the program prints its own times only with the answer as JSON.
        ready = answer(args, model, prompt)
        rows.append((read, ready["load_s"], *first_token(args, model, prompt)))
    read, load, first, leave, peak = (statistics.median(column) for column in zip(*rows))
    return {"model": model, "bytes": os.path.getsize(model), "prompt_tokens":
            ready["prompt_tokens"], "runs": args.runs, "threads": args.threads,
            "read_s": read, "ready_s": load, "ready_over_read": load / read,
            "first_token_s": first, "exit_s": leave, "peak_bytes": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ridge", help="the program")
    parser.add_argument("models", nargs="+", metavar="model", help="GGUF files")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="one JSON object a model")
    args = parser.parse_args()
    if not args.json:
        print(f"{'model':40s} {'MB':>6s} {'read':>8s} {'ready':>8s} {'':>6s} {'first':>9s} "
              f"{'exit':>9s} {'peak':>8s}")
    for model in args.models:
        m = measure(args, model)
        if args.json:
            print(json.dumps(m), flush=True)
            continue
        print(f"{os.path.basename(model)[:40]:40s} {m['bytes'] / 1e6:6.0f} "
              f"{m['read_s'] * 1e3:5.0f} ms {m['ready_s'] * 1e3:5.0f} ms "
              f"{m['ready_over_read']:5.2f}x {m['first_token_s'] * 1e3:6.0f} ms "
              f"{m['exit_s'] * 1e3:6.0f} ms {m['peak_bytes'] / 1e6:5.0f} MB", flush=True)


if __name__ == "__main__":
    main()
