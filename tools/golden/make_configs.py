"""Writes tests/data/goldens/*.json: the shapes whose logits are committed, and the token ids fed to them.

Also weights.tsv, to check a generator of these models before any logits are compared: for each tensor of
four of them the 64-bit FNV-1a hash of its float32 bytes and its first value's bits.

Each entry names what it is there to catch. A vocabulary is at least 260: the generator's tokenizer holds
3 control tokens and 256 bytes. One logits file is n_tokens x vocab_size x 4 bytes and stays under 1.2 MB.

    python3 tools/golden/make_configs.py
"""

import json

import numpy as np

from spec import GOLDENS, fnv1a64, llama3_divisors, longrope_magnitude, random_u64, weights

DEFAULTS = {
    "architecture": "llama", "vocab_size": 260, "block_count": 2, "embedding_length": 64,
    "feed_forward_length": 172, "head_count": 4, "head_count_kv": 2, "key_length": 16, "rms_epsilon": 1e-5,
    "rope_freq_base": 10000.0, "tied": True, "attention_bias": False, "sliding_window": 0,
    "sliding_window_pattern": 6, "type": "F32",
}
GEMMA = {"architecture": "gemma3", "rms_epsilon": 1e-6, "rope_freq_base": 1000000.0}
QWEN = {"rms_epsilon": 1e-6, "rope_freq_base": 1000000.0}


def factors(count, first, last):
    """LongRoPE divisors that rise evenly, as float32 holds them."""
    return [float(v) for v in np.linspace(first, last, count, dtype=np.float32)]


PHI_LONG = dict(architecture="phi3", embedding_length=64, head_count=4, head_count_kv=4, key_length=16, tied=False,
                rope_original_context=64, context_length=1024,
                rope_factors_short=factors(8, 1.0, 2.0), rope_factors_long=factors(8, 1.25, 40.0))

# name, number of tokens, what differs from DEFAULTS
CONFIGS = [
    # Grouped queries; FFN rows of 172 are no multiple of 32, heads of 8 are narrower than a vector.
    ("llama-gqa", 48, dict(vocab_size=512, head_count=8, head_count_kv=4, key_length=8)),
    # SmolLM2-360M/Qwen2-0.5B widths: 14 heads on 2, seven queries a KV head.
    ("llama-hidden896", 24, dict(vocab_size=288, embedding_length=896, feed_forward_length=320, head_count=14,
                                 head_count_kv=2, key_length=64)),
    # Head dimensions that are no power of two.
    ("llama-head80", 40, dict(embedding_length=320, head_count=4, head_count_kv=2, key_length=80,
                              feed_forward_length=224)),
    ("llama-head96", 40, dict(embedding_length=288, head_count=3, head_count_kv=3, key_length=96,
                              feed_forward_length=160, rope_freq_base=500000.0)),
    # One KV head for all queries.
    ("llama-mqa", 40, dict(embedding_length=128, head_count=8, head_count_kv=1, key_length=16)),
    # key_length * heads = 128 against a hidden size of 64 (Qwen3-0.6B does this).
    ("llama-widekey", 40, dict(head_count=4, head_count_kv=2, key_length=32)),
    # A vocabulary of prime-like size; the head's last tile is partial.
    ("llama-vocab32003", 9, dict(vocab_size=32003, block_count=1)),
    ("llama-bias", 40, dict(attention_bias=True)),
    # Separate output matrix, an odd vocabulary, and an epsilon large enough to matter.
    ("llama-untied", 40, dict(vocab_size=301, tied=False, rms_epsilon=0.01)),
    # Crosses the attention spans' borders at 256 and 512.
    ("llama-long", 640, dict(context_length=1024)),
    # Gemma 3's own head dimension; below the pattern's length every layer is local.
    ("gemma3-head256", 40, dict(GEMMA, embedding_length=96, head_count=2, head_count_kv=1, key_length=256,
                                sliding_window=512)),
    ("gemma3-mqa64", 40, dict(GEMMA, embedding_length=128, head_count=4, head_count_kv=1, key_length=64,
                              sliding_window=512)),
    # Six local layers, one global, and a window that is no multiple of 32.
    ("gemma3-pattern", 72, dict(GEMMA, block_count=7, sliding_window=24)),
    # A pattern other than Gemma 3's six and an epsilon large enough to matter: the file's keys must be read.
    ("gemma3-pattern2", 72, dict(GEMMA, block_count=4, sliding_window=17, sliding_window_pattern=2,
                                 rms_epsilon=0.01)),
    # Windows of one and of two spans, passed by far enough that a ring wraps.
    ("gemma3-window256", 700, dict(GEMMA, vocab_size=300, block_count=7, sliding_window=256, context_length=1024)),
    ("gemma3-window512", 1100, dict(GEMMA, block_count=7, sliding_window=512, context_length=2048)),
    # Gemma 3 4B and larger: global layers scaled by 8, local ones not.
    ("gemma3-linear", 72, dict(GEMMA, block_count=4, sliding_window=24, sliding_window_pattern=2,
                               rope_scaling="linear", rope_scaling_factor=8.0)),
    # No window: global layers only, whatever the pattern (and only the global RoPE base).
    ("gemma3-nowindow", 40, dict(GEMMA, block_count=3)),
    ("llama-linear", 48, dict(rope_scaling="linear", rope_scaling_factor=4.0)),
    # Llama 3.1's rule with pairs in all of its three bands: waves below 64/4, between, and above 64.
    ("llama-llama3", 96, dict(embedding_length=96, head_count=3, head_count_kv=1, key_length=32,
                              rope_freq_base=500000.0, context_length=512,
                              llama3=dict(factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                          original_max_position_embeddings=64))),
    ("llama-yarn", 96, dict(key_length=32, context_length=512, rope_scaling="yarn", rope_scaling_factor=4.0,
                            rope_original_context=128)),
    # YaRN with everything a configuration may set besides.
    ("llama-yarn-set", 96, dict(key_length=32, context_length=512, rope_scaling="yarn", rope_scaling_factor=8.0,
                                rope_original_context=64, yarn_attn_factor=1.4375, yarn_beta_fast=4.0,
                                yarn_beta_slow=0.5)),
    # Biases of q, k, v and not of the output; RoPE by halves.
    ("qwen2-gqa", 48, dict(QWEN, architecture="qwen2", embedding_length=112, head_count=7, head_count_kv=1,
                           key_length=16)),
    # Past the original context with YaRN, as the long Qwen2.5 do.
    ("qwen2-yarn", 300, dict(QWEN, architecture="qwen2", vocab_size=300, tied=False, context_length=512,
                             rope_scaling="yarn", rope_scaling_factor=4.0, rope_original_context=128)),
    # Heads together wider than the hidden size, each normed.
    ("qwen3-widehead", 48, dict(QWEN, architecture="qwen3", head_count=4, head_count_kv=2, key_length=128)),
    ("qwen3-gqa", 300, dict(QWEN, architecture="qwen3", head_count=8, head_count_kv=2, key_length=16, tied=False,
                            context_length=512)),
    # Caps small enough that tanh bends; two local layers, two global.
    ("gemma2-softcap", 72, dict(GEMMA, architecture="gemma2", rope_freq_base=10000.0, block_count=4,
                                sliding_window=24, sliding_window_pattern=2, attn_softcap=2.5, final_softcap=6.0)),
    # Gemma 2's own head size and caps; past a window of a whole span.
    ("gemma2-window256", 600, dict(GEMMA, architecture="gemma2", rope_freq_base=10000.0, embedding_length=96,
                                   head_count=2, head_count_kv=1, key_length=256, sliding_window=256,
                                   sliding_window_pattern=2, context_length=1024, attn_softcap=50.0,
                                   final_softcap=30.0)),
    # Phi-3's fused tensors and its head size; a window, which transformers applies.
    ("phi3-window", 72, dict(architecture="phi3", embedding_length=288, head_count=3, head_count_kv=3, key_length=96,
                             feed_forward_length=160, sliding_window=31, tied=False)),
    # LongRoPE within and past the original context: the short factors, then the long ones.
    ("phi3-short", 64, dict(PHI_LONG)),
    ("phi3-long", 96, dict(PHI_LONG)),
    # Phi-4-mini: three quarters of a head rotate, KV heads shared, FFN rows that no tile divides.
    ("phi3-partial", 300, dict(PHI_LONG, head_count=6, head_count_kv=2, key_length=16, embedding_length=96,
                               rope_dimension_count=12, tied=True, rope_original_context=256,
                               rope_factors_short=factors(6, 1.0, 1.5), rope_factors_long=factors(6, 1.1, 24.0))),
]

HASHED = ["llama-gqa", "llama-bias", "llama-untied", "gemma3-pattern2"]


def main():
    rows = ["model\ttensor\telements\tfnv1a64 of the float32 bytes\tbits of element 0"]
    for index, (name, n_tokens, changes) in enumerate(CONFIGS):
        config = {"name": name, "seed": index + 1, "context_length": 512, **DEFAULTS, **changes}
        ids = random_u64(config["seed"], "tokens", n_tokens)
        config["tokens"] = [int(z % config["vocab_size"]) for z in ids.tolist()]
        config["logits"] = f"{name}.f32"
        if "llama3" in config:
            config["rope_freqs"] = llama3_divisors(config)
        if "rope_factors_long" in config:
            config["rope_attn_factor"] = longrope_magnitude(config)
        assert n_tokens <= config["context_length"]
        assert n_tokens * config["vocab_size"] * 4 < 1_200_000
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in config.items())
        (GOLDENS / f"{name}.json").write_text("{\n" + lines + "\n}\n")
        for tensor, value in weights(config).items() if name in HASHED else ():
            data = value.astype("<f4").tobytes()
            bits = int.from_bytes(data[:4], "little")
            rows.append(f"{name}\t{tensor}\t{value.size}\t{fnv1a64(data):016x}\t{bits:08x}")
    (GOLDENS / "weights.tsv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
