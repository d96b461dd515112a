"""Writes tests/data/gguf: small GGUF files, and what a reader must find in them as JSON.

    all_types.gguf      v3 by PyPI gguf's GGUFWriter: every metadata type, arrays of each, alignment 64
    all_types_v2.gguf   the same bytes with version 2 in the header (v2 and v3 share one layout)
    nested_array.gguf   v3, an array of arrays, which the format allows
    x-0000N-of-00002.gguf   one model in two files, packed here by hand; the second has tensors only
    split.json          what the two hold together

    /opt/ridge-venv/bin/python tools/golden/make_gguf.py        (numpy and gguf)
"""

import json
import struct

import gguf
import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import quantize

from spec import GGUF, fnv1a64, random_unit

SCALARS = [  # type name, value, array values; floats are exact in their type
    ("uint8", 250, [0, 1, 255]),
    ("int8", -100, [-128, 0, 127]),
    ("uint16", 60000, [0, 258, 65535]),
    ("int16", -30000, [-32768, -2, 32767]),
    ("uint32", 4000000000, [0, 16909060, 4294967295]),
    ("int32", -2000000000, [-2147483648, -1, 2147483647]),
    ("float32", -0.15625, [0.0, 1.5, -3.4028234663852886e38, 1.401298464324817e-45]),
    ("uint64", 18446744073709551615, [0, 72623859790382856, 18446744073709551615]),
    ("int64", -9223372036854775808, [-9223372036854775808, -1, 9223372036854775807]),
    ("float64", 0.1, [0.1, -1.7976931348623157e308, 5e-324]),
    ("bool", True, [True, False, False, True, True]),
    ("string", "caf\u00e9 \u6f22\u5b57 \U0001f600", ["", "a", "two words\n", "nul \u0000 inside", "\u00e9" * 100]),
]


def kind(name):
    return GGUFValueType[name.upper()]


def tensors():
    """name -> (numpy shape, type, file bytes): a matrix, a vector and a quantized matrix of odd sizes."""
    matrix = random_unit(1, "matrix", 5 * 7).reshape(5, 7)
    vector = random_unit(1, "vector", 3).astype(np.float16)
    blocks = random_unit(1, "blocks", 3 * 2 * 96).reshape(3, 2, 96)
    q8 = gguf.GGMLQuantizationType.Q8_0
    return {
        "matrix.weight": (matrix.shape, gguf.GGMLQuantizationType.F32, matrix),
        "vector.weight": (vector.shape, gguf.GGMLQuantizationType.F16, vector),
        "blocks.weight": (blocks.shape, q8, quantize(blocks, q8)),
    }


def pad(size, alignment):
    return -size % alignment


def expected_tensors(items, alignment):
    """Type, dimensions (input first), offset in the data section, size and FNV-1a hash of the bytes."""
    out, offset = [], 0
    for name, (shape, dtype, data) in items:
        raw = data.tobytes()
        out.append({"name": name, "type": dtype.name, "dimensions": list(shape[::-1]), "offset": offset,
                    "bytes": len(raw), "fnv1a64": f"{fnv1a64(raw):016x}"})
        if dtype == gguf.GGMLQuantizationType.F32:
            out[-1]["values"] = [float(v) for v in data.reshape(-1)]
        offset += len(raw) + pad(len(raw), alignment)
    return out


def write_json(name, value):
    (GGUF / name).write_text(json.dumps(value, indent=1) + "\n")


def write_all_types():
    path, alignment = GGUF / "all_types.gguf", 64
    writer = GGUFWriter(path, "llama")  # adds general.architecture
    writer.add_custom_alignment(alignment)
    metadata = [{"key": "general.architecture", "type": "string", "value": "llama"},
                {"key": "general.alignment", "type": "uint32", "value": alignment}]
    for name, value, values in SCALARS:
        writer.add_key_value(f"test.{name}", value, kind(name))
        writer.add_key_value(f"test.array.{name}", values, GGUFValueType.ARRAY, sub_type=kind(name))
        metadata.append({"key": f"test.{name}", "type": name, "value": value})
        metadata.append({"key": f"test.array.{name}", "type": "array", "element": name, "value": values})
    writer.add_key_value("test.empty", "", GGUFValueType.STRING)
    metadata.append({"key": "test.empty", "type": "string", "value": ""})
    items = tensors()
    for name, (_, dtype, data) in items.items():
        writer.add_tensor(name, data, raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    read = GGUFReader(path)
    assert len(read.fields) - 3 == len(metadata) and read.alignment == alignment  # 3: header fields
    for field in metadata:
        assert read.fields[field["key"]].contents() == field["value"], field
    write_json("all_types.json", {"version": 3, "alignment": alignment, "data_offset": int(read.data_offset),
                                  "file_bytes": path.stat().st_size, "metadata": metadata,
                                  "tensors": expected_tensors(items.items(), alignment)})
    v2 = bytearray(path.read_bytes())
    assert struct.unpack_from("<4sI", v2) == (b"GGUF", 3)
    struct.pack_into("<I", v2, 4, 2)
    (GGUF / "all_types_v2.gguf").write_bytes(v2)


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def entry(key, type_name, v):
    """One key-value pair: key, type, value."""
    form = {"uint8": "B", "uint16": "H", "int32": "i", "uint32": "I"}
    raw = string(v) if type_name == "string" else struct.pack("<" + form[type_name], v)
    return string(key) + struct.pack("<I", kind(type_name)) + raw


def nested_entry(key, arrays):
    """A key whose value is an array of uint8 arrays."""
    out = string(key) + struct.pack("<IIQ", GGUFValueType.ARRAY, GGUFValueType.ARRAY, len(arrays))
    for inner in arrays:
        out += struct.pack("<IQ", GGUFValueType.UINT8, len(inner)) + bytes(inner)
    return out


def pack(entries, items, alignment=32):
    """A whole v3 file by hand: header, key-values, tensor infos, padding, padded tensor data."""
    out = struct.pack("<4sIQQ", b"GGUF", 3, len(items), len(entries)) + b"".join(entries)
    data = b""
    for name, (shape, dtype, array) in items:
        out += string(name) + struct.pack("<I", len(shape))
        out += struct.pack(f"<{len(shape)}QIQ", *shape[::-1], dtype, len(data))
        raw = array.tobytes()
        data += raw + bytes(pad(len(raw), alignment))
    return out + bytes(pad(len(out), alignment)) + data


def write_split():
    items = list(tensors().items())
    parts = [items[:1], items[1:]]
    head = [("general.architecture", "string", "llama"), ("general.name", "string", "in two files")]
    expected = {"metadata": [{"key": k, "type": t, "value": v} for k, t, v in head], "files": []}
    for n, part in enumerate(parts):
        split = [("split.no", "uint16", n), ("split.count", "uint16", len(parts)),
                 ("split.tensors.count", "int32", len(items))]
        path = GGUF / f"x-{n + 1:05}-of-{len(parts):05}.gguf"
        path.write_bytes(pack([entry(*e) for e in (head if n == 0 else []) + split], part))
        read = GGUFReader(path)  # a second opinion on what was packed by hand
        assert [t.name for t in read.tensors] == [name for name, _ in part]
        assert all(t.data.tobytes() == part[i][1][2].tobytes() for i, t in enumerate(read.tensors))
        assert read.fields["split.no"].contents() == n
        expected["files"].append({"file": path.name, "data_offset": int(read.data_offset),
                                  "file_bytes": path.stat().st_size, "tensors": expected_tensors(part, 32)})
    write_json("split.json", expected)


def write_nested():
    """test.nested = [[1, 2, 3], [], [255]], then test.after = 7, which a reader must still find."""
    entries = [entry("general.architecture", "string", "llama"),
               nested_entry("test.nested", [[1, 2, 3], [], [255]]), entry("test.after", "uint32", 7)]
    (GGUF / "nested_array.gguf").write_bytes(pack(entries, []))


def main():
    write_all_types()
    write_split()
    write_nested()
    for path in sorted(GGUF.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
