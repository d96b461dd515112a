"""Writes GGUF v3 files: metadata, tensors in F32 or Q8_0, 32-byte alignment.

Follows the published format description: little-endian; a header, key-value
pairs, tensor records, padding, then each tensor padded to the alignment.
"""

import struct

import numpy

U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
TYPE_F32, TYPE_Q8_0 = 0, 8
ALIGNMENT = 32
BLOCK = 32


def text(value):
    raw = value.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], value)


def pair(key, kind, value):
    """One metadata entry; kind (ARRAY, element kind) for a list."""
    if isinstance(kind, tuple):
        body = struct.pack("<IIQ", ARRAY, kind[1], len(value)) + b"".join(scalar(kind[1], v) for v in value)
    else:
        body = struct.pack("<I", kind) + scalar(kind, value)
    return text(key) + body


def quantize_q8_0(array):
    """Blocks of 32 values of a row as (f16 scale, 32 int8): 34 bytes each.

    The scale is the largest magnitude / 127; halves round away from zero.
    """
    blocks = array.reshape(-1, BLOCK).astype(numpy.float32)
    scale = numpy.abs(blocks).max(1, keepdims=True) / numpy.float32(127)
    inverse = numpy.divide(1, scale, out=numpy.zeros_like(scale), where=scale > 0)
    scaled = blocks * inverse
    values = numpy.trunc(scaled + numpy.copysign(numpy.float32(0.5), scaled)).astype(numpy.int8)
    return numpy.concatenate([scale.astype("<f2").view(numpy.int8), values], 1)


def dequantize_q8_0(blocks, shape):
    """The values an engine reads back from quantize_q8_0's blocks."""
    scale = blocks[:, :2].copy().view("<f2").astype(numpy.float32)
    return (blocks[:, 2:].astype(numpy.float32) * scale).reshape(shape)


def as_stored(tensors, quantized):
    """Name -> (type, bytes, values an engine computes with)."""
    stored = {}
    for name, array in tensors.items():
        if quantized and array.ndim == 2:
            blocks = quantize_q8_0(array)
            stored[name] = (TYPE_Q8_0, blocks.tobytes(), dequantize_q8_0(blocks, array.shape))
        else:
            stored[name] = (TYPE_F32, array.astype("<f4").tobytes(), array)
    return stored


def write(path, metadata, stored):
    """Writes a file; metadata is a list of (key, kind, value)."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(stored), len(metadata))
    head += b"".join(pair(*entry) for entry in metadata)
    offset = 0
    for name, (kind, raw, array) in stored.items():
        sizes = array.shape[::-1]  # GGUF names the fastest dimension first
        head += text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
        head += struct.pack("<IQ", kind, offset)
        offset += len(raw) + -len(raw) % ALIGNMENT
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGNMENT))
        for _, raw, _ in stored.values():
            file.write(raw + b"\0" * (-len(raw) % ALIGNMENT))
