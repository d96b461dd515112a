#!/usr/bin/env python3
"""Measures decode beside busy processes: what is left, how even the tokens come, whose fault it is.

    tools/contention.py TOKEN_TIMES MODEL... [--seconds S] [--cpus 0,1] [--loads 0,1,2]
                        [--peer LLAMA_BENCH] [--json FILE]

TOKEN_TIMES is the build's token_times. For each model and load (0, 1 or 2 busy processes) one row:

    tok/s    tokens per second over the whole time
    quiet    share of the same model's tok/s without load
    1 thread multiple of the tok/s of a single ridge thread under the same load
    fair     multiple of quiet tok/s x the share of CPU time that two threads which never wait get
             in ridge's place (measured: it depends on the kernel's grouping of sessions)
    p50 p99 max   milliseconds a token, and p99 / p50
    cpu      CPUs used
    peer     llama-bench's tok/s under the same load, and its share of its own quiet speed

A busy process is a loop pinned to one CPU, in a session of its own: where the kernel groups tasks
by session (sched_autogroup), it then weighs as much as all of ridge, as a neighbour's program does.
The program under test is in a third session and not pinned.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time


def spin(seconds=None):
    """A loop that never waits; returns the share of a CPU that it got."""
    begin, cpu = time.perf_counter(), time.process_time()
    while seconds is None or time.perf_counter() - begin < seconds:
        for _ in range(1000):
            pass
    return (time.process_time() - cpu) / (time.perf_counter() - begin)


class Neighbours:
    """Busy processes on the first `count` of `cpus`, while the block runs."""

    def __init__(self, cpus, count):
        self.cpus, self.count, self.pids = cpus, count, []

    def __enter__(self):
        for cpu in self.cpus[: self.count]:
            pid = os.fork()
            if pid == 0:
                os.setsid()
                os.sched_setaffinity(0, {cpu})
                spin()
            self.pids.append(pid)
        time.sleep(0.2)
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def run(command):
    """Output of a command that runs in a session of its own."""
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    if done.returncode != 0:
        sys.exit(f"contention: {command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def fair_cpus(threads, seconds):
    """CPUs that `threads` loops of one session get in place of ridge."""
    code = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
    code += "import os, contention\nkids = []\n"
    code += f"for _ in range({threads}):\n"
    code += "    r, w = os.pipe()\n    if os.fork() == 0:\n"
    code += f"        os.write(w, str(contention.spin({seconds})).encode())\n        os._exit(0)\n"
    code += "    os.close(w)\n    kids.append(r)\n"
    code += "print(sum(float(os.read(r, 64)) for r in kids))"
    return float(run([sys.executable, "-c", code]))


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def measure(args, model, threads, seconds):
    out = json.loads(run([args.token_times, model, "-t", str(threads), "--seconds", str(seconds)]))
    ms = [t / 1e6 for t in out["token_ns"]]
    return {"tok_s": len(ms) / out["seconds"], "p50": statistics.median(ms),
            "p99": percentile(ms, 0.99), "max": max(ms), "cpu": out["cpu_seconds"] / out["seconds"]}


def measure_peer(args, model, threads, tokens):
    out = run([args.peer, "-m", model, "-t", str(threads), "-p", "0", "-n", str(tokens),
               "-r", "1", "-o", "json"])
    return json.loads(out)[0]["avg_ts"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("token_times")
    parser.add_argument("models", nargs="+")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cpus", help="CPUs of the busy processes; default: all allowed")
    parser.add_argument("--loads", default="0,1,2")
    parser.add_argument("--peer", help="a llama-bench to run under the same load")
    parser.add_argument("--peer-tokens", type=int, default=32, help="fewer: it may take long")
    parser.add_argument("--json", help="also write the rows here")
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0)) if args.cpus is None else \
        [int(cpu) for cpu in args.cpus.split(",")]
    short = max(2.0, args.seconds / 4)

    rows = []
    print(f"{'model':<28}{'busy':>5}{'tok/s':>8}{'quiet':>7}{'1 thr':>7}{'fair':>7}{'p50':>8}"
          f"{'p99':>8}{'max':>8}{'p99/50':>7}{'cpu':>6}{'peer':>8}{'share':>7}", flush=True)
    for model in args.models:
        quiet = peer_quiet = None
        for load in sorted(int(n) for n in args.loads.split(",")):
            peer = None
            with Neighbours(cpus, load):
                row = measure(args, model, args.threads, args.seconds if load else short)
                one = measure(args, model, 1, short)["tok_s"]
                fair = fair_cpus(args.threads, 2.0) / args.threads
                if args.peer:
                    peer = measure_peer(args, model, args.threads, args.peer_tokens)
            quiet, peer_quiet = quiet or row["tok_s"], peer_quiet or peer
            row.update(model=os.path.basename(model), busy=load, one=one, fair_share=fair,
                       quiet=row["tok_s"] / quiet, peer=peer)
            rows.append(row)
            print(f"{row['model'][:27]:<28}{load:>5}{row['tok_s']:>8.1f}{row['quiet']:>7.2f}"
                  f"{row['tok_s'] / one:>7.2f}{row['quiet'] / fair:>7.2f}{row['p50']:>8.2f}"
                  f"{row['p99']:>8.2f}{row['max']:>8.1f}{row['p99'] / row['p50']:>7.2f}"
                  f"{row['cpu']:>6.2f}" + (f"{peer:>8.1f}{peer / peer_quiet:>7.2f}" if peer else ""),
                  flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
