"""docs/performance.md, and what ./dev bench prints: tables from a file of bench_run.py's results."""
import statistics

HEAD = """# Performance

Written by `tools/docs_bench.py` from `docs/performance.json`, which `./dev bench --docs` measures; nothing here
is typed by hand. Figures are medians over all repetitions, shares are against roofs measured between the rows of
the same run: a machine shared with others changes from minute to minute, the share of its roof hardly.
"""
RULES = """Qwen3-0.6B and Qwen3-1.7B are random weights in the published shapes (speed does not depend on the
values); SmolLM2 and Gemma 3 are the real files. pp512: 512 tokens of a prompt computed together; tg128: 128
tokens generated one at a time; @ d2048: behind 2048 tokens. Operations: two for each weight of a product, and
4 x head size for each head and visible key. *Of roof*: of the int8 roof in prefill (of bf16 or f32 where the
products' operations are of that kind), of the read roof in decode, where weights and cache count once a token.
*Products*: product steps alone. *Attention*: of the bf16 roof, softmax included.
"""


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def speed(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def ratio(over, under):
    return over / under if over and under else None


def table(names, rows, right_from=1):
    lines = ["| " + " | ".join(names) + " |",
             "|" + "---|" * right_from + "---:|" * (len(names) - right_from)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def find(model, test, part="speed", **wanted):
    """The row of a test, or None."""
    for row in model["rows"]:
        if row["part"] == part and row["test"] == test and all(row[key] == value for key, value in wanted.items()):
            return row
    return None


def decode(model, depth=0):
    """The model's decode row at a depth (tg128, or fewer tokens where one takes long), or None."""
    for row in model["rows"]:
        if row["part"] == "speed" and row["prompt"] == 0 and row["depth"] == depth:
            return row
    return None


def of(row, key):
    return None if row is None else row[key]


def with_range(row):
    if row is None:
        return "-"
    low, high = row["range"]
    return f"{speed(row['tokens_s'])} ({speed(low)} - {speed(high)})"


def better_mode(model, peer, test):
    rows = [row for row in model["peers"] if row["peer"] == peer and row["test"] == test]
    return max(rows, key=lambda row: row["tokens_s"], default=None)


def machine(models):
    parts = []
    for cpu, kernels in sorted({(m["cpu"], m["kernels"]) for m in models}):
        parts.append(f"{cpu}, {kernels} kernels")
    rows = [row for m in models for row in m["rows"] if row["part"] == "speed" and row["read_gb_s_roof"]]

    def roof(key):
        values = [row[key] for row in rows]
        return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})" if values else "-"
    threads = "/".join(str(n) for n in sorted({m["threads"] for m in models}))
    dates, commits = sorted({m["date"] for m in models}), sorted({m["commit"] for m in models})
    text = (f"Machine: {'; '.join(parts)}; {threads} threads; {dates[0]}"
            f"{' to ' + dates[-1] if len(dates) > 1 else ''}; commit {', '.join(commits)}. Roofs, median and range "
            f"over the run: reading {roof('read_gb_s_roof')} GB/s, int8 {roof('int8_gop_s_roof')} GOP/s, bf16 "
            f"{roof('bf16_gflop_s_roof')} GFLOP/s, f32 {roof('f32_gflop_s_roof')} GFLOP/s.\n")
    peers = sorted({(row["peer"], row["commit"]) for m in models for row in m["peers"]})
    if peers:
        text += "Peers: " + ", ".join(f"{name} at {commit}" for name, commit in peers) + ".\n"
    return text


def prefill(models):
    rows = []
    for m in models:
        pp = {n: find(m, f"pp{n}") for n in (128, 512, 2048)}
        own = pp[512]
        falls = ratio(of(pp[2048], "tokens_s"), of(own, "tokens_s"))
        rows.append([m["title"], speed(of(pp[128], "tokens_s")), with_range(own), speed(of(pp[2048], "tokens_s")),
                     number(of(pp[128], "own_roof_percent")),
                     f"{number(of(own, 'own_roof_percent'))} {of(own, 'own_roof') or ''}",
                     number(of(own, "products_percent")), number(of(pp[2048], "own_roof_percent")),
                     number(of(own, "attention_percent")), number(of(pp[2048], "attention_percent")),
                     number(None if falls is None else 100 * falls)])
    return table(["model", "pp128 tokens/s", "pp512 (range)", "pp2048", "pp128 % of roof", "pp512 % of roof",
                  "pp512 products %", "pp2048 % of roof", "attention % at 512", "at 2048", "pp2048 / pp512 %"], rows)


def depth_factor(near, far):
    """Time a token at depth over (time at 0 + what the cache's bytes take at the read roof)."""
    if near is None or far is None or not far["read_gb_s_roof"]:
        return None
    more = far["read_bytes"] / far["gen"] - near["read_bytes"] / near["gen"]
    return far["step_ms"] / (near["step_ms"] + more / far["read_gb_s_roof"] / 1e6)


def decoding(models):
    rows = []
    for m in models:
        near, far = decode(m), decode(m, 2048)
        rows.append([m["title"], of(near, "test") or "-", with_range(near), number(of(near, "gb_s"), 1),
                     number(of(near, "read_roof_percent")), number(of(near, "barriers_per_pass")),
                     number(of(near, "wait_us_per_pass")), with_range(far), number(of(far, "read_roof_percent")),
                     number(depth_factor(near, far), 2)])
    return table(["model", "test", "tokens/s (range)", "GB/s", "% of read roof", "barriers", "waiting us", "@ d2048",
                  "% of read roof", "time / expected"], rows, 2) + \
        "\ntime / expected: time a token at depth 2048 over (time at 0 + cache bytes / read roof).\n"


def beside_peers(models):
    names = sorted({row["peer"] for m in models for row in m["peers"]}, reverse=True)
    if not names:
        return ""
    rows = []
    for m in models:
        for row in m["rows"]:
            if row["part"] != "speed" or not any(p["test"] == row["test"] for p in m["peers"]):
                continue
            cells = [m["title"], row["test"], with_range(row)]
            for name in names:
                best = better_mode(m, name, row["test"])
                mode = f" `{best['mode']}`" if best and best["mode"] else ""
                cells += [with_range(best) + mode, number(ratio(row["tokens_s"], of(best, "tokens_s")), 2)]
            counts = {row["samples"]} | {p["samples"] for p in m["peers"] if p["test"] == row["test"]}
            rows.append(cells + ["/".join(str(n) for n in sorted(counts))])
    heads = [head for name in names for head in (f"{name} tokens/s", "ratio")]
    return "\n## Beside peers\n\nThe same files, run in turn with ridge's in every round; of ik_llama.cpp's two " \
           "ways to load\n(`-rtr 0` and `-rtr 1`) the better one counts in each row.\n\n" + \
        table(["model", "test", "ridge tokens/s", *heads, "samples"], rows, 2)


def batches(models):
    counts = (1, 2, 4, 8, 16, 32)
    rows = []
    for m in models:
        steps = {row["batch"]: row for row in m["rows"] if row["part"] == "batch" and row["prompt"] == 0}
        if not steps:
            continue
        cells = [m["title"]]
        for n in counts:
            row = steps.get(n)
            cells.append("-" if row is None else f"{row['step_ms']:.2f} ms, {speed(row['tokens_s'])}/s" +
                         (f", {row['batch_ratio']:.2f}" if row["batch_ratio"] else ""))
        worst = max((row for row in steps.values() if row["batch_ratio"]), key=lambda row: row["batch_ratio"],
                    default=None)
        rows.append(cells + ["-" if worst is None else f"{worst['batch_ratio']:.2f} at {worst['batch']}"])
    return table(["model", *(f"n = {n}" for n in counts), "worst"], rows) + \
        "\nA decode step of n sequences: time, tokens/s of all, and T(n) / max(T(1), n / prefill rate at pp512). A prompt\n" \
        "computes the head for its last token only, a decode step for every sequence: at equal operations a second the\n" \
        "ratio is 1.35 on the 0.6B shape, 1.27 on SmolLM2.\n"


def startup(models):
    rows = [[m["title"], number(m["startup"]["load_ms"]), number(m["startup"]["file_read_ms"]),
             number(ratio(m["startup"]["load_ms"], m["startup"]["file_read_ms"]), 2),
             number(m["startup"].get("first_token_ms"))] for m in models]
    return table(["model", "weights ready, ms", "one warm read of the file, ms", "ratio", "start to first token, ms"],
                 rows) + "\nThe read: every byte by read(2) in one thread. First token: of the whole process, behind a " \
                         "prompt of 32 tokens.\n"


def variants(models):
    """The rows that only some models have: cache types, one thread, AVX2 forced."""
    rows = []
    for m in models:
        for test in ("pp512", "pp2048"):
            wide, narrow = find(m, test, "kv", kv="bf16"), find(m, test, "kv", kv="int8")
            if wide and narrow:
                rows.append([m["title"], f"{test}, int8 cache over bf16", speed(narrow["tokens_s"]),
                             speed(wide["tokens_s"]), number(ratio(narrow["tokens_s"], wide["tokens_s"]), 2)])
        threads = sorted((row for row in m["rows"] if row["part"] == "threads"), key=lambda row: row["threads"])
        if len(threads) > 1:
            one, all_of_them = threads[0], threads[-1]
            rows.append([m["title"], f"{one['test']}, {all_of_them['threads']} threads over {one['threads']}",
                         speed(all_of_them["tokens_s"]), speed(one["tokens_s"]),
                         number(ratio(all_of_them["tokens_s"], one["tokens_s"]), 2)])
    text = table(["model", "what", "tokens/s", "against", "ratio"], rows, 2) if rows else ""
    forced = [[m["title"], speed(row["tokens_s"]), number(row["int8_gop_s_roof"]), number(row["own_roof_percent"]),
               number(row["products_percent"])] for m in models for row in m["rows"] if row["part"] == "avx2"]
    if forced:
        text += "\nAVX2 forced; the roof is a loop of vpmaddubsw, vpmaddwd and vpaddd in the same run. Products of 4-bit codes " \
            "are\nsummed in 16 bits, nine multiplies where that loop has sixteen, so they may pass it.\n\n" + \
            table(["model", "pp512 tokens/s", "AVX2 int8 roof GOP/s", "% of it", "products %"], forced)
    return text


def steps_of(title, row):
    cells = []
    for step in row["steps"]:
        percent = step["roof_percent"]
        cells.append([step["kind"], step["name"] or "-", step["layers"] or "-", number(step["ms"], 2),
                      number(step["share_percent"], 1), number(step["gb_s"], 1), number(step["gop_s"]),
                      "> 100" if percent and percent > 100 else number(percent, 1), f"`{step['kernel']}`"])
    return f"\n### {title}, {row['test']}\n\n" + table(
        ["step", "of", "layers", "ms", "share %", "GB/s", "GOP/s", "% of its roof", "kernel"], cells, 3)


def steps(models):
    text = ""
    for m in models:
        for row in (find(m, "pp512"), find(m, "pp2048"), decode(m), decode(m, 2048)):
            if row and row.get("steps"):
                text += steps_of(m["title"], row)
    return text


def markdown(results, pictures=()):
    """The whole document; `pictures`: (title, file) pairs."""
    models = list(results["models"].values())
    text = HEAD + "\n" + machine(models) + "\n" + RULES + "\n## Prefill\n\n" + prefill(models) + "\n## Decode\n\n" + \
        decoding(models) + beside_peers(models) + "\n## Batches\n\n" + batches(models) + "\n## Start\n\n" + \
        startup(models)
    other = variants(models)
    if other:
        text += "\n## Cache types, threads, AVX2\n\n" + other
    if pictures:
        text += "\n## Rooflines\n\nEach step by what it computes a byte and how fast; lines are the roofs " \
                "measured in the same rows.\n"
        text += "".join(f"\n![{title}]({file})\n" for title, file in pictures)
    return text + "\n## Slowest steps\n\nOf one repetition; a step ends when its last thread does. Above 100: its " \
                  "bytes came from a cache.\n" + steps(models)
