"""Writes tests/data/quantize/plans.json: which type llama.cpp's llama-quantize gives each tensor.

    python3 tools/golden/quant_plan_reference.py build/release/make_model LLAMA_QUANTIZE

The models are random ones of the shapes below (make_model writes them); llama-quantize is run with
--dry-run on each for each target, with and without an importance matrix of ones. For each run the
types that differ from the most frequent one are listed by tensor. At development time only.
"""

import collections
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = {
    "tied": dict(arch="llama", layers=16, hidden=256, ffn=256, heads=4, kv_heads=4, head_dim=64, vocab=260),
    "untied-gqa4": dict(arch="llama", layers=11, hidden=256, ffn=320, heads=8, kv_heads=2, head_dim=32, vocab=260, untied=True),
    "hidden96": dict(arch="llama", layers=30, hidden=96, ffn=256, heads=3, kv_heads=1, head_dim=32, vocab=260),
    "gemma": dict(arch="gemma3", layers=18, hidden=64, ffn=256, heads=4, kv_heads=1, head_dim=64, vocab=260, window=64),
    "seventy-billion": dict(arch="llama", layers=80, hidden=32, ffn=32, heads=4, kv_heads=1, head_dim=8, vocab=260, untied=True),
}
TARGETS = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ4_NL"]
OUT = Path(__file__).resolve().parents[2] / "tests" / "data" / "quantize" / "plans.json"
LINE = re.compile(r"\[\s*\d+/\s*\d+\]\s+(\S+)\s+- \[([\d, ]+)\], type =\s*(\S+), size =.*?(?:\((\w+)\))?$")


def importance(path, names):
    """llama.cpp's older binary form: ones for every matrix."""
    with open(path, "wb") as f:
        f.write(struct.pack("<i", len(names)))
        for name, columns in names:
            f.write(struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", 1, columns))
            f.write(struct.pack(f"<{columns}f", *([1.0] * columns)))


def run(quantize, model, target, matrix):
    options = ["--imatrix", matrix] if matrix else []
    out = subprocess.run([quantize, "--dry-run", *options, model, target], capture_output=True, text=True, check=True)
    types = {}
    for line in (out.stdout + out.stderr).splitlines():
        if found := LINE.search(line):
            types[found[1]] = ((found[4] or found[3]).upper(), int(found[2].split(",")[0]))
    return types


def main():
    make_model, quantize = sys.argv[1:3]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for case, shape in CASES.items():
            model, matrix = f"{folder}/m.gguf", f"{folder}/m.imatrix"
            arguments = []
            for key, value in shape.items():
                arguments += [f"--{key.replace('_', '-')}"] + ([] if value is True else [str(value)])
            subprocess.run([make_model, *arguments, "--type", "BF16", "-o", model], check=True, stdout=subprocess.DEVNULL)
            importance(matrix, [(n, k) for n, (_, k) in run(quantize, model, "Q8_0", None).items() if "norm" not in n])
            for target in TARGETS:
                for weighted in (False, True):
                    types = {n: t for n, (t, _) in run(quantize, model, target, matrix if weighted else None).items()}
                    assert len(types) >= shape["layers"] * 9, (case, target, len(types))
                    usual = collections.Counter(t for n, t in types.items() if t != "F32").most_common(1)[0][0]
                    out.append({"shape": case, "target": target, "importance": weighted, "tensors": len(types), "usual": usual,
                                "others": {n: t for n, t in sorted(types.items()) if t not in (usual, "F32")}})
    lines = ",\n".join(json.dumps(x) for x in out)
    OUT.write_text(json.dumps({"shapes": CASES}, indent=1)[:-2] + ',\n "plans": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
