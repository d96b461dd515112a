#!/usr/bin/env python3
"""Measures a simulated board: the ladder, every claim of its report, sweeps of what is assumed.
`./dev bench ai-max-395` calls it. Everything comes from `ridge sim`, so two runs give one result.

    board_bench.py --build build/release --work build/boards [--docs] [--only PART,...]
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time

import board_numbers as numbers
import board_report
from board_run import (COMPILER, FLAGS, ROOT, RUN_PRINT_LOGITS, Bench, Failed, flash_with, icache_hits,
                       run_request)

BOARD = "ai-max-395"
MICRO = {"mau": 1, "dma": 2, "cpu": 3, "calls": 4, "interrupts": 5,
         "tiles_4_serial": 104, "tiles_8_serial": 108, "tiles_16_serial": 116,
         "tiles_4_double": 204, "tiles_8_double": 208, "tiles_16_double": 216}
MICRO_EACH = ("index_remainder", "index_mask", "table_alone", "flash_line")  # cycles of one
FLOAT_STAGES = {"product": 2, "waiting": 3, "scores": 4, "softmax": 5, "values": 6, "rope": 7,
                "norm": 8, "glu": 9, "tile": 10}
FIRMWARE_STAGES = {"embed": 1, "prepare": 2, "qkv": 3, "attention": 4, "out": 5, "ffn": 6, "head": 7,
                   "softmax": 8, "rope": 9}
SCALAR_STAGE = 10  # baseline/scalar_product.h
MHZ = 1800

# The ladder, from the scalar firmware up: title, switches of firmware/options.h that are still off.
# One-row launches (RIDGE_FW_TILED=0) come with the MAU: the scalar rung has its register tiles.
REST = ["RIDGE_FW_DOUBLE_BUFFER", "RIDGE_FW_PRELOAD", "RIDGE_FW_ROW_BLOCKS", "RIDGE_FW_BANK_SPLIT",
        "RIDGE_FW_FUSED_SOFTMAX", "RIDGE_FW_WARM_UP"]
LADDER = [
    ("scalar fixed point", ["RIDGE_FW_MAU", *REST]),
    ("+ MAU, a row at a time", ["RIDGE_FW_TILED", *REST]),
    ("+ tiling", REST),
    ("+ double buffering", REST[3:]),
    ("+ bank split", REST[4:]),
    ("+ fused softmax", REST[5:]),
    ("+ MAU warm-up", []),
]
LEFT_OUT = ["RIDGE_FW_TILED", *REST, "RIDGE_FW_MASKED", "RIDGE_FW_ISR_REDIRECT", "RIDGE_FW_RING_MASK"]
TRIED = ["RIDGE_FW_ROPE_LERP", "RIDGE_FW_NEWTON_SEED", "RIDGE_FW_RELOAD_K", "RIDGE_FW_Q12_4"]
FLASH_RATES = [1200, 400, 100, 40]


def milliseconds(cycles):
    return cycles / MHZ / 1000


def random_ids(count, seed, vocab=512):
    generator = random.Random(seed)
    return [1] + [generator.randrange(3, vocab) for _ in range(count - 1)]


class Model:
    """A GGUF, its shape, and the work that a prefill is, in multiply-adds."""

    def __init__(self, path, shape):
        self.path, self.shape = path, shape
        self.image = None

    def macs(self, rows):
        """Linear products of `rows` tokens, exact causal attention, and the head once."""
        s = self.shape
        kv = s["kv_width"]
        linear = s["layers"] * (s["dim"] * (2 * s["dim"] + 2 * kv) + 3 * s["dim"] * s["hidden"])
        attention = s["layers"] * s["dim"] * 2 * rows * (rows + 1) // 2
        return {"linear": rows * linear + s["dim"] * s["vocab"], "attention": attention}


def make_models(bench):
    stories = os.path.join(ROOT, "tests/data/stories260K")
    a, b = bench.path("stories260K.gguf"), bench.path("limit.gguf")
    bench.tool("llama2c_to_gguf", os.path.join(stories, "stories260K.bin"),
               os.path.join(stories, "tok512.bin"), a)
    bench.tool("make_model", "--layers", "16", "--hidden", "128", "--ffn", "448", "--heads", "8",
               "--kv-heads", "1", "--head-dim", "16", "--vocab", "512", "--context", "512",
               "--seed", "395", "-o", b)
    return {
        "a": Model(a, {"layers": 5, "dim": 64, "hidden": 172, "heads": 8, "kv_width": 32, "vocab": 512}),
        "b": Model(b, {"layers": 16, "dim": 128, "hidden": 448, "heads": 8, "kv_width": 16,
                       "vocab": 512}),
    }


def measure_float(bench, model, tokens=32, settings=(), profile="report"):
    image = bench.path(f"float-{threading.get_ident()}.img")
    bench.tool("board_baseline", model.path, "-o", image, "--ids",
               ",".join(str(i) for i in random_ids(tokens, 395)))
    with open(image, "rb") as file:
        run = bench.simulate(bench.baseline("float_port"), file.read(), profile, settings)
    os.remove(image)
    cycles, instructions = (int(re.search(rf"^{w} ([0-9a-f]+)", run.uart, re.M).group(1), 16)
                            for w in ("cycles", "instructions"))
    macs = model.macs(tokens)
    stages = {name: run.stage(number) for name, number in FLOAT_STAGES.items()}
    tile = run.stage(FLOAT_STAGES["tile"], "instructions")
    return {"cycles": cycles, "instructions": instructions, "ms": milliseconds(cycles),
            "macs": sum(macs.values()),
            "cycles_per_mac": stages["tile"] / macs["linear"],
            "other_cycles_per_mac": stages["tile"] / macs["linear"] - run.counters["costs"]["fp_arith"],
            "instructions_per_mac": tile / macs["linear"],
            "icache_hits": icache_hits(run.counters["harts"][0]),
            "softmax_ms": milliseconds(stages["softmax"]),
            "stages_ms": {k: milliseconds(v) for k, v in stages.items()}}


def micro_flash(case):
    generator = random.Random(1)
    operands = b"".join(generator.randrange(-2048, 2048).to_bytes(2, "little", signed=True)
                        for _ in range(32768))
    return (case.to_bytes(4, "little") + (128).to_bytes(4, "little")).ljust(65536, b"\0") + operands


def measure_micro(bench, profile):
    """Cycles by name; those of MICRO_EACH and the pairs of table_beside for one of them."""
    result = {}
    for name, case in MICRO.items():
        run = bench.simulate(bench.baseline("micro"), micro_flash(case), profile)
        for line in run.uart.splitlines():
            what, cycles, count = line.split()
            value = int(cycles)
            if what in MICRO_EACH:
                value = value / int(count)
            elif what == "table_beside":
                value = value / int(count)
            if name.startswith("tiles"):
                what = name if what == "tiles" else f"{what}_{name.split('_')[1]}"
            result[what] = value
        if name == "calls":
            events = run.counters["harts"][0]["events"]
            result["call_jumps"] = 2 * 4096
            result["call_mispredicts"] = min(events["mispredict"], 4096)
    return result


def export(bench, model, *options):
    """The image that `ridge export` makes of a model."""
    out = bench.path("model.bin")
    bench.tool("ridge", "export", model.path, "--board", BOARD, "-o", out, *options)
    with open(out, "rb") as file:
        return file.read()


def firmware(bench, *off, on=()):
    """The ELF with the named switches off (NAME) or set (NAME=VALUE in `on`)."""
    defines = [f"{name}=0" for name in off] + list(on)
    key = "+".join(sorted(defines)) or "shipped"
    out = bench.path("firmware-" + re.sub(r"[^\w+=-]", "_", key).replace("RIDGE_FW_", "") + ".elf")
    if not os.path.exists(out):
        bench.call(os.path.join(bench.folder, "firmware/build.sh"), out, *[f"-D{d}" for d in defines])
    return out


def measure_firmware(bench, model, elf, profile="report", tokens=32, settings=(), tick_us=1000,
                     trace=True):
    ids = random_ids(tokens, 395)
    run = bench.simulate(elf, flash_with(model.image, run_request([(ids, tokens, 1, 0)], tick_us)),
                         profile, settings, trace)
    (status, cycles, instructions), = run.prefills()
    if status:
        raise Failed(f"{elf}: prefill_run gave status {status}")
    hart = run.counters["harts"][0]
    result = {"cycles": cycles, "instructions": instructions, "ms": milliseconds(cycles),
              "macs": run.counters["mau"]["macs"], "launches": run.counters["mau"]["launches"],
              "cold_launches": run.counters["mau"]["cold_launches"],
              "dma_bytes": sum(d["bytes"] for d in run.counters["dma"]),
              "masked_us": run.masked() / MHZ, "races": run.counters["race_count"],
              "stages_ms": {k: milliseconds(run.stage(v)) for k, v in FIRMWARE_STAGES.items()
                            if run.stage(v)},
              "icache_hits": icache_hits(hart)}
    if trace:
        begin, end = run.stage_window()
        busy = run.busy(begin, end)
        result["busy_ms"] = {k: milliseconds(v) for k, v in busy.items() if "stage" not in k}
        result["mau_ms"] = milliseconds(next(v for k, v in busy.items() if "MAU" in k))
        result["dma_ms"] = milliseconds(max(v for k, v in busy.items() if "DMA" in k))
        result["dma1_ms"] = milliseconds(busy["DMA 1"])
        result["cpu_ms"] = milliseconds(max(v for k, v in busy.items()
                                            if k.startswith("hart") and "stage" not in k))
        largest = max(result["mau_ms"], result["dma_ms"], result["cpu_ms"])
        result["over_mau"] = result["ms"] / result["mau_ms"] if result["mau_ms"] else 0
        result["over_largest"] = result["ms"] / largest
    return result


def measure_decode(bench, model, elf, settings=()):
    """The fifth step behind 32 tokens: nothing left of the prefill's start."""
    run = bench.simulate(elf, flash_with(model.image, run_request([(random_ids(32, 395), 32, 6, 0)])),
                         settings=settings)
    one = bench.simulate(elf, flash_with(model.image, run_request([(random_ids(32, 395), 32, 5, 0)])),
                         settings=settings)
    cycles = run.tokens()[5][1]
    return {"cycles": cycles, "ms": milliseconds(cycles),
            "macs": run.counters["mau"]["macs"] - one.counters["mau"]["macs"]}


def measure_ladder(bench, model, profile="report"):
    """Cumulative rungs from the scalar firmware up; each switch left out of the whole; techniques
    that the firmware does not use, tried."""
    def time_of(elf):
        got = measure_firmware(bench, model, elf, profile, trace=False)
        return {k: got[k] for k in ("ms", "cycles", "instructions", "masked_us", "races")}
    rungs = [{"title": title, **time_of(firmware(bench, *off))} for title, off in LADDER]
    if profile != "report":
        return {"rungs": rungs}
    return {"rungs": rungs,
            "without": {s: time_of(firmware(bench, s)) for s in LEFT_OUT},
            "tried": {s: time_of(firmware(bench, on=[f"{s}=1"])) for s in TRIED}}


def measure_scalar(bench, model, elf, marked, macs):
    """The scalar firmware; cycles a MAC of its products alone, by the build with marks."""
    result = measure_firmware(bench, model, elf, trace=False)
    run = bench.simulate(marked, flash_with(model.image, run_request([(random_ids(32, 395), 32, 1, 0)])))
    result["cycles_per_mac"] = run.stage(SCALAR_STAGE) / macs
    result["instructions_per_mac"] = run.stage(SCALAR_STAGE, "instructions") / macs
    return result


def measure_accuracy(bench, model):
    """What tests/boards measures of the host build, and roundings in the oracle's arithmetic."""
    out = json.loads(bench.tool("board_accuracy", model.path))
    report = bench.path("agreement.json")
    bench.tool("tests/test_boards", "--gtest_filter=Host.*AgreesWithTheOracle",
               f"--gtest_output=json:{report}")
    with open(report, encoding="utf-8") as file:
        suites = json.load(file)["testsuites"]
    for test in (t for suite in suites for t in suite["testsuite"]):
        name = "stories" if test["name"].startswith("Stories") else "tiny"
        out[name] = {k: float(test[k]) for k in ("positions", "top1", "in_top5", "nll_chip", "nll_oracle")}
    return out


def calibration_prompts(bench):
    with open(os.path.join(bench.folder, "calibration/prompts.txt"), encoding="utf-8") as file:
        return {"prompts": sum(bool(l.strip()) and not l.startswith("#") for l in file)}


def measure_instret(bench, model, elf, prompts=100):
    """Instructions of prefill_run over random prompts of 32 tokens, tick off."""
    sequences = [(random_ids(32, seed), 32, 1, 0) for seed in range(prompts)]
    run = bench.simulate(elf, flash_with(model.image, run_request(sequences)))
    counts = [n for _, _, n in run.prefills()]
    return {"prompts": len(counts), "spread": max(counts) - min(counts), "least": min(counts)}


def tick_handler_instructions(bench, elf):
    """Instructions of trap_short (traps.S) that a timer's tick runs: up to its branch for the timer,
    then from there to the return."""
    text = bench.call("riscv64-unknown-elf-objdump", "-d", "--no-show-raw-insn", elf)
    body = re.search(r"<trap_short>:\n(.*?)\n\n", text, re.S).group(1)
    code = [(int(a, 16), what) for a, what in re.findall(r"^ *([0-9a-f]+):\t(.*)$", body, re.M)]
    addresses = [a for a, _ in code]
    branch = next(i for i, (_, what) in enumerate(code) if what.startswith("beqz"))
    target = int(re.search(r",([0-9a-f]+) <", code[branch][1]).group(1), 16)
    begin = addresses.index(target)
    end = next(i for i in range(begin, len(code)) if code[i][1].startswith("mret"))
    return branch + 1 + end + 1 - begin


def measure_ticks(bench, model, elf, prompts=100):
    """Instructions of prefill_run over the prompts of measure_instret with the 1 ms tick on. What one
    has above the same prompt without the tick is that of its ticks' handler, and two instructions
    (jump back, sleep again) for each tick that ends a sleep of a wait. Totals of both are checked
    against the simulator's counts of traps and of sleeps."""
    sequences = [(random_ids(32, seed), 32, 1, 0) for seed in range(prompts)]
    off, on = (bench.simulate(elf, flash_with(model.image, run_request(sequences, tick)))
               for tick in (0, 1000))
    handler = tick_handler_instructions(bench, elf)
    counts, kinds = [], {}
    for (_, _, without), (_, cycles, count) in zip(off.prefills(), on.prefills()):
        ticks, rest = divmod(count - without, handler)
        if rest % 2 or rest > 2 * ticks or abs(ticks - milliseconds(cycles)) >= 1:
            raise Failed(f"{count - without} instructions are not those of the ticks of a prefill")
        counts.append((count, count - handler * ticks))
        key = (ticks, rest // 2)
        kinds[key] = kinds.get(key, 0) + 1
    events = [run.counters["harts"][0]["events"] for run in (on, off)]
    seen = {name: events[0][name] - events[1][name] for name in ("trap", "wait")}
    total = [sum(k[i] * n for k, n in kinds.items()) for i in (0, 1)]
    if not total[0] <= seen["trap"] <= total[0] + prompts or total[1] != seen["wait"]:
        raise Failed(f"{total} ticks and sleeps ended, but the simulator saw {seen}")
    spread = [max(c[i] for c in counts) - min(c[i] for c in counts) for i in (0, 1)]
    return {"prompts": len(counts), "handler": handler, "spread": spread[0],
            "spread_less_handler": spread[1], "ticks": total[0], "traps": seen["trap"],
            "sleeps_ended": total[1],
            "kinds": [{"ticks": t, "sleeps": s, "prompts": n} for (t, s), n in sorted(kinds.items())]}


def measure_jitter(bench, model, elf, phases=32):
    """Spread of a prefill's time over phases of the tick, as the start is delayed."""
    times = []
    for phase in range(phases):
        delay = phase * 1000 * MHZ // phases // 4
        request = run_request([(random_ids(32, 395), 32, 1, 0)], tick_us=1000, delay=delay)
        run = bench.simulate(elf, flash_with(model.image, request))
        times.append(milliseconds(run.prefills()[0][1]))
    return {"ms": statistics.pstdev(times), "least_ms": min(times), "most_ms": max(times)}


REGIONS_OF_NO_WORKING_SET = [(0x2000a000, 0x2000c000), (0x20010000, 0x20040000)]
# data and stacks; weights, constants, residual, KV ring


def measure_attention(bench, model, elf):
    """Distinct bytes of SRAM between the attention stage's marks by length of the prompt."""
    result = {}
    for tokens in (8, 32, 64, 128):
        run = bench.simulate(elf, flash_with(model.image,
                                             run_request([(random_ids(tokens, 395), tokens, 1, 0)])))
        stage, = [s for s in run.counters["stages"] if s["stage"] == FIRMWARE_STAGES["attention"]]
        count = 0
        for begin, size in stage["ranges"]:
            inside = sum(max(0, min(begin + size, e) - max(begin, b))
                         for b, e in REGIONS_OF_NO_WORKING_SET)
            count += size - inside
        result[f"bytes_{tokens}"] = count
    return result


def measure_size(bench, elf):
    """Sections, symbols and what the compiler says of itself."""
    sections = {}
    for line in bench.call("riscv64-unknown-elf-size", "-A", elf).splitlines():
        parts = line.split()
        if len(parts) == 3 and parts[0].startswith("."):
            sections[parts[0]] = (int(parts[1]), int(parts[2]))
    text = sum(size for name, (size, _) in sections.items() if name.startswith(".text"))
    rom = sum(size for name, (size, place) in sections.items()
              if place < 0x10000 and not name.startswith((".comment", ".riscv", ".debug")))
    symbols = bench.call("riscv64-unknown-elf-nm", elf)
    api = [s for s in ("prefill_init", "prefill_run", "prefill_cleanup")
           if re.search(rf" T {s}$", symbols, re.M)]
    version = re.match(r"(\d+\.\d+)", bench.call(COMPILER, "-dumpfullversion")).group(1)
    source = bench.path("mtime.s")
    with open(source, "w", encoding="ascii") as file:
        file.write("csrr a0, mtime\n")
    assembles = subprocess.run([COMPILER, *FLAGS[1:], "-c", source, "-o", bench.path("mtime.o")],
                               capture_output=True, check=False).returncode == 0
    lines = 0
    for folder, _, names in os.walk(os.path.join(bench.folder, "firmware")):
        for name in names:
            if name.endswith((".cpp", ".h", ".hpp")) and "host" not in folder + name:
                with open(os.path.join(folder, name), encoding="ascii") as file:
                    code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
                lines += sum(bool(re.sub(r"//.*", "", line).strip()) for line in code.splitlines())
    return {"text": text, "rom": rom, "api_functions": len(api),
            "compiler_version": float(version), "csrr_mtime_assembles": int(assembles),
            "firmware_lines": lines}


def measure_sweep(bench, model, elf, scalar, costs, progress):
    """Ratios with each assumed number halved and doubled: (float / firmware, scalar / firmware)."""
    values = numbers.board_values(os.path.join(bench.folder, "board.toml"))

    def ratios(settings):
        chip = measure_firmware(bench, model, elf, settings=settings, trace=False)["ms"]
        plain = measure_float(bench, model, settings=settings)["ms"]
        fixed = measure_firmware(bench, model, scalar, settings=settings, trace=False)["ms"]
        return {"firmware_ms": chip, "float": plain / chip, "scalar": fixed / chip}

    def one(change):
        name, word, other = change
        try:
            return f"{name} {word}", ratios((f"{name}={other}",)) if other >= 1 else None
        except Failed as error:  # a cache of no sets, say
            return f"{name} {word}", {"failed": str(error)[-120:]}
    values = [(name, values[name.split(".")[0]][name.split(".")[1]]) for name in costs]
    changes = [(n, w, o) for n, v in values for w, o in (("halved", v // 2), ("doubled", v * 2))]
    result = {"as_it_is": ratios(())}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, got in pool.map(one, changes):
            result[name] = got
            progress(name)
    return result


def measure_all(bench, only, progress, save):
    header, board = (os.path.join(bench.folder, n) for n in ("soc.h", "board.toml"))
    soc = numbers.soc_constants(header)
    soc["regions_as_stated"] = numbers.regions_as_stated(header, soc)
    models = make_models(bench)
    commit = bench.call("git", "-C", ROOT, "rev-parse", "--short=7", "HEAD").strip()
    out = {"simulated": True, "commit": commit, "soc": soc, "board": numbers.board_values(board),
           "model": {name: m.shape for name, m in models.items()}}

    def part(name, function):
        if only and name not in only:
            return
        begin = time.monotonic()
        out[name] = function()
        save(out)
        progress(f"{name}: {time.monotonic() - begin:.1f} s")
    part("exponential", numbers.exponential)
    part("rope", numbers.rope)
    part("quantization", lambda: numbers.quantization(
        os.path.join(ROOT, "tests/data/stories260K/stories260K.bin")))
    part("micro", lambda: {p: measure_micro(bench, p) for p in ("report", "peak")})
    part("float", lambda: {n: measure_float(bench, m) for n, m in models.items()})
    firmware_parts(bench, models, part, progress)
    return out


def firmware_parts(bench, models, part, progress):
    for model in models.values():
        model.image = export(bench, model)
    with open(bench.path("stories260K.flash"), "wb") as file:  # for `ridge sim --trace` by hand
        file.write(flash_with(models["a"].image, run_request([(random_ids(32, 395), 32, 1, 0)], 1000)))
    shipped, scalar = firmware(bench), firmware(bench, "RIDGE_FW_MAU", "RIDGE_FW_DOUBLE_BUFFER")
    marked = firmware(bench, on=["RIDGE_FW_MARKS=1"])
    scalar_marked = firmware(bench, "RIDGE_FW_MAU", "RIDGE_FW_DOUBLE_BUFFER", on=["RIDGE_FW_MARKS=1"])
    a = models["a"]
    part("calibration", lambda: calibration_prompts(bench))
    part("accuracy", lambda: measure_accuracy(bench, a))
    part("firmware", lambda: {n: {p: measure_firmware(bench, m, shipped, p)
                                  for p in ("report", "peak")} for n, m in models.items()})
    part("size", lambda: measure_size(bench, shipped))
    part("scalar", lambda: {n: measure_scalar(
        bench, m, scalar, scalar_marked, measure_firmware(bench, m, shipped, trace=False)["macs"])
        for n, m in models.items()})
    part("ladder", lambda: {n: measure_ladder(bench, m) for n, m in models.items()})
    part("ladder_peak", lambda: {"a": measure_ladder(bench, a, "peak")})
    part("decode", lambda: {n: measure_decode(bench, m, shipped) for n, m in models.items()})
    part("decode_by_remainder", lambda: {n: measure_decode(
        bench, m, firmware(bench, "RIDGE_FW_RING_MASK")) for n, m in models.items()})
    part("flash", lambda: {n: {str(rate): measure_firmware(
        bench, m, shipped, settings=(f"flash.mb_per_s={rate}",))
        for rate in FLASH_RATES} for n, m in models.items()})
    part("instret", lambda: measure_instret(bench, a, shipped))
    part("ticks", lambda: measure_ticks(bench, a, shipped))
    part("attention", lambda: {n: measure_attention(bench, m, shipped) for n, m in models.items()})
    part("jitter", lambda: {"masked": measure_jitter(bench, a, shipped),
                            "unmasked": measure_jitter(bench, a, firmware(bench, "RIDGE_FW_MASKED"))})
    part("marks", lambda: {n: measure_firmware(bench, m, marked, trace=False)
                           for n, m in models.items()})
    part("sweep", lambda: measure_sweep(bench, a, shipped, scalar, numbers.assumed_costs(
        os.path.join(bench.folder, "board.toml")), progress))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--work", default=os.path.join(ROOT, "build/boards"))
    parser.add_argument("--results", help="the JSON to write (default: WORK/ai-max-395-results.json)")
    parser.add_argument("--docs", action="store_true", help="write docs/boards and the claims' verdicts")
    parser.add_argument("--only", help="parts, by name, separated by commas; merged into --results")
    arguments = parser.parse_args()
    results = arguments.results or os.path.join(arguments.work, f"{BOARD}-results.json")
    bench = Bench(arguments.build, arguments.work)

    def progress(text):
        print(f"== {text}", file=sys.stderr, flush=True)
    try:
        before = {}
        if arguments.only and os.path.exists(results):
            with open(results, encoding="utf-8") as file:
                before = json.load(file)

        def merged(parts):
            if "commit" not in before:
                return {**before, **parts}
            again = {p: parts["commit"] for p in only if p in parts and parts["commit"] != before["commit"]}
            out = {**before, **parts, "commit": before["commit"]}
            if again or "later" in before:
                out["later"] = {**before.get("later", {}), **again}
            return out

        def save(parts):
            with open(results, "w", encoding="utf-8") as file:
                json.dump(merged(parts), file, indent=1, sort_keys=True)
                file.write("\n")
        only = set((arguments.only or "").split(",")) - {""}
        measured = merged(measure_all(bench, only, progress, save))
    except Failed as error:
        sys.exit(f"board_bench: {error}")
    print(f"{results} is written")
    if arguments.docs:
        board_report.write(BOARD, measured)


if __name__ == "__main__":
    main()
