"""Random-weight models, defined once for this folder and for the C++ generator (tools/make_model.cpp).

Element i (flat index in GGUF memory order: input dimension fastest) of a tensor is a function of the
model's seed, the tensor's GGUF name and i alone, so the weights never have to be stored:

    z = seed + fnv1a64(name) + (i + 1) * 0x9E3779B97F4A7C15        all arithmetic mod 2^64
    z = splitmix64 finaliser of z
    u = (z >> 40) * 2^-23 - 1                                      exact in f32, in [-1, 1)

    1-D norms: 1 + 0.25 u    biases: 0.1 u    token_embd: 0.5 u    other matrices: f32(sqrt(3 / K)) u

`tensors(config)` lists names and shapes; `weight(config, name, shape)` makes one as float32.
"""

import json
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "data" / "goldens"
DEQUANT = ROOT / "tests" / "data" / "dequant"
GGUF = ROOT / "tests" / "data" / "gguf"

MASK = (1 << 64) - 1


def fnv1a64(data):
    """FNV-1a hash of bytes (or of a string's UTF-8), 64 bit."""
    h = 0xCBF29CE484222325
    for byte in data.encode() if isinstance(data, str) else bytes(data):
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def random_u64(seed, name, count):
    """`count` 64-bit words: the splitmix64 stream that starts at seed + fnv1a64(name)."""
    start = np.uint64((seed + fnv1a64(name)) & MASK)
    with np.errstate(over="ignore"):
        z = start + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z


def random_unit(seed, name, count):
    """`count` float32 values in [-1, 1), multiples of 2^-23."""
    return (random_u64(seed, name, count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def tensors(config):
    """GGUF name -> shape in numpy order (output rows first), in the order a file holds them."""
    architecture = config["architecture"]
    gemma, fused = is_gemma(config), architecture == "phi3"
    hidden, ffn, head = config["embedding_length"], config["feed_forward_length"], config["key_length"]
    q, kv = config["head_count"] * head, config["head_count_kv"] * head
    out = {"token_embd.weight": (config["vocab_size"], hidden)}
    for n in range(config["block_count"]):
        blk = f"blk.{n}."
        out[blk + "attn_norm.weight"] = (hidden,)
        if fused:
            out[blk + "attn_qkv.weight"] = (q + 2 * kv, hidden)
        else:
            out[blk + "attn_q.weight"] = (q, hidden)
            out[blk + "attn_k.weight"] = (kv, hidden)
            out[blk + "attn_v.weight"] = (kv, hidden)
        out[blk + "attn_output.weight"] = (hidden, q)
        if config["attention_bias"] or architecture == "qwen2":
            out[blk + "attn_q.bias"] = (q,)
            out[blk + "attn_k.bias"] = (kv,)
            out[blk + "attn_v.bias"] = (kv,)
        if config["attention_bias"]:
            out[blk + "attn_output.bias"] = (hidden,)
        if architecture in ("gemma3", "qwen3"):
            out[blk + "attn_q_norm.weight"] = (head,)
            out[blk + "attn_k_norm.weight"] = (head,)
        if gemma:
            out[blk + "post_attention_norm.weight"] = (hidden,)
            out[blk + "post_ffw_norm.weight"] = (hidden,)
        out[blk + "ffn_norm.weight"] = (hidden,)
        if not fused:
            out[blk + "ffn_gate.weight"] = (ffn, hidden)
        out[blk + "ffn_up.weight"] = (2 * ffn if fused else ffn, hidden)
        out[blk + "ffn_down.weight"] = (hidden, ffn)
    out["output_norm.weight"] = (hidden,)
    if not config["tied"]:
        out["output.weight"] = (config["vocab_size"], hidden)
    return out


def weight(config, name, shape):
    """The tensor's values, float32, in numpy order."""
    u = random_unit(config["seed"], name, int(np.prod(shape)))
    if len(shape) == 1:
        if name.endswith("norm.weight"):
            u = np.float32(1) + np.float32(0.25) * u
        else:
            u = np.float32(0.1) * u
    elif name == "token_embd.weight":
        u = np.float32(0.5) * u
    else:
        u = np.float32(np.sqrt(np.float64(3.0) / shape[-1])) * u
    assert u.dtype == np.float32
    return u.reshape(shape)


def weights(config):
    return {name: weight(config, name, shape) for name, shape in tensors(config).items()}


def is_global_layer(config, layer):
    """True where attention sees every earlier position: always, except behind a window."""
    if config["sliding_window"] == 0:
        return True
    return is_gemma(config) and (layer + 1) % config["sliding_window_pattern"] == 0


def is_gemma(config):
    return config["architecture"] in ("gemma2", "gemma3")


def llama3_divisors(config):
    """rope_freqs as llama.cpp's converter computes it from a configuration of rope_type llama3: float32."""
    p = config["llama3"]
    original, low, high = p["original_max_position_embeddings"], p["low_freq_factor"], p["high_freq_factor"]
    out = []
    for i in range(0, config["key_length"], 2):
        wave = 2 * np.pi * config["rope_freq_base"] ** (i / config["key_length"])
        if wave < original / high:
            out.append(1.0)
        elif wave > original / low:
            out.append(p["factor"])
        else:
            smooth = (original / wave - low) / (high - low)
            out.append(1 / ((1 - smooth) / p["factor"] + smooth))
    assert len({1.0, p["factor"]} & set(out)) == 2 and len(set(out)) > 2, "a band without a pair"
    return [float(np.float32(v)) for v in out]


def longrope_magnitude(config):
    """What cosines and sines are multiplied by: rope.scaling.attn_factor, as the converter computes it."""
    original = config["rope_original_context"]
    growth = config["context_length"] / original
    return float(np.float32(np.sqrt(1 + np.log(growth) / np.log(original))))


def load_configs(names=()):
    """The configs of tests/data/goldens, by name, or only those asked for."""
    paths = [GOLDENS / f"{n}.json" for n in names] if names else sorted(GOLDENS.glob("*.json"))
    return [json.loads(p.read_text()) for p in paths]
