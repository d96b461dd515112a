"""Checks tests/data/goldens/*.f32 against a forward pass written here, in numpy, without transformers.

It reads the weights as a GGUF file would hold them: llama rotates the interleaved pairs (2j, 2j+1), gemma3
the halves (j, j + head/2); gemma3's norms multiply by the stored value (1 + w); a local layer's key is
visible when 0 <= q - k < window. It computes in float64, so the difference it prints is float32's rounding
noise in the goldens: what of the tests' bound (1e-4 x max |logit|) is used up before ridge adds its own.

    nice -n 15 python3 tools/golden/check_goldens.py [NAME...]        (numpy only)
"""

import sys

import numpy as np

from spec import GOLDENS, is_global_layer, load_configs, weights

BOUND = 1e-4


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gain


def rope(x, base, interleaved):
    """x: [tokens][heads][head_dim]; the token's index is its position."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[0])[:, None, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    out = np.empty_like(x)
    a, b = (out[..., 0::2], out[..., 1::2]) if interleaved else (out[..., :half], out[..., half:])
    a[...] = first * cos - second * sin
    b[...] = first * sin + second * cos
    return out


def attention(q, k, v, window):
    """Causal; q: [tokens][heads][dim], k and v: [tokens][kv heads][dim]. window 0 sees everything."""
    n, heads, dim = q.shape
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    visible = (distance >= 0) & ((window == 0) | (distance < window))
    out = np.empty_like(q)
    for h in range(heads):
        g = h // (heads // k.shape[1])
        score = np.where(visible, q[:, h] @ k[:, g].T / np.sqrt(dim), -np.inf)
        p = np.exp(score - score.max(-1, keepdims=True))
        out[:, h] = p / p.sum(-1, keepdims=True) @ v[:, g]
    return out.reshape(n, -1)


def forward(config):
    w = {name: value.astype(np.float64) for name, value in weights(config).items()}
    gemma = config["architecture"] == "gemma3"
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
        if gemma:
            q = rms_norm(q, get("attn_q_norm.weight"), eps)
            k = rms_norm(k, get("attn_k_norm.weight"), eps)
        everything = is_global_layer(config, layer)
        base = config["rope_freq_base"] if everything else 10000.0
        y = attention(rope(q, base, not gemma), rope(k, base, not gemma), v,
                      0 if everything else config["sliding_window"])
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
    return x @ w.get("output.weight", w["token_embd.weight"]).T


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
