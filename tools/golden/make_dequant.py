"""Writes tests/data/dequant/<TYPE>.blocks and <TYPE>.f32: block bytes and what PyPI gguf makes of them.

Quants, sub-block scales and minimums are random bytes. The f16 scales of each block are set: one half walks
through special values (both zeros, denormals, the extremes), the other is random over f16's whole range of
exponents, either sign; no infinity, no NaN. MXFP4's E8M0 scale stays at or below 252, above which 12 x scale
overflows f32. F32, F16 and BF16 hold special values, infinities included, and random finite ones; NaNs are left
out, since conversions may change their payload.

    /opt/ridge-venv/bin/python tools/golden/make_dequant.py        (numpy and gguf)
"""

import gguf
import numpy as np
from gguf.quants import dequantize

from spec import DEQUANT, random_u64

SEED = 16
F16_SPECIAL = np.array([
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x2E66, 0xAE66,
], np.uint16)
BF16_SPECIAL = np.array([
    0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x8080, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80,
], np.uint16)
F32_SPECIAL = np.array([
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF,
    0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x3F800001, 0x477FF000,
], np.uint32)

# type -> byte offsets in a block of its f16 fields (scale; minimum or its scale)
F16_FIELDS = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0],
}


def random_words(name, count, dtype):
    return random_u64(SEED, name, count).astype(dtype)  # the low bits


def finite(words, exponent):
    """The words with a bit of the exponent cleared where all of its bits are set."""
    low = exponent & -exponent
    return np.where((words & exponent) == exponent, words & ~words.dtype.type(low), words)


def f16_fields(name, count):
    """count f16 bit patterns; special and random ones take turns."""
    out = finite(random_words(name, count, np.uint16), 0x7C00)
    turn = np.arange(0, count, 2)
    out[turn] = F16_SPECIAL[(turn // 2) % len(F16_SPECIAL)]
    return out


def blocks(name):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    if name == "F32":
        return np.concatenate([F32_SPECIAL, finite(random_words(name, 500, np.uint32), 0x7F800000)]).view(np.uint8)
    if name == "F16":
        return np.concatenate([F16_SPECIAL, np.array([0x7C00, 0xFC00], np.uint16),
                               finite(random_words(name, 1000, np.uint16), 0x7C00)]).view(np.uint8)
    if name == "BF16":
        return np.concatenate([BF16_SPECIAL, finite(random_words(name, 1000, np.uint16), 0x7F80)]).view(np.uint8)
    count = 56 if elements == 32 else 28
    out = random_words(name, count * size, np.uint8).reshape(count, size)
    for field, offset in enumerate(F16_FIELDS.get(name, [])):
        # rolled, so that a special scale meets a random minimum and the other way round
        values = np.roll(f16_fields(f"{name}.{field}", count), field)
        out[:, offset:offset + 2] = values.view(np.uint8).reshape(count, 2)
    if name == "MXFP4":
        scales = random_words("MXFP4.scale", count, np.uint8)
        scales[:10] = [0, 1, 2, 3, 126, 127, 128, 129, 251, 252]
        out[:, 0] = np.minimum(scales, 252)
    return out.reshape(-1)


def main():
    total = 0
    for name in ["F32", "F16", "BF16", *F16_FIELDS, "MXFP4"]:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        data = blocks(name)
        values = dequantize(data, kind)
        assert values.dtype == np.float32 and not np.isnan(values).any()
        assert values.size == data.size // size * elements
        assert name in ("F32", "F16", "BF16") or np.isfinite(values).all()
        data.tofile(DEQUANT / f"{name}.blocks")
        values.astype("<f4").tofile(DEQUANT / f"{name}.f32")
        total += data.nbytes + values.nbytes
        print(f"{name}: {data.size // size} blocks, {values.size} values, "
              f"{np.abs(values[np.isfinite(values)]).max():.4g} at most, {len(np.unique(values))} distinct")
    print(f"{total} bytes")


if __name__ == "__main__":
    main()
