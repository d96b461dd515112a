"""Shows that the goldens notice mistakes: plants one at a time in check_goldens.py's forward pass.

For each mistake it prints by how many times the tests' bound (1e-4 x max |logit|) the logits move, for each
config that the mistake can touch. A mistake below 1.2 bounds everywhere fails: no golden would catch it (the
goldens' own noise is under 0.03 bounds, see check_goldens.py).

    nice -n 15 python3 tools/golden/check_sensitivity.py
"""

import math
import sys
from unittest import mock

import numpy as np

import check_goldens as check
from spec import GOLDENS, load_configs

attention, rope, weights = check.attention, check.rope, check.weights
SEEN = 1.2


def change(**values):
    """The same pass with other numbers in the config."""
    return lambda c: check.forward(c | {k: v(c) if callable(v) else v for k, v in values.items()})


def patch(**functions):
    """The same pass with one of its functions replaced."""
    def run(config):
        with mock.patch.multiple(check, **functions):
            return check.forward(config)
    return run


def without(part):
    """The tensors named *part* are all zero."""
    def zeroed(config):
        return {n: v * np.float32(part not in n) for n, v in weights(config).items()}
    return patch(weights=zeroed)


def wrong_kv_head(q, k, v, window):
    order = [h % k.shape[1] for h in range(q.shape[1])]
    return attention(q, k[:, order], v[:, order], window)


def erf_gelu(config):
    def tanh(y):  # the pass calls tanh with sqrt(2/pi) (g + 0.044715 g^3): solve for g, return erf's factor
        x = np.arcsinh(y / np.sqrt(2 / np.pi) * 1.5 * np.sqrt(3 * 0.044715)) / 3
        g = 2 / np.sqrt(3 * 0.044715) * np.sinh(x)
        return np.vectorize(math.erf)(g / np.sqrt(2))
    with mock.patch.object(check.np, "tanh", tanh):
        return check.forward(config)


def is_gemma(c):
    return c["architecture"] == "gemma3"


def is_llama(c):
    return not is_gemma(c)


def wraps(c):
    return is_gemma(c) and len(c["tokens"]) > c["sliding_window"]


def grouped(c):
    return 1 < c["head_count_kv"] < c["head_count"]


def biased(c):
    return c["attention_bias"]


def large_epsilon(c):
    return c["rms_epsilon"] > 1e-3


MISTAKES = [  # what, which configs it can touch, the mistaken pass
    ("window one short", wraps, change(sliding_window=lambda c: c["sliding_window"] - 1)),
    ("window one long", wraps, change(sliding_window=lambda c: c["sliding_window"] + 1)),
    ("no window", wraps, patch(attention=lambda q, k, v, window: attention(q, k, v, 0))),
    ("all layers local", lambda c: wraps(c) and c["block_count"] >= c["sliding_window_pattern"],
     change(sliding_window_pattern=99)),
    ("pattern of six", lambda c: is_gemma(c) and c["sliding_window_pattern"] != 6, change(sliding_window_pattern=6)),
    ("global base locally", is_gemma, patch(rope=lambda x, base, i: rope(x, 1e6, i))),
    ("local base globally", lambda c: is_gemma(c) and c["block_count"] >= c["sliding_window_pattern"],
     change(rope_freq_base=1e4)),
    ("base of 10000", lambda c: is_llama(c) and c["rope_freq_base"] != 1e4, change(rope_freq_base=1e4)),
    ("other RoPE pairs", lambda c: True, patch(rope=lambda x, base, i: rope(x, base, not i))),
    ("positions from 0 in each span of 256", lambda c: len(c["tokens"]) > 257,
     patch(rope=lambda x, base, i: np.concatenate([rope(s, base, i) for s in np.split(x, range(256, len(x), 256))]))),
    ("query head h reads KV head h mod n", grouped, patch(attention=wrong_kv_head)),
    ("epsilon of 1e-5", large_epsilon, change(rms_epsilon=1e-5)),
    ("no q norm", is_gemma, without("attn_q_norm")),
    ("no k norm gain", is_gemma, patch(weights=lambda c: {
        n: np.ones_like(v) if "attn_k_norm" in n else v for n, v in weights(c).items()})),
    ("GELU by erf", is_gemma, erf_gelu),
    ("no q bias", biased, without("attn_q.bias")),
    ("no k bias", biased, without("attn_k.bias")),
    ("no v bias", biased, without("attn_v.bias")),
    ("no output bias", biased, without("attn_output.bias")),
    ("head from the embedding", lambda c: not c["tied"], patch(weights=lambda c: {
        n: v for n, v in weights(c).items() if n != "output.weight"})),
]


def main():
    unseen = 0
    configs = load_configs()
    golden = {c["name"]: np.fromfile(GOLDENS / c["logits"], "<f4").reshape(-1, c["vocab_size"]) for c in configs}
    for what, touches, mistaken in MISTAKES:
        moved = {}
        for config in filter(touches, configs):
            g = golden[config["name"]]
            moved[config["name"]] = np.abs(mistaken(config) - g).max() / (check.BOUND * np.abs(g).max())
        seen = [m for m in moved.values() if m >= SEEN]
        unseen += not seen
        print(f"{what}: seen by {len(seen)} of {len(moved)}" + ("" if seen else "  FAILED"))
        print("    " + ", ".join(f"{name} {m:.1f}" for name, m in moved.items()))
    print(f"{unseen} mistakes unseen")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
