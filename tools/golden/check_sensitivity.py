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
from spec import GOLDENS, is_gemma, load_configs

attention, rope, weights, unfused = check.attention, check.rope, check.weights, check.unfused
is_global_layer = check.is_global_layer
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


def wrong_kv_head(q, k, v, window, cap):
    order = [h % k.shape[1] for h in range(q.shape[1])]
    return attention(q, k[:, order], v[:, order], window, cap)


def drop(*keys):
    """The same pass with parts of the config left out."""
    return lambda c: check.forward({k: v for k, v in c.items() if k not in keys})


def swapped(first, second):
    return lambda c: check.forward(c | {first: c[second], second: c[first]})


def scaled_locally(config):
    def scale_all(x, base, interleaved, divide=8.0, grow=1.0, rotated=None):
        return rope(x, base, interleaved, divide, grow, rotated)
    return patch(rope=scale_all)(config)


def other_halves(config):
    """phi3's gate and up taken in the other order."""
    def turned(w, c):
        w = unfused(w, c)
        for n in range(c["block_count"]):
            a, b = f"blk.{n}.ffn_gate.weight", f"blk.{n}.ffn_up.weight"
            w[a], w[b] = w[b], w[a]
        return w
    return patch(unfused=turned)(config)


def local_layers_swapped(config):
    def swap(c, layer):
        return not is_global_layer(c, layer)
    return patch(is_global_layer=swap)(config)


def erf_gelu(config):
    def tanh(y):  # the pass calls tanh with sqrt(2/pi) (g + 0.044715 g^3): solve for g, return erf's factor
        x = np.arcsinh(y / np.sqrt(2 / np.pi) * 1.5 * np.sqrt(3 * 0.044715)) / 3
        g = 2 / np.sqrt(3 * 0.044715) * np.sinh(x)
        return np.vectorize(math.erf)(g / np.sqrt(2))
    with mock.patch.object(check.np, "tanh", tanh):
        return check.forward(config)


def has(key):
    return lambda c: bool(c.get(key))


def is_gemma3(c):
    return c["architecture"] == "gemma3" and c["sliding_window"] > 0


def has_globals(c):
    return is_gemma3(c) and c["block_count"] >= c["sliding_window_pattern"]


def head_norms(c):
    return c["architecture"] in ("gemma3", "qwen3")


def wraps(c):
    return 0 < c["sliding_window"] < len(c["tokens"])


def yarn(c):
    return c.get("rope_scaling") == "yarn"


def grouped(c):
    return 1 < c["head_count_kv"] < c["head_count"]


def biased(c):
    return c["attention_bias"] or c["architecture"] == "qwen2"


def large_epsilon(c):
    return c["rms_epsilon"] > 1e-3


MISTAKES = [  # what, which configs it can touch, the mistaken pass
    ("window one short", wraps, change(sliding_window=lambda c: c["sliding_window"] - 1)),
    ("window one long", wraps, change(sliding_window=lambda c: c["sliding_window"] + 1)),
    ("no window", wraps, patch(attention=lambda q, k, v, window, cap: attention(q, k, v, 0, cap))),
    ("all layers local", lambda c: wraps(c) and is_gemma(c) and c["block_count"] >= c["sliding_window_pattern"],
     change(sliding_window_pattern=99)),
    ("pattern of six", lambda c: wraps(c) and is_gemma(c) and c["sliding_window_pattern"] != 6, change(sliding_window_pattern=6)),
    ("global base locally", is_gemma3, patch(rope=lambda x, base, i, *more: rope(x, 1e6, i, *more))),
    ("local base globally", has_globals,
     change(rope_freq_base=1e4)),
    ("base of 10000", lambda c: c["architecture"] != "gemma3" and c["rope_freq_base"] != 1e4, change(rope_freq_base=1e4)),
    ("other RoPE pairs", lambda c: True, patch(rope=lambda x, base, i, *more: rope(x, base, not i, *more))),
    ("positions from 0 in each span of 256", lambda c: len(c["tokens"]) > 257,
     patch(rope=lambda *a: np.concatenate([rope(s, *a[1:]) for s in np.split(a[0], range(256, len(a[0]), 256))]))),
    ("query head h reads KV head h mod n", grouped, patch(attention=wrong_kv_head)),
    ("epsilon of 1e-5", large_epsilon, change(rms_epsilon=1e-5)),
    ("no q norm", head_norms, without("attn_q_norm")),
    ("no k norm gain", head_norms, patch(weights=lambda c: {
        n: np.ones_like(v) if "attn_k_norm" in n else v for n, v in weights(c).items()})),
    ("GELU by erf", is_gemma, erf_gelu),
    ("no q bias", biased, without("attn_q.bias")),
    ("no k bias", biased, without("attn_k.bias")),
    ("no v bias", biased, without("attn_v.bias")),
    ("no output bias", has("attention_bias"), without("attn_output.bias")),
    ("head from the embedding", lambda c: not c["tied"], patch(weights=lambda c: {
        n: v for n, v in weights(c).items() if n != "output.weight"})),
    ("local layers where global ones are", lambda c: wraps(c) and is_gemma(c), local_layers_swapped),
    ("scores not capped", has("attn_softcap"), drop("attn_softcap")),
    ("scores capped behind the softmax scale", has("attn_softcap"),
     change(attn_softcap=lambda c: c["attn_softcap"] / np.sqrt(c["key_length"]))),
    ("logits not capped", has("final_softcap"), drop("final_softcap")),
    ("no linear scaling", lambda c: c.get("rope_scaling") == "linear", drop("rope_scaling_factor")),
    ("linear scaling of local layers too", lambda c: is_gemma3(c) and "rope_scaling_factor" in c, scaled_locally),
    ("no rope_freqs", has("rope_freqs"), drop("rope_freqs")),
    ("YaRN as linear scaling", yarn, patch(divisors=lambda c: c["rope_scaling_factor"])),
    ("YaRN without growth", yarn, patch(magnitude=lambda c: 1.0)),
    ("YaRN with 0.1 ln s + 1 all the same", has("yarn_attn_factor"), drop("yarn_attn_factor")),
    ("YaRN with betas of 32 and 1", has("yarn_beta_fast"), drop("yarn_beta_fast", "yarn_beta_slow")),
    ("short factors for long and back", has("rope_factors_long"), swapped("rope_factors_long", "rope_factors_short")),
    ("LongRoPE without growth", has("rope_factors_long"), drop("rope_attn_factor")),
    ("gate and up swapped", lambda c: c["architecture"] == "phi3", other_halves),
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
