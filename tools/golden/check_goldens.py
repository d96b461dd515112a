"""Checks tests/data/goldens/*.f32 against a forward pass written here, in numpy, without transformers.

It reads the weights as a GGUF file would hold them: llama rotates the interleaved pairs (2j, 2j+1), the others
the halves (j, j + n/2) of the first n elements; Gemma's norms multiply by the stored value (1 + w); phi3's
attn_qkv and ffn_up hold several matrices; a local layer's key is visible when 0 <= q - k < window.
It computes in float64, so the difference it prints is float32's rounding
noise in the goldens: what of the tests' bound (1e-4 x max |logit|) is used up before ridge adds its own.

    nice -n 15 python3 tools/golden/check_goldens.py [NAME...]        (numpy only)
"""

import sys

import numpy as np

from spec import GOLDENS, is_gemma, is_global_layer, load_configs, weights

BOUND = 1e-4


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def divisors(config):
    """What each pair's own frequency is divided by, from a file's keys and tensors."""
    n = config.get("rope_dimension_count", config["key_length"]) // 2
    if "rope_freqs" in config:
        return np.array(config["rope_freqs"])
    if "rope_factors_long" in config:
        far = len(config["tokens"]) > config["rope_original_context"]
        return np.array(config["rope_factors_long" if far else "rope_factors_short"])
    scale = config.get("rope_scaling_factor", 1.0)
    if config.get("rope_scaling") != "yarn":
        return np.full(n, scale)
    turns = config["rope_original_context"] * config["rope_freq_base"] ** (-np.arange(n) / n) / (2 * np.pi)

    def pair(wanted):  # where a wave makes so many turns, between pairs: linear in the logarithm
        slope = np.log(config["rope_freq_base"]) / n
        return (np.log(turns[0]) - np.log(wanted)) / slope

    low = max(np.floor(pair(config.get("yarn_beta_fast", 32.0))), 0)
    high = min(np.ceil(pair(config.get("yarn_beta_slow", 1.0))), 2 * n - 1)
    interpolated = np.clip((np.arange(n) - low) / max(high - low, 0.001), 0, 1)
    return 1 / (interpolated / scale + 1 - interpolated)


def magnitude(config):
    if config.get("rope_scaling") == "yarn":
        return config.get("yarn_attn_factor", 0.1 * np.log(config["rope_scaling_factor"]) + 1)
    return config.get("rope_attn_factor", 1.0)


def rope(x, base, interleaved, divide=1.0, grow=1.0, rotated=None):
    """x: [tokens][heads][head_dim]; the token's index is its position."""
    n = rotated or x.shape[-1]
    half = n // 2
    angle = np.arange(x.shape[0])[:, None, None] * (base ** (-np.arange(half) / half) / divide)
    cos, sin = grow * np.cos(angle), grow * np.sin(angle)
    first, second = (x[..., 0:n:2], x[..., 1:n:2]) if interleaved else (x[..., :half], x[..., half:n])
    out = x.copy()
    a, b = (out[..., 0:n:2], out[..., 1:n:2]) if interleaved else (out[..., :half], out[..., half:n])
    a[...], b[...] = first * cos - second * sin, first * sin + second * cos
    return out


def softcap(x, cap):
    return cap * np.tanh(x / cap) if cap else x


def attention(q, k, v, window, cap=None):
    """Causal; q: [tokens][heads][dim], k and v: [tokens][kv heads][dim]. window 0 sees everything."""
    n, heads, dim = q.shape
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    visible = (distance >= 0) & ((window == 0) | (distance < window))
    out = np.empty_like(q)
    for h in range(heads):
        g = h // (heads // k.shape[1])
        score = np.where(visible, softcap(q[:, h] @ k[:, g].T / np.sqrt(dim), cap), -np.inf)
        p = np.exp(score - score.max(-1, keepdims=True))
        out[:, h] = p / p.sum(-1, keepdims=True) @ v[:, g]
    return out.reshape(n, -1)


def unfused(w, config):
    """phi3's tensors taken apart under the names that the others have."""
    q, kv = (config[key] * config["key_length"] for key in ("head_count", "head_count_kv"))
    for layer in range(config["block_count"]):
        blk = f"blk.{layer}."
        rows = w.pop(blk + "attn_qkv.weight")
        for part, value in zip("qkv", np.split(rows, [q, q + kv])):
            w[f"{blk}attn_{part}.weight"] = value
        w[blk + "ffn_gate.weight"], w[blk + "ffn_up.weight"] = np.split(w[blk + "ffn_up.weight"], 2)
    return w


def forward(config):
    w = {name: value.astype(np.float64) for name, value in weights(config).items()}
    architecture, gemma = config["architecture"], is_gemma(config)
    if architecture == "phi3":
        w = unfused(w, config)
    eps, n = config["rms_epsilon"], len(config["tokens"])
    x = w["token_embd.weight"][config["tokens"]]
    if gemma:
        x = x * np.sqrt(config["embedding_length"])
    for layer in range(config["block_count"]):
        def get(part):
            return w[f"blk.{layer}.{part}"]

        def heads(y, part, count):
            y = y @ get(f"attn_{part}.weight").T + w.get(f"blk.{layer}.attn_{part}.bias", 0)
            return y.reshape(n, count, config["key_length"])

        y = rms_norm(x, get("attn_norm.weight"), eps)
        q = heads(y, "q", config["head_count"])
        k = heads(y, "k", config["head_count_kv"])
        v = heads(y, "v", config["head_count_kv"])
        if architecture in ("gemma3", "qwen3"):
            q = rms_norm(q, get("attn_q_norm.weight"), eps)
            k = rms_norm(k, get("attn_k_norm.weight"), eps)
        everything = is_global_layer(config, layer)
        turn = (config["rope_freq_base"], architecture == "llama", divisors(config), magnitude(config),
                config.get("rope_dimension_count"))
        if architecture == "gemma3" and not everything:
            turn = (10000.0, False)
        y = attention(rope(q, *turn), rope(k, *turn), v, 0 if everything else config["sliding_window"],
                      config.get("attn_softcap"))
        y = y @ get("attn_output.weight").T + w.get(f"blk.{layer}.attn_output.bias", 0)
        x = x + (rms_norm(y, get("post_attention_norm.weight"), eps) if gemma else y)
        y = rms_norm(x, get("ffn_norm.weight"), eps)
        gate, up = y @ get("ffn_gate.weight").T, y @ get("ffn_up.weight").T
        if gemma:
            gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        y = (gate * up) @ get("ffn_down.weight").T
        x = x + (rms_norm(y, get("post_ffw_norm.weight"), eps) if gemma else y)
    x = rms_norm(x, w["output_norm.weight"], eps)
    return softcap(x @ w.get("output.weight", w["token_embd.weight"]).T, config.get("final_softcap"))


def main():
    failed = 0
    for config in load_configs(sys.argv[1:]):
        golden = np.fromfile(GOLDENS / config["logits"], "<f4").reshape(-1, config["vocab_size"])
        assert len(golden) == len(config["tokens"])
        mine = forward(config)
        difference, largest = np.abs(golden - mine).max(), np.abs(golden).max()
        good = difference <= BOUND * largest
        failed += not good
        print(f"{config['name']:18} {len(golden):5} x {config['vocab_size']:<6} max |logit| {largest:8.4f}  "
              f"max |difference| {difference:.2e}  = {difference / largest:.1e} of it  {'ok' if good else 'FAILED'}")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
