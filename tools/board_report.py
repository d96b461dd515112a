#!/usr/bin/env python3
"""Writes docs/boards/<board>-results.md and its picture from the results that tools/board_bench.py
measured, and the verdicts into boards/<board>/claims.toml.

    board_report.py docs/boards/ai-max-395-results.json [--check]
"""

import argparse
import json
import math
import os
import sys
import tomllib

import board_claims

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = {"a": "stories260K", "b": "16 layers, random"}
GREY, BLUE, GREEN = "#7c828b", "#2f6fb0", "#2a8a6b"


def ms(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(c) for c in row) + " |" for row in rows])


def rungs(measured, model):
    """(title, ms) from the float port to the firmware as it ships."""
    ladder = [("float32 port", measured["float"][model]["ms"])]
    return ladder + [(r["title"], r["ms"]) for r in measured["ladder"][model]["rungs"]]


def ladder_svg(measured):
    """Bars on a logarithmic axis: what each technique brings, one panel a model."""
    panels = [(m, rungs(measured, m)) for m in ("a", "b") if m in measured["ladder"]]
    left, width, row = 280, 360, 28
    values = [v for _, r in panels for _, v in r]
    low = 10 ** math.floor(math.log10(min(values)))
    high = 10 ** math.ceil(math.log10(max(values)))

    def x(value):
        return left + width * (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low))
    height = 40 + sum(44 + row * len(r) for _, r in panels)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 {height}" width="780" '
           f'height="{height}" font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, '
           'sans-serif" font-size="13">',
           "<title>AI Max 395: prefill of 32 tokens, technique by technique (simulated)</title>",
           f'<g fill="{GREY}">', '<text x="12" y="20">prefill of 32 tokens in ms, simulated, '
           "logarithmic</text>"]
    decade = low
    while decade <= high:
        out.append(f'<text x="{x(decade):.0f}" y="38" text-anchor="middle">{decade:g}</text>')
        out.append(f'<path d="M{x(decade):.0f} 44V{height - 10}" stroke="{GREY}" stroke-opacity="0.35"/>')
        decade *= 10
    y = 62
    for model, bars in panels:
        out.append(f'<text x="12" y="{y}" font-weight="bold">model ({model}), {NAMES[model]}</text>')
        y += 10
        for index, (title, value) in enumerate(bars):
            colour = BLUE if index == 0 else GREEN
            out.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{escaped(title)}</text>')
            out.append(f'<rect x="{left}" y="{y + 2}" width="{x(value) - left:.1f}" height="20" rx="2" '
                       f'fill="{colour}"/>')
            ratio = "" if index == 0 else f", {bars[0][1] / value:.1f}x"
            out.append(f'<text x="{x(value) + 7:.1f}" y="{y + 16}">{ms(value)}{ratio}</text>')
            y += row
        y += 34
    out += ["</g>", "</svg>"]
    return "\n".join(out) + "\n"


def section_prefill(m):
    rows = []
    for model, profiles in m["firmware"].items():
        for profile, f in profiles.items():
            rows.append([f"({model}) {NAMES[model]}", profile, ms(f["ms"]), ms(f["mau_ms"]),
                         ms(f["dma_ms"]), ms(f["cpu_ms"]), f"{f['over_mau']:.3f}",
                         f"{f['over_largest']:.3f}", f"{m['float'][model]['ms'] / f['ms']:.1f}x"])
    text = table(["model", "profile", "prefill, ms", "MAU busy", "DMA busy", "CPU busy (busier hart)",
                  "over MAU", "over the largest", "float port over it"], rows)
    d = m["decode"]
    return ("## Prefill\n\n32 tokens; mcycle from entry to return of `prefill_run`, MAU cold at entry, "
            "1 ms tick on, `prefill_init` apart. `report` counts 1 ns a MAC, `peak` four MACs a cycle "
            "of the MAU. Polling and sleeping are not busy; busy times are the trace's, between the "
            "first stage's begin and the last one's end.\n\n" + text +
            f"\n\nA decode step behind 32 tokens takes {ms(d['a']['ms'])} ms (a) and "
            f"{ms(d['b']['ms'])} ms (b) in `report`; (b) moves "
            f"{m['firmware']['b']['report']['dma_bytes'] / 1e6:.1f} MB of weights by DMA for it.")


def section_ladder(m):
    text = ["## Ladder\n\n![What each technique brings](ai-max-395-ladder.svg)\n\n"
            "Each rung is a build of its own with the switches of `firmware/options.h`; profile "
            "`report`, 32 tokens."]
    rows = []
    for (title, a), (_, b) in zip(rungs(m, "a"), rungs(m, "b")):
        rows.append([title, ms(a), f"{rungs(m, 'a')[0][1] / a:.2f}x", ms(b),
                     f"{rungs(m, 'b')[0][1] / b:.2f}x"])
    text.append(table(["rung", "(a) ms", "over float", "(b) ms", "over float"], rows))
    text.append("In `peak`, where loads and bank conflicts count for more, model (a):")
    peak = m["ladder_peak"]["a"]["rungs"]
    text.append(table([r["title"] for r in peak], [[ms(r["ms"]) for r in peak]]))
    text.append("Each technique left out of the firmware as it ships:")
    rows = []
    for name, got in m["ladder"]["a"]["without"].items():
        other = m["ladder"]["b"]["without"][name]
        rows.append([f"`{name}=0`"] + [c for model, g in (("a", got), ("b", other)) for c in (
            ms(g["ms"]), f"{100 * (g['ms'] / m['firmware'][model]['report']['ms'] - 1):+.1f} %")])
    text.append(table(["left out", "(a) ms", "slower by", "(b) ms", "slower by"], rows))
    text.append("Techniques of the article that the firmware does not use, switched on (`=1`):")
    rows = []
    for name, got in m["ladder"]["a"]["tried"].items():
        other = m["ladder"]["b"]["tried"][name]
        rows.append([f"`{name}=1`"] + [c for model, g in (("a", got), ("b", other)) for c in (
            ms(g["ms"]), f"{100 * (g['ms'] / m['firmware'][model]['report']['ms'] - 1):+.1f} %")])
    text.append(table(["tried", "(a) ms", "change", "(b) ms", "change"], rows))
    rows = [[f"({n}) {NAMES[n]}", "float32 port", f"{f['cycles_per_mac']:.2f}",
             f"{f['other_cycles_per_mac']:.2f}", f"{f['instructions_per_mac']:.2f}", ms(f["ms"])]
            for n, f in m["float"].items()]
    for n, s in m["scalar"].items():
        rows.append([f"({n}) {NAMES[n]}", "scalar fixed point", f"{s['cycles_per_mac']:.2f}", "-",
                     f"{s['instructions_per_mac']:.2f}", ms(s["ms"])])
    text.append("The two scalar baselines: cycles and instructions of the loops of their products (fixed "
                "point: `RIDGE_FW_MAU=0 RIDGE_FW_DOUBLE_BUFFER=0` alone).")
    text.append(table(["model", "baseline", "cycles a MAC", "of them not FP", "instructions a MAC",
                       "prefill, ms"], rows))
    return "\n\n".join(text)


def section_flash(m):
    rates = sorted(m["flash"]["a"], key=int, reverse=True)
    rows = [[f"({n}) {NAMES[n]}"] + [ms(m["flash"][n][r]["ms"]) for r in rates] +
            [ms(m["flash"][n][r]["dma_ms"]) for r in rates] for n in m["flash"]]
    return ("## Flash\n\nThe report's DMA rate of 1200 MB/s is taken for flash too; serial flash that "
            "exists has 40 to 400.\n\n" +
            table(["model"] + [f"{r} MB/s, ms" for r in rates] + [f"DMA busy at {r}" for r in rates],
                  rows))


def section_other(m):
    rows = []
    for n in m["attention"]:
        a = m["attention"][n]
        rows.append([f"({n}) {NAMES[n]}"] + [a[f"bytes_{t}"] for t in (8, 32, 64, 128)])
    text = ["## Memory, determinism, size\n\nAttention's working set: distinct bytes of SRAM between "
            "its stage's marks, touched by hart, MAU and DMA, outside KV ring, weights and constants, "
            "stack and data, residual.",
            table(["model", "8 tokens", "32", "64", "128"], rows)]
    i, j, s = m["instret"], m["jitter"], m["size"]
    text.append(
        f"- Instructions of `prefill_run` over {i['prompts']} random prompts of 32 tokens, tick off: "
        f"at most {i['spread']} apart ({i['least']:,} the fewest).\n"
        f"{ticks_line(m)}"
        f"- Time over 32 phases of the 1 ms tick, model (a): {j['masked']['least_ms']:.4f} to "
        f"{j['masked']['most_ms']:.4f} ms with masked windows (deviation "
        f"{1000 * j['masked']['ms']:.2f} us), {j['unmasked']['least_ms']:.4f} to "
        f"{j['unmasked']['most_ms']:.4f} ms without (deviation {1000 * j['unmasked']['ms']:.2f} us).\n"
        f"- Longest masked window: {m['firmware']['a']['report']['masked_us']:.2f} us (a), "
        f"{m['firmware']['b']['report']['masked_us']:.2f} us (b).\n"
        f"- Code {s['text']:,} bytes of 32,768; code and constants {s['rom']:,} of 46,080.")
    text.append(ticks_table(m))
    return "\n\n".join(text)


def ticks_line(m):
    t = m["ticks"]
    least = min(k["ticks"] for k in t["kinds"])
    most = max(k["ticks"] for k in t["kinds"])
    return (f"- The same {t['prompts']} prompts with the 1 ms tick on: {least} to {most} ticks of "
            f"{t['handler']} instructions each; at most {t['spread']} apart, {t['spread_less_handler']} "
            f"with the handler's subtracted. The rest is two instructions for each tick that ends a "
            f"sleep of a wait (jump back, sleep again): {t['sleeps_ended']} of {t['ticks']} ticks did, "
            f"as the simulator's counts of traps ({t['traps']}) and of sleeps say too. "
            f"The table below has what a prefill runs above its count without the tick.\n")


def ticks_table(m):
    t = m["ticks"]
    rows = []
    for k in t["kinds"]:
        rest = 2 * k["sleeps"]
        rows.append([k["ticks"], k["sleeps"], t["handler"] * k["ticks"] + rest, rest, k["prompts"]])
    return table(["ticks", "that end a sleep", "instructions above", "handler's subtracted", "prompts"],
                 rows)


def section_accuracy(m):
    if "accuracy" not in m:
        return ""
    rows = [[title, int(a["positions"]), f"{a['top1']:.2f} %",
             f"{a['nll_chip']:.4f}" if "nll_chip" in a else "-", f"{a['nll_oracle']:.4f}",
             f"{a['in_top5']:.2f} %"]
            for title, a in ((t, m["accuracy"][k]) for k, t in (
                ("stories", "stories260K, firmware"), ("tiny", "tiny-395, firmware"),
                ("literal_q12_4", "stories260K, literal Q12.4 (oracle's arithmetic)"),
                ("static_scales", "stories260K, static activation scales (oracle's arithmetic)"))
                if k in m["accuracy"])]
    return ("## Accuracy\n\nTeacher-forced against the double-precision oracle, by the host build "
            "(the same sources; bit for bit the simulated chip's logits). stories260K: text sampled "
            "from the oracle and held-out stories; tiny-395: held-out stories of its generator "
            "(a seed that trained and calibrated nothing).\n\n" +
            table(["model", "positions", "argmax agrees", "NLL", "oracle's NLL",
                   "oracle's argmax in top 5"], rows))


def section_sweep(m):
    if "sweep" not in m:
        return ""
    base = m["sweep"]["as_it_is"]
    rows = [["as it is", ms(base["firmware_ms"]), f"{base['float']:.2f}x", f"{base['scalar']:.2f}x"]]
    same, none = [], []
    for name, got in m["sweep"].items():
        if name == "as_it_is":
            continue
        if got is None:
            none.append(name.removesuffix(" halved"))
        elif "failed" in got:
            rows.append([name, got["failed"], "-", "-"])
        elif all(abs(got[k] / base[k] - 1) < 0.005 for k in base):
            same.append(name)
        else:
            rows.append([name, ms(got["firmware_ms"]), f"{got['float']:.2f}x", f"{got['scalar']:.2f}x"])
    return ("## What the assumptions carry\n\nEach number that `board.toml` marks as assumption, halved "
            "and doubled; model (a), `report`: the firmware's time, and the float port and the scalar "
            "fixed point over it.\n\n" +
            table(["number", "firmware, ms", "float port over it", "scalar over it"], rows) +
            "\n\nNo figure moves by half a percent with " + (", ".join(same) or "none") + "." +
            (f" Already 1 and not halved: {', '.join(none)}." if none else ""))


def section_claims(m, document):
    summary, text = board_claims.table(document, m)
    direct, through = board_claims.by_construction(document, m)
    own = (f"Of those reached {len(direct) + len(through)} hold by construction: {len(direct)} are read "
           f"from our own `board.toml` or `soc.h` or are arithmetic alone ({', '.join(direct)}), "
           f"{len(through)} read a cost of `board.toml` back through the simulator "
           f"({', '.join(through)}).")
    return ("## The article, claim by claim\n\n"
            f"{summary} Rules are in `boards/ai-max-395/claims.toml`. {own}\n\n{text}")


def later(m):
    """Parts that were measured at another commit (board_bench.py --only)."""
    parts = m.get("later", {})
    return f" ({', '.join(f'{p} at {c}' for p, c in sorted(parts.items()))})" if parts else ""


def document_text(m, claims):
    head = ("# AI Max 395: results (simulated)\n\nThe chip exists nowhere. Every figure here is of "
            "ridge's cycle-counted model of it, with the costs of `boards/ai-max-395/board.toml`; "
            "[ai-max-395.md](ai-max-395.md) says what that rests on. Written by "
            f"`./dev bench ai-max-395` at commit {m['commit']}{later(m)}; nothing here is typed by hand.\n\nModels: (a) stories260K (dim 64, "
            "5 layers, 8 heads of 8, 4 KV heads, hidden 172, vocabulary 512); (b) random weights near "
            "the chip's limit (dim 128, 16 layers, 8 heads of 16, 1 KV head, hidden 448, vocabulary 512).")
    tail = ("## Trace\n\nAfter a bench, this writes who was busy when (harts, their stages, DMA channels "
            "and MAU as rows); it opens in Perfetto:\n\n    build/release/ridge sim "
            "build/boards/firmware-shipped.elf --flash build/boards/stories260K.flash --trace trace.json")
    sections = [head, section_prefill(m), section_ladder(m), section_flash(m), section_other(m),
                section_accuracy(m), section_sweep(m), section_claims(m, claims), tail]
    return "\n\n".join(s for s in sections if s) + "\n"


def outputs(board, measured):
    """Every generated file by path."""
    path = os.path.join(ROOT, "boards", board, "claims.toml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    claims = tomllib.loads(text)
    docs = os.path.join(ROOT, "docs", "boards")
    return {os.path.join(docs, f"{board}-results.md"): document_text(measured, claims),
            os.path.join(docs, f"{board}-ladder.svg"): ladder_svg(measured),
            path: board_claims.rewritten(text, claims, measured)}


def write(board, measured):
    for path, text in outputs(board, measured).items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{os.path.relpath(path, ROOT)} is written")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("results", help="docs/boards/<board>-results.json")
    parser.add_argument("--check", action="store_true", help="fail where a file would change")
    arguments = parser.parse_args()
    board = os.path.basename(arguments.results).removesuffix("-results.json")
    with open(arguments.results, encoding="utf-8") as file:
        measured = json.load(file)
    if not arguments.check:
        write(board, measured)
        return
    for path, text in outputs(board, measured).items():
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"board_report: {os.path.relpath(path, ROOT)} is not what the results give")


if __name__ == "__main__":
    main()
