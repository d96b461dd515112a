"""Writes tests/data/hf: tiny model folders as transformers saves them, with what they should compute.

    nice -n 15 /opt/ridge-venv/bin/python tools/golden/make_hf_folders.py

Each folder is a model of random weights with a tokenizer of a few hundred tokens: config.json, safetensors (one
file, or shards with an index), tokenizer.json or tokenizer.model, tokenizer_config.json. NAME.json beside it holds
token ids, texts with the ids that the tokenizer gives, and the pooled hidden states of one text; NAME.f32 the logits of all positions (float32, eager
attention, the weights as saved). Needs PyPI torch, transformers, tokenizers: at development time only.
"""

import json
import shutil
import struct
from collections import Counter
from pathlib import Path

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (Gemma2Config, Gemma2ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig,
                          LlamaForCausalLM, Phi3Config, Phi3ForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config,
                          Qwen3ForCausalLM)

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "tests" / "data" / "hf"
TEXT = (ROOT / "tests" / "data" / "text" / "northanger.txt").read_text()[:20000]
TEXTS = ["Once upon a time, in 1803", " two  spaces\n\n\tand a tab", "it's we'll I'd", "caf\u00e9 \u4f60\u597d \U0001F600", "a", ""]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def learn(words, count):
    """`count` BPE merges over words (tuples of symbols with how often each occurs)."""
    merges = []
    for _ in range(count):
        pairs = Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        joined = Counter()
        for word, n in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i:i + 2] == best:
                    out.append(word[i] + word[i + 1])
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            joined[tuple(out)] += n
        words = joined
    return merges


def pieces(prefix):
    """SentencePiece-like: byte fallback, U+2581 for a space; pieces, scores as their order says, and merges."""
    space = "\u2581"
    words = Counter(tuple(space + w) for w in TEXT.split())
    merges = learn(words, 60)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens += list(dict.fromkeys(a + b for a, b in merges))
    tokens += sorted({c for w in words for c in w})
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges, unk_token="<unk>", fuse_unk=True,
                                     byte_fallback=True))
    steps = [normalizers.Prepend(space)] if prefix else []
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", space)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in tokens[:3]])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    return tokenizer, tokens, len(set(a + b for a, b in merges))


def byte_level(split, bos):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    steps = [pre_tokenizers.Split(Regex(split), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    before = pre_tokenizers.Sequence(steps)
    words = Counter(tuple(piece) for piece, _ in before.pre_tokenize_str(TEXT))
    merges = learn(words, 50)
    tokens = letters + list(dict.fromkeys(a + b for a, b in merges))
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = before
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<|begin|>", "<|endoftext|>", "<|im_end|>")])
    if bos:
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<|begin|> $A", pair="<|begin|> $A $B", special_tokens=[("<|begin|>", tokenizer.token_to_id("<|begin|>"))])])
    return tokenizer


def sentencepiece_model(path, tokens, merged, prefix):
    """SentencePiece's ModelProto, written by hand: pieces, trainer_spec.model_type BPE, add_dummy_prefix."""
    def varint(n):
        out = b""
        while True:
            out += bytes([n & 127 | (128 if n > 127 else 0)])
            n >>= 7
            if n == 0:
                return out

    def field(number, raw):
        return varint(number * 8 + 2) + varint(len(raw)) + raw

    out = b""
    for i, token in enumerate(tokens):
        kind = 2 if i == 0 else 3 if i < 3 else 6 if i < 259 else 1
        score = float(-(i - 259)) if i >= 259 else 0.0
        out += field(1, field(1, token.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind))
    out += field(2, b"\x18\x02") + field(3, field(1, b"identity") + b"\x18" + varint(int(prefix)))
    path.write_bytes(out)


def save(name, model, dtype, tokenizer, config, shard=None, extra=None):
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(sum(name.encode()))
    with torch.no_grad():
        for key, value in model.named_parameters():
            value.copy_(torch.randn_like(value) * (0.2 if value.dim() == 1 else 2.0 / value.shape[-1] ** 0.5) +
                        (1.0 if key.endswith("norm.weight") and "Gemma" not in type(model).__name__ else 0.0))
        model.to(dtype)
        model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
        # loaded anew in float32: buffers (RoPE, the embedding's scale) were never rounded
        model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        vocab = model.config.vocab_size
        ids = [int(i) for i in torch.randint(3, vocab - 8, (24,))]
        out = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]
    assert torch.isfinite(out).all()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
    if extra:
        extra(folder)
    first = tokenizer.encode(TEXTS[0]).ids
    with torch.no_grad():
        states = model.model(input_ids=torch.tensor([first]), use_cache=False).last_hidden_state[0]
    embedding = {"text": TEXTS[0], "mean": states.mean(0).tolist(), "last": states[-1].tolist()}
    texts = [{"text": t, "ids": tokenizer.encode(t).ids} for t in TEXTS]
    (OUT / f"{name}.json").write_text(json.dumps({"tokens": ids, "vocab": vocab, "texts": texts, "embedding": embedding}) + "\n")
    out.numpy().astype("<f4").tofile(OUT / f"{name}.f32")
    print(name, vocab, float(out.abs().max()), sum(f.stat().st_size for f in folder.iterdir()))


def main():
    OUT.mkdir(exist_ok=True)
    shape = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 max_position_embeddings=128, attn_implementation="eager", pad_token_id=None)
    spm = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template="{{ messages[0].content }}")
    gpt = dict(eos_token="<|endoftext|>", chat_template=[{"name": "default", "template": "{{ messages }}"}])

    tokenizer, tokens, _ = pieces(True)
    size = len(tokens)
    save("llama", LlamaForCausalLM(LlamaConfig(**shape, vocab_size=size + 5, tie_word_embeddings=False, head_dim=8,
                                               attention_bias=True, rms_norm_eps=1e-5)),
         torch.float32, tokenizer, spm | {"bos_token": {"content": "<s>"}}, shard="40KB")
    level = byte_level(LLAMA3, True)
    save("llama3", LlamaForCausalLM(LlamaConfig(**shape, vocab_size=level.get_vocab_size(), tie_word_embeddings=True, rope_parameters=dict(
        rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32))),
         torch.bfloat16, level, gpt | {"bos_token": "<|begin|>"})
    level = byte_level(QWEN2, False)
    save("qwen2", Qwen2ForCausalLM(Qwen2Config(**shape, vocab_size=level.get_vocab_size() + 9, tie_word_embeddings=True)),
         torch.bfloat16, level, gpt)
    save("qwen3", Qwen3ForCausalLM(Qwen3Config(**shape, vocab_size=level.get_vocab_size(), head_dim=16, tie_word_embeddings=False)),
         torch.float16, level, gpt)
    tokenizer, tokens, merged = pieces(False)
    save("gemma2", Gemma2ForCausalLM(Gemma2Config(**shape, vocab_size=size, head_dim=8, query_pre_attn_scalar=8, sliding_window=8)),
         torch.float32, tokenizer, spm)
    save("gemma3", Gemma3ForCausalLM(Gemma3TextConfig(**(shape | dict(num_hidden_layers=6)), vocab_size=size, head_dim=8,
                                                      query_pre_attn_scalar=8, sliding_window=8)),
         torch.bfloat16, tokenizer, spm, extra=lambda f: sentencepiece_model(f / "tokenizer.model", tokens, merged, False))
    tokenizer, tokens, _ = pieces(True)
    save("phi3", Phi3ForCausalLM(Phi3Config(**(shape | dict(max_position_embeddings=256)), vocab_size=size, tie_word_embeddings=False,
                                            original_max_position_embeddings=64, bos_token_id=1, eos_token_id=2, sliding_window=None,
                                            rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.5, 2.0, 2.5],
                                                                 long_factor=[1.0, 4.0, 8.0, 16.0]))),
         torch.float16, tokenizer, spm)


if __name__ == "__main__":
    main()
