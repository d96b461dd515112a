#!/usr/bin/env python3
"""Puts measured speed into the documents.

    docs_bench.py FILE... [--peer FILE...]    reads what `ridge bench -o json` printed (and what llama.cpp's
                                              llama-bench -o json did), writes docs/speed.json,
                                              docs/speed.svg and README.md's section "bench"
    docs_bench.py                             draws both again from docs/speed.json
    docs_bench.py --check                     exit code 1 where they are not what docs/speed.json gives

Figures of a row that several files hold (alternating runs) are medians. Percentages are against the
roofs that were measured beside each run.
"""
import argparse
import json
import os
import statistics
import sys
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs_markers  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
NOTHING = "No figures are committed yet; `./dev bench` measures on your machine.\n"
NEEDED = ("model_filename", "n_prompt", "n_gen", "n_depth", "n_threads", "avg_ts")
OWN = ("test", "type_k", "n_batch", "gb_s", "gop_s", "roof_percent", "int8_roof_percent", "read_roof_percent",
       "cpu_info", "build_commit", "kernels", "test_time", "noisy", "read_gb_s_roof", "int8_gop_s_roof")


def load(paths, needed):
    rows = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError) as error:
            raise SystemExit(f"docs_bench: {path} is not what bench -o json prints ({error})") from error
        if not isinstance(found, list) or not found:
            raise SystemExit(f"docs_bench: {path} holds no list of rows")
        for row in found:
            lost = [key for key in needed if key not in row]
            if lost:
                raise SystemExit(f"docs_bench: a row of {path} has no {', '.join(lost)}")
        rows += found
    return rows


def place(row):
    """What a row measures, without who measured it."""
    return (os.path.basename(row["model_filename"]), row["n_prompt"], row["n_gen"], row["n_depth"], row["n_threads"])


def median(rows, key):
    """Of what the rows hold; None where one of them has no such figure."""
    values = [row[key] for row in rows]
    return None if None in values else statistics.median(values)


def summary(ours, peers):
    groups = {}
    for row in ours:
        groups.setdefault(place(row) + (row["n_batch"], row["type_k"]), []).append(row)
    rows = []
    for key, runs in groups.items():
        run = runs[0]
        decode, prompt = run["n_gen"] > 0, run["n_prompt"] > 0
        roof = "all" if decode and prompt else "read" if decode else "int8"
        percent = median(runs, "roof_percent" if roof == "all" else f"{roof}_roof_percent")
        beside = [row["avg_ts"] for row in peers if place(row) == key[:5] and run["n_batch"] == 1]
        rows.append({
            "model": key[0].removesuffix(".gguf"), "test": run["test"], "threads": run["n_threads"],
            "kv": run["type_k"], "runs": len(runs), "tokens_s": median(runs, "avg_ts"),
            "gb_s": median(runs, "gb_s"), "gop_s": median(runs, "gop_s"),
            "roof_percent": median(runs, "roof_percent"), "roof": roof,
            "one_roof_percent": percent, "noisy": any(r["noisy"] for r in runs),
            "peer_tokens_s": statistics.median(beside) if beside else None})
    first = ours[0]
    return {"cpu": first["cpu_info"], "kernels": first["kernels"], "commit": first["build_commit"],
            "date": first["test_time"][:10], "peer_commit": peers[0].get("build_commit") if peers else None,
            "read_gb_s": statistics.median(r["read_gb_s_roof"] or 0 for r in ours),
            "int8_gop_s": statistics.median(r["int8_gop_s_roof"] or 0 for r in ours), "rows": rows}


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def table(data):
    peer = any(row["peer_tokens_s"] for row in data["rows"])
    names = ["model", "test", "threads", "tokens/s", "GB/s", "GOP/s", "% of roof", "% of one roof"]
    names += ["llama.cpp tokens/s", "ratio"] if peer else []
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * 3 + "---:|" * (len(names) - 3)]
    for row in data["rows"]:
        note = " (noisy)" if row["noisy"] else ""
        cells = [row["model"], row["test"], str(row["threads"]), number(row["tokens_s"]) + note,
                 number(row["gb_s"], 1), number(row["gop_s"]), number(row["roof_percent"]),
                 f"{number(row['one_roof_percent'])} {row['roof']}"]
        if peer:
            beside = row["peer_tokens_s"]
            cells += [number(beside), number(row["tokens_s"] / beside, 2) if beside else "-"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def markdown(data):
    runs = max(row["runs"] for row in data["rows"])
    text = (f"Measured on {data['cpu']} ({data['kernels']} kernels, commit {data['commit']}, {data['date']}"
            f"{f'; median of {runs} runs' if runs > 1 else ''}). Roofs measured beside the rows: reading "
            f"{data['read_gb_s']:.0f} GB/s, int8 {data['int8_gop_s']:.0f} GOP/s. % of roof: the ideal time of every "
            "step at its own roof over the time it took; % of one roof: of int8 operations (pp) or of reading (tg) "
            "alone.")
    if data["peer_commit"]:
        text += f" llama.cpp: commit {data['peer_commit']}, same file, alternating runs."
    return text + "\n\n" + table(data) + "\n![Speed as a share of the machine's roof](docs/speed.svg)\n"


def picture(data):
    """Bars: a row's share of its one roof; a notch where llama.cpp's speed would stand."""
    left, bar, step, top = 300, 380, 30, 52
    width, height = left + bar + 130, top + step * len(data["rows"]) + 34
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
    for index, row in enumerate(data["rows"]):
        y = top + step * index
        percent = row["one_roof_percent"] or 0.0
        colour = {"int8": "#2f6fb0", "read": "#2a8a6b"}.get(row["roof"], "#8a6bb0")
        out.append(f'<text x="{left - 10}" y="{y + 15}" text-anchor="end">{escape(row["model"])} {row["test"]}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{bar * min(percent, 100) / 100:.1f}" height="20" rx="2" '
                   f'fill="{colour}"/>')
        at = left + bar * min(percent, 100) / 100 + 8
        if row["peer_tokens_s"]:
            notch = left + bar * min(percent * row["peer_tokens_s"] / row["tokens_s"], 100) / 100
            out.append(f'<path d="M{notch:.1f} {y - 3}v26" stroke="#d9822b" stroke-width="3"/>')
            at = max(at, notch + 8)
        out.append(f'<text x="{at:.0f}" y="{y + 15}">{row["tokens_s"]:.0f} tokens/s</text>')
    note = f"{data['cpu']}, {data['date']}"
    if any(row["peer_tokens_s"] for row in data["rows"]):
        note += "; orange: llama.cpp, same file, same operations, its own time"
    out += [f'<text x="12" y="{height - 10}">{escape(note)}</text>', "</g>", "</svg>"]
    return ("\n".join(out) + "\n").encode("ascii", "xmlcharrefreplace").decode("ascii")


def path_of(name):
    return os.path.join(ROOT, name)


def outputs(data):
    """(section of README.md, text of docs/speed.svg or None)"""
    return (markdown(data), picture(data)) if data else (NOTHING, None)


def read_or_none(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


def main():
    parser = argparse.ArgumentParser(description="puts measured speed into the documents")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--peer", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.files:
        data = summary(load(arguments.files, NEEDED + OWN), load(arguments.peer, NEEDED))
        with open(path_of("docs/speed.json"), "w", encoding="ascii") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    else:
        kept = read_or_none(path_of("docs/speed.json"))
        data = json.loads(kept) if kept else None
    section, drawing = outputs(data)
    if arguments.check:
        readme = read_or_none(path_of("README.md")) or ""
        same = docs_markers.section(readme, "bench", "README.md") == section and \
            read_or_none(path_of("docs/speed.svg")) == drawing
        if not same:
            print("README.md's section 'bench' or docs/speed.svg is not what docs/speed.json gives: "
                  "run tools/docs_bench.py")
        return 0 if same else 1
    if drawing:
        with open(path_of("docs/speed.svg"), "w", encoding="ascii") as file:
            file.write(drawing)
    docs_markers.replace_in(path_of("README.md"), "bench", section)
    return 0


if __name__ == "__main__":
    sys.exit(main())
