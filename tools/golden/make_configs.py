"""Writes tests/data/goldens/*.json: the shapes whose logits are committed, and the token ids fed to them.

Also weights.tsv, to check a generator of these models before any logits are compared: for each tensor of
four of them the 64-bit FNV-1a hash of its float32 bytes and its first value's bits.

Each entry names what it is there to catch. A vocabulary is at least 260: the generator's tokenizer holds
3 control tokens and 256 bytes. One logits file is n_tokens x vocab_size x 4 bytes and stays under 1.2 MB.

    python3 tools/golden/make_configs.py
"""

import json

from spec import GOLDENS, fnv1a64, random_u64, weights

DEFAULTS = {
    "architecture": "llama", "vocab_size": 260, "block_count": 2, "embedding_length": 64,
    "feed_forward_length": 172, "head_count": 4, "head_count_kv": 2, "key_length": 16, "rms_epsilon": 1e-5,
    "rope_freq_base": 10000.0, "tied": True, "attention_bias": False, "sliding_window": 0,
    "sliding_window_pattern": 6, "type": "F32",
}
GEMMA = {"architecture": "gemma3", "rms_epsilon": 1e-6, "rope_freq_base": 1000000.0}

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
]

HASHED = ["llama-gqa", "llama-bias", "llama-untied", "gemma3-pattern2"]


def main():
    rows = ["model\ttensor\telements\tfnv1a64 of the float32 bytes\tbits of element 0"]
    for index, (name, n_tokens, changes) in enumerate(CONFIGS):
        config = {"name": name, "seed": index + 1, "context_length": 512, **DEFAULTS, **changes}
        ids = random_u64(config["seed"], "tokens", n_tokens)
        config["tokens"] = [int(z % config["vocab_size"]) for z in ids.tolist()]
        config["logits"] = f"{name}.f32"
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
