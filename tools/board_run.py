"""Builds firmware for a simulated board and runs it: what tools/board_bench.py measures with."""

import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMPILER = "riscv64-unknown-elf-g++"
FLAGS = ("-std=c++20 -O3 -march=rv32imafc -mabi=ilp32f -fno-tree-vectorize -mcmodel=medany "
         "-ffreestanding -fno-math-errno -fno-exceptions -fno-rtti -fno-threadsafe-statics "
         "-ffunction-sections -fdata-sections").split()
LINK = "-nostdlib -nostartfiles -static -Wl,--gc-sections -Wl,--no-warn-rwx-segments".split()

RUN_MAGIC, RUN_VERSION, RUN_ALIGN = 0x31515252, 1, 64  # firmware/image.h: RunRequest
RUN_PRINT_LOGITS, RUN_FORCED = 1, 2


class Failed(Exception):
    """A build or a run that did not do what it should."""


def run_request(sequences, tick_us=0, delay=0):
    """The bytes of a RunRequest: (ids, prefill, generate, flags) for each sequence."""
    body = b""
    for ids, prefill, generate, flags in sequences:
        body += struct.pack("<4Ii3I", len(ids), prefill, generate, flags, -1, 0, 0, 0)
        body += struct.pack(f"<{len(ids)}i", *ids)
    head = struct.pack("<8I", RUN_MAGIC, RUN_VERSION, 32 + len(body), len(sequences), tick_us,
                       delay, 0, 0)
    return head + body


def flash_with(image, request):
    """An exported image with a run request behind it."""
    return image + b"\0" * (-len(image) % RUN_ALIGN) + request


class Run:
    """One run: UART lines, the simulator's counters, and the trace where one was asked for."""

    def __init__(self, uart, counters, trace):
        self.uart, self.counters, self.trace = uart, counters, trace

    def prefills(self):
        """(status, cycles, instructions) of each prefill_run."""
        return [tuple(int(n) for n in m) for m in
                re.findall(r"^prefill status=(\d+) cycles=(\d+) instret=(\d+)", self.uart, re.M)]

    def tokens(self):
        """(id, cycles) of each token, the first one's cycles those of its prefill."""
        return [tuple(int(n) for n in m) for m in
                re.findall(r"^token (-?\d+) cycles=(\d+)", self.uart, re.M)]

    def masked(self):
        return max((int(n) for n in re.findall(r"^end status=\d+ masked=(\d+)", self.uart, re.M)),
                   default=0)

    def stage(self, number, field="cycles"):
        return sum(s[field] for s in self.counters["stages"] if s["stage"] == number)

    def busy(self, begin, end):
        """Busy cycles of each row of the trace within [begin, end)."""
        rows = {e["tid"]: e["args"]["name"] for e in self.trace["traceEvents"]
                if e["ph"] == "M" and e["name"] == "thread_name"}
        sums = dict.fromkeys(rows.values(), 0)
        for e in self.trace["traceEvents"]:
            if e["ph"] != "X":
                continue
            name = rows[e["tid"]]
            if name.startswith("hart") and "stage" not in name and e["name"] != "run":
                continue  # asleep or polling
            first, last = e["args"]["cycle"], e["args"]["cycle"] + e["args"]["cycles"]
            sums[name] += max(0, min(last, end) - max(first, begin))
        return sums

    def stage_window(self, row_word="stage"):
        """From the first stage's begin to the last one's end."""
        rows = {e["tid"]: e["args"]["name"] for e in self.trace["traceEvents"]
                if e["ph"] == "M" and e["name"] == "thread_name"}
        slices = [(e["args"]["cycle"], e["args"]["cycle"] + e["args"]["cycles"])
                  for e in self.trace["traceEvents"]
                  if e["ph"] == "X" and row_word in rows[e["tid"]]]
        return min(s[0] for s in slices), max(s[1] for s in slices)


class Bench:
    """A built tree and a folder for what comes out of it."""

    def __init__(self, build, work, board="ai-max-395"):
        self.build, self.work, self.board = build, work, board
        self.folder = os.path.join(ROOT, "boards", board)
        os.makedirs(work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def call(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)[:300]}: {(done.stderr or done.stdout)[-1500:]}")
        return done.stdout

    def tool(self, name, *arguments):
        return self.call(os.path.join(self.build, name), *arguments)

    def compile(self, name, sources, script, defines=()):
        """An ELF from sources below the board's folder, built once for each set of defines."""
        key = hashlib.sha256(" ".join(sorted(defines)).encode()).hexdigest()[:8]
        out = self.path(f"{name}-{key}.elf")
        if not os.path.exists(out):
            self.call(COMPILER, *FLAGS, *LINK, f"-I{ROOT}", *[f"-D{d}" for d in defines],
                      "-T", os.path.join(self.folder, script),
                      *[os.path.join(self.folder, s) for s in sources], "-lgcc", "-o", out)
        return out

    def baseline(self, source):
        return self.compile(source, [f"baseline/{source}.cpp", "baseline/start.S"],
                            "baseline/baseline.ld")

    def simulate(self, elf, flash, profile="report", settings=(), trace=False):
        """Runs an ELF with flash bytes; fails where it does not end well, races or miscounts."""
        folder = tempfile.mkdtemp(dir=self.work)
        try:
            return self.simulate_in(folder, elf, flash, profile, settings, trace)
        finally:
            shutil.rmtree(folder)

    def simulate_in(self, folder, elf, flash, profile, settings, trace):
        image, counters, out = (os.path.join(folder, n) for n in ("flash", "run.json", "trace.json"))
        with open(image, "wb") as file:
            file.write(flash)
        command = [os.path.join(self.build, "ridge"), "sim", elf, "--board",
                   os.path.join(self.folder, "board.toml"), "--flash", image, "--profile", profile,
                   "--json", counters, "--quiet"]
        for setting in settings:
            command += ["--set", setting]
        if trace:
            command += ["--trace", out]
        uart = self.call(*command)
        with open(counters, encoding="utf-8") as file:
            data = json.load(file)
        if not data["accounts_match"]:
            raise Failed(f"{elf}: cycles are not the sum of events times costs")
        traced = None
        if trace:
            with open(out, encoding="utf-8") as file:
                traced = json.load(file)
        return Run(uart, data, traced)


def icache_hits(hart):
    events = hart["events"]
    missed = sum(events[k] for k in ("icache_rom", "icache_flash", "icache_sram"))
    return 100 * (1 - missed / hart["instructions"])
