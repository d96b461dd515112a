"""Figures of a board's claims that follow from arithmetic alone, no simulator: what a table or a
rounding can do at best, and the constants of the board's header and board file."""

import decimal
import math
import random
import re
import struct
import tomllib


def soc_constants(path):
    """Numeric #defines of soc.h by name, those that are one number."""
    values = {}
    with open(path, encoding="ascii") as file:
        for match in re.finditer(r"^#define (\w+) \(?(-?0x[0-9a-f]+|-?\d+)u?\)?\s", file.read(), re.M):
            values[match.group(1)] = int(match.group(2), 0)
    return values


# The report's table of regions: name in soc.h, KB, banks. Bank 0's 64 KB are ridge's weight ring,
# constants of the layer and residual together.
REGIONS = [("SOC_WEIGHTS", 64, {0}), ("SOC_ROPE", 4, {1}), ("SOC_Q_BUFFER", 8, {2}),
           ("SOC_KT_BUFFER", 8, {3}), ("SOC_OUTPUT_CACHE", 16, {4}), ("SOC_SOFTMAX", 4, {5}),
           ("SOC_KV_RING", 128, {6, 7})]


def regions_as_stated(path, soc):
    """How many regions of soc.h have the size and the bank that the report lists."""
    with open(path, encoding="ascii") as file:
        banks = [(int(a, 16), int(b, 16), int(c)) for a, b, c in
                 re.findall(r"X\((0x[0-9a-f]+)u, (0x[0-9a-f]+)u, (\d)u\)", file.read())]
    begins = sorted(soc[n] for n in soc if re.fullmatch(
        "SOC_(Q_BUFFER|KT_BUFFER|ROPE|SOFTMAX|FFN_TILES|OUTPUT_CACHE|WEIGHTS|KV_RING)", n))
    begins.append(soc["SOC_SRAM_BASE"] + soc["SOC_SRAM_BYTES"])
    count = 0
    for name, kib, wanted in REGIONS:
        begin = soc[name]
        end = begins[begins.index(begin) + 1]
        found = {bank for base, size, bank in banks if base < end and base + size > begin}
        count += end - begin == kib * 1024 and found == wanted
    return count


def board_values(path):
    """board.toml's values as nested numbers."""
    with open(path, "rb") as file:
        document = tomllib.load(file)
    return {table: {key: entry["value"] for key, entry in entries.items()}
            for table, entries in document.items()
            if isinstance(entries, dict) and table != "profile"}


def assumed_costs(path):
    """Dotted names of the numbers that board.toml marks as assumptions."""
    with open(path, "rb") as file:
        document = tomllib.load(file)
    return [f"{table}.{key}" for table, entries in document.items()
            if isinstance(entries, dict) and table != "profile"
            for key, entry in entries.items() if entry.get("basis") == "assumption"]


def best_line(begin, end):
    """The straight line with the least largest error to e^x on [begin, end] (Chebyshev: e^x is
    convex, so its slope is the chord's and its middle lies halfway to the parallel tangent)."""
    slope = (math.exp(end) - math.exp(begin)) / (end - begin)
    touch = math.log(slope)
    chord = math.exp(begin) - slope * begin
    return slope, (chord + slope - slope * touch) / 2


def exponential():
    """e^x by 16 straight segments on [-8, 8] (the report), and by 16 an octave (the firmware)."""
    generator = random.Random(395)
    wide = [best_line(-8 + i, -7 + i) for i in range(16)]
    octave = [best_line(i / 16 * math.log(2), (i + 1) / 16 * math.log(2)) for i in range(16)]
    errors, narrow, relative = [], [], []
    for _ in range(100000):
        x = generator.uniform(-8, 8)
        a, b = wide[min(15, int(x + 8))]
        errors.append(abs(a * x + b - math.exp(x)))
        relative.append(errors[-1] / math.exp(x))
        y = generator.uniform(-16, 0)
        whole = math.floor(y / math.log(2))
        rest = y - whole * math.log(2)
        a, b = octave[min(15, int(rest / math.log(2) * 16))]
        narrow.append(abs((a * rest + b) * 2.0 ** whole - math.exp(y)))
    return {"wide_share": 100 * sum(e < 0.01 for e in errors) / len(errors),
            "wide_max": max(errors), "wide_relative_max": max(relative),
            "octave_max": max(narrow)}


def rope():
    """Largest errors of cosine by the report's tables."""
    table = [round(math.cos(2 * math.pi * i / 128) * 16384) / 16384 for i in range(129)]
    lut = q12_4 = 0.0
    for i in range(100000):
        t = i / 100000 * 128
        k, f = int(t), t - int(t)
        true = math.cos(2 * math.pi * t / 128)
        lut = max(lut, abs(table[k] * (1 - f) + table[k + 1] * f - true))
        q12_4 = max(q12_4, abs(round(true * 16) / 16 - true))
    return {"lut_error": lut, "q12_4_error": q12_4, "double_differs": rope_double_differs()}


def rope_double_differs(positions=4096, pairs=8):
    """Entries of a Q1.14 table (cosine and sine, heads of 2 * pairs) that double precision rounds to
    another number than 110 digits do. There each position is the one before, turned by theta."""
    with decimal.localcontext() as context:
        context.prec = 110
        differ = 0
        for pair in range(pairs):
            theta = decimal.Decimal(10000) ** (decimal.Decimal(-pair) / pairs)
            step_cos, step_sin, term = decimal.Decimal(0), decimal.Decimal(0), decimal.Decimal(1)
            for n in range(100):  # theta <= 1: the terms fall as 1 / n!
                if n % 2 == 0:
                    step_cos += -term if n % 4 == 2 else term
                else:
                    step_sin += -term if n % 4 == 3 else term
                term *= theta / (n + 1)
            cos, sin = decimal.Decimal(1), decimal.Decimal(0)
            for position in range(positions):
                angle = position * 10000.0 ** (-pair / pairs)
                differ += round(cos * 16384) != round(math.cos(angle) * 16384)
                differ += round(sin * 16384) != round(math.sin(angle) * 16384)
                cos, sin = cos * step_cos - sin * step_sin, sin * step_cos + cos * step_sin
    return differ


def quantization(checkpoint):
    """Relative RMS error, in percent, of stories260K's matrices in 12 bits: the worst matrix, with
    one scale a matrix and one a row. `checkpoint` is llama2.c's file (7 int32, then float32)."""
    with open(checkpoint, "rb") as file:
        data = file.read()
    dim, hidden, layers, heads, kv_heads, vocab, _ = struct.unpack("<7i", data[:28])
    values = struct.unpack(f"<{(len(data) - 28) // 4}f", data[28:])
    kv = dim // heads * kv_heads
    shapes = [(1, vocab, dim), (layers, 1, dim), (layers, dim, dim), (layers, kv, dim),
              (layers, kv, dim), (layers, dim, dim), (layers, 1, dim), (layers, hidden, dim),
              (layers, dim, hidden), (layers, hidden, dim)]
    at, worst = 0, [0.0, 0.0]
    for count, rows, columns in shapes:
        for _ in range(count):
            matrix = [values[at + r * columns:at + (r + 1) * columns] for r in range(rows)]
            at += rows * columns
            if rows == 1:
                continue  # norms are not 12 bits wide
            power = sum(w * w for row in matrix for w in row)
            largest = max(abs(w) for row in matrix for w in row)
            for kind in (0, 1):
                error = 0.0
                for row in matrix:
                    scale = 2047 / (largest if kind == 0 else max(abs(w) for w in row))
                    error += sum((round(w * scale) / scale - w) ** 2 for w in row)
                worst[kind] = max(worst[kind], 100 * math.sqrt(error / power))
    return {"per_tensor_worst": worst[0], "per_row_worst": worst[1]}
