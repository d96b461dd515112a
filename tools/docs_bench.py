#!/usr/bin/env python3
"""Puts measured speed into the documents.

    docs_bench.py [FILE]     writes README.md's section "bench", docs/performance.md, docs/speed.svg and
                             docs/roofline*.svg from docs/performance.json, after putting the results of FILE
                             (what bench_run.py wrote) there
    docs_bench.py --check    exit code 1 where they are not what docs/performance.json gives
    docs_bench.py --print FILE    prints docs/performance.md as FILE would give it
"""
import argparse
import glob
import json
import os
import statistics
import sys
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_report  # noqa: E402
import bench_roofline  # noqa: E402
import docs_markers  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
NOTHING = "No figures are committed yet; `./dev bench` measures on your machine.\n"
IN_README = ("smollm2", "gemma3", "0.6b-q4_0", "0.6b-q8_0", "0.6b-q4_k_m", "0.6b-q6_k")
ROOFLINES = {"0.6b-q4_0": "roofline.svg", "smollm2": "roofline-smollm2.svg"}
PEERS = (("llama.cpp", "#d9822b"), ("ik_llama.cpp", "#c0504d"))


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    except (OSError, ValueError) as error:
        raise SystemExit(f"docs_bench: {path} is not what bench_run.py writes ({error})") from error
    models = results.get("models") if isinstance(results, dict) else None
    if not isinstance(models, dict) or not models or \
            not all(isinstance(m, dict) and m.get("rows") and "startup" in m for m in models.values()):
        raise SystemExit(f"docs_bench: {path} holds no results of bench_run.py")
    return results


def chosen_rows(results):
    """(model, row, which roof) of pp512 and decode, for the README and its picture."""
    for name in IN_README:
        model = results["models"].get(name)
        if model:
            yield model, bench_report.find(model, "pp512"), None
            yield model, bench_report.decode(model), "read"


def readme(results):
    models = list(results["models"].values())
    shown = [(m, row, roof) for m, row, roof in chosen_rows(results) if row]
    read = statistics.median(row["read_gb_s_roof"] or 0 for _, row, _ in shown)
    int8 = statistics.median(row["int8_gop_s_roof"] or 0 for _, row, _ in shown)
    peers = [name for name, _ in PEERS if any(p["peer"] == name for m, _, _ in shown for p in m["peers"])]
    rows = []
    for m, row, roof in shown:
        percent = row["read_roof_percent"] if roof else row["own_roof_percent"]
        cells = [m["title"], row["test"], bench_report.speed(row["tokens_s"]),
                 f"{bench_report.number(percent)} {roof or row['own_roof']}"]
        for peer in peers:
            beside = bench_report.of(bench_report.better_mode(m, peer, row["test"]), "tokens_s")
            cells += [bench_report.speed(beside),
                      bench_report.number(bench_report.ratio(row["tokens_s"], beside), 2)]
        rows.append(cells)
    heads = [head for peer in peers for head in (peer, "ratio")]
    text = (f"Tokens a second on {models[0]['cpu']}, {models[0]['threads']} threads, {models[0]['kernels']} kernels, "
            f"commit {models[0]['commit']}, {models[0]['date']}: medians, against roofs measured beside the rows (int8 "
            f"{int8:.0f} GOP/s, reading {read:.0f} GB/s).")
    if peers:
        text += " Peers: same file, in turn with ridge" + \
            ("; of ik_llama.cpp's two ways to load the better one" if "ik_llama.cpp" in peers else "") + "."
    return text + "\n\n" + bench_report.table(["model", "test", "tokens/s", "% of roof", *heads], rows, 2) + \
        "\nAll models, batches, start, step tables: [docs/performance.md](docs/performance.md).\n" \
        "\n![Speed as a share of the machine's roof](docs/speed.svg)\n"


def picture(results):
    """Bars: a row's share of its roof; notches where the peers' speed would stand."""
    rows = [(m, row, roof) for m, row, roof in chosen_rows(results) if row]
    left, bar, step, top = 230, 420, 30, 52
    width, height = left + bar + 130, top + step * len(rows) + 34
    grey = "#7c828b"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
           ' font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" font-size="13">',
           "<title>Share of the machine's roof</title>",
           f'<g fill="{grey}">',
           f'<text x="12" y="20">share of the machine\'s roof, measured: int8 operations for pp, '
           "bytes read for tg</text>"]
    for percent in range(0, 101, 25):
        x = left + bar * percent / 100
        out.append(f'<text x="{x:.0f}" y="42" text-anchor="middle">{percent} %</text>')
        out.append(f'<path d="M{x:.0f} {top - 4}V{height - 30}" stroke="{grey}" stroke-opacity="0.35"/>')
    seen = []
    for index, (m, row, roof) in enumerate(rows):
        y = top + step * index
        percent = min((row["read_roof_percent"] if roof else row["own_roof_percent"]) or 0.0, 100)
        colour = "#2a8a6b" if roof else "#2f6fb0"
        out.append(f'<text x="{left - 10}" y="{y + 15}" text-anchor="end">{escape(m["title"])} {row["test"]}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{bar * percent / 100:.1f}" height="20" rx="2" fill="{colour}"/>')
        at = left + bar * percent / 100 + 8
        for peer, line in PEERS:
            beside = bench_report.better_mode(m, peer, row["test"])
            if beside:
                notch = left + bar * min(percent * beside["tokens_s"] / row["tokens_s"], 100) / 100
                out.append(f'<path d="M{notch:.1f} {y - 3}v26" stroke="{line}" stroke-width="3"/>')
                at = max(at, notch + 8)
                seen.append(peer)
        out.append(f'<text x="{at:.0f}" y="{y + 15}">{row["tokens_s"]:.0f} tokens/s</text>')
    x = 12
    for peer, line in PEERS:
        if peer in seen:
            out.append(f'<path d="M{x + 3} {height - 22}v16" stroke="{line}" stroke-width="3"/>')
            out.append(f'<text x="{x + 12}" y="{height - 10}">{peer}</text>')
            x += 40 + 8 * len(peer)
    first = rows[0][0]
    out.append(f'<text x="{x}" y="{height - 10}">{escape(first["cpu"])}, {first["threads"]} threads, '
               f'{first["date"]}</text>')
    out += ["</g>", "</svg>"]
    return ("\n".join(out) + "\n").encode("ascii", "xmlcharrefreplace").decode("ascii")


def rooflines(results):
    """{file below docs/: (title, SVG)}"""
    found = {}
    for name, file in ROOFLINES.items():
        model = results["models"].get(name)
        drawn = model and bench_roofline.picture(model, bench_report.find(model, "pp512"), bench_report.decode(model))
        if drawn:
            found[file] = (f"Roofline of {model['title']}", drawn)
    return found


def outputs(results):
    """(README.md's section, {path: text})"""
    if results is None:
        return NOTHING, {}
    drawn = rooflines(results)
    files = {f"docs/{file}": text for file, (_, text) in drawn.items()}
    files["docs/performance.md"] = bench_report.markdown(results, [(title, file) for file, (title, _) in drawn.items()])
    section = NOTHING
    if any(row for _, row, _ in chosen_rows(results)):
        section, files["docs/speed.svg"] = readme(results), picture(results)
    return section, files


def path_of(name):
    return os.path.join(ROOT, name)


def read_or_none(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def check(section, files):
    """What is not as it should be: names."""
    wrong = [name for name, text in files.items() if read_or_none(path_of(name)) != text]
    wrong += [os.path.join("docs", os.path.basename(path)) for path in glob.glob(path_of("docs/roofline*.svg"))
              if os.path.join("docs", os.path.basename(path)) not in files]
    if docs_markers.section(read_or_none(path_of("README.md")) or "", "bench", "README.md") != section:
        wrong.append("README.md's section 'bench'")
    return wrong


def main():
    parser = argparse.ArgumentParser(description="puts measured speed into the documents")
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--print", action="store_true")
    arguments = parser.parse_args()
    kept = path_of("docs/performance.json")
    if arguments.print:
        print(bench_report.markdown(load(arguments.file or kept)), end="")
        return 0
    if arguments.file and os.path.abspath(arguments.file) != kept:
        results = load(arguments.file)
        with open(kept, "w", encoding="ascii") as file:
            json.dump(results, file, indent=1)
            file.write("\n")
    results = load(kept) if os.path.exists(kept) else None
    section, files = outputs(results)
    if arguments.check:
        wrong = check(section, files)
        if wrong:
            print(f"{', '.join(wrong)}: not what docs/performance.json gives; run tools/docs_bench.py")
        return 1 if wrong else 0
    for name, text in files.items():
        with open(path_of(name), "w", encoding="ascii") as file:
            file.write(text)
    docs_markers.replace_in(path_of("README.md"), "bench", section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
