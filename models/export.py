#!/usr/bin/python3
"""Turns the checkpoints of train.py into the files that are committed.

    models/tiny-f32.gguf, tiny-q8_0.gguf, tiny-395-f32.gguf
    models/*.golden.json   prompt, ids, greedy ids and logits by this script's own inference
    models/sample.txt      greedy and sampled stories
    models/loss.svg        the loss curves

Usage: export.py [--from build/models]
"""

import argparse
import json
import pathlib

import numpy
import torch

import corpus
import ggufwriter as gg
import lossplot
import tokenizer
import train
from llama import Llama, generate

HERE = pathlib.Path(__file__).resolve().parent
PROMPT = "Once upon a time, there was a little girl named Lily."
SAMPLE_PROMPTS = ["Once upon a time", "Tom was a brave boy.", "One day, a small fox lost"]


def metadata(name, title, shape, encoder, quantized):
    strings, floats, ints = ("array", gg.STRING), ("array", gg.F32), ("array", gg.I32)
    return [
        ("general.architecture", gg.STRING, "llama"),
        ("general.name", gg.STRING, title),
        ("general.license", gg.STRING, "mit"),
        ("general.description", gg.STRING, f"ridge's own {name} story model, trained on generated text"),
        ("general.quantization_version", gg.U32, 2),
        ("general.file_type", gg.U32, 7 if quantized else 0),
        ("llama.block_count", gg.U32, shape.layers),
        ("llama.context_length", gg.U32, shape.context),
        ("llama.embedding_length", gg.U32, shape.dim),
        ("llama.feed_forward_length", gg.U32, shape.ffn),
        ("llama.attention.head_count", gg.U32, shape.heads),
        ("llama.attention.head_count_kv", gg.U32, shape.kv_heads),
        ("llama.attention.layer_norm_rms_epsilon", gg.F32, shape.eps),
        ("llama.rope.dimension_count", gg.U32, shape.head_dim),
        ("llama.rope.freq_base", gg.F32, shape.rope_base),
        ("llama.vocab_size", gg.U32, shape.vocab),
        ("tokenizer.ggml.model", gg.STRING, "llama"),
        ("tokenizer.ggml.tokens", strings, encoder.pieces),
        ("tokenizer.ggml.scores", floats, encoder.scores),
        ("tokenizer.ggml.token_type", ints, encoder.types),
        ("tokenizer.ggml.bos_token_id", gg.U32, tokenizer.BOS),
        ("tokenizer.ggml.eos_token_id", gg.U32, tokenizer.EOS),
        ("tokenizer.ggml.unknown_token_id", gg.U32, tokenizer.UNK),
        ("tokenizer.ggml.add_bos_token", gg.BOOL, True),
        ("tokenizer.ggml.add_eos_token", gg.BOOL, False),
        ("tokenizer.ggml.add_space_prefix", gg.BOOL, True),
    ]


@torch.no_grad()
def golden(model, encoder):
    """The prompt's ids, 64 greedy ids, and the logits behind the first of them.

    `gap` is the smallest lead of a chosen id over the runner-up: an engine
    whose logits differ by less than half of it must give the same ids.
    """
    ids = encoder.encode(PROMPT)
    greedy = generate(model, ids, 64)
    logits = model(torch.tensor([ids + greedy]))[0]
    top = logits[len(ids) - 1: -1].topk(2).values
    best = logits[len(ids) - 1].topk(5)
    return {
        "prompt": PROMPT,
        "ids": ids,
        "greedy": greedy,
        "text": encoder.decode(ids + greedy),
        "logits_last": best.indices.tolist(),
        "logits_last_values": [round(v, 5) for v in best.values.tolist()],
        "max_abs_logit": round(float(logits.abs().max()), 5),
        "gap": round(float((top[:, 0] - top[:, 1]).min()), 5),
    }


def write_golden(path, value):
    lines = [f'  {json.dumps(k)}: {json.dumps(v)}' for k, v in value.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii")


def samples(name, model, encoder):
    out = []
    for temperature in (0.0, 0.8):
        for n, prompt in enumerate(SAMPLE_PROMPTS):
            ids = encoder.encode(prompt)
            new = generate(model, ids, model.s.context - len(ids), temperature, seed=n + 1, stop=tokenizer.EOS)
            how = "greedy" if temperature == 0 else f"temperature {temperature}, top-p 0.95, seed {n + 1}"
            out.append(f"--- {name}, {how}, prompt: {prompt}\n{encoder.decode(ids + new)}\n")
    return out


def main():
    parser = argparse.ArgumentParser(description="Write the GGUF files, goldens, samples and loss curve.")
    parser.add_argument("--from", dest="source", type=pathlib.Path, default=HERE.parent / "build" / "models")
    args = parser.parse_args()
    torch.set_num_threads(1)
    stories = corpus.generate(train.SEED, train.STORIES)
    texts, curves = [], []
    for name, quantized in (("tiny", False), ("tiny", True), ("tiny-395", False)):
        shape = train.SHAPES[name]
        encoder = tokenizer.train(stories, shape.vocab)
        tensors = dict(numpy.load(args.source / f"{name}.npz"))
        stored = gg.as_stored(tensors, quantized)
        kind = "q8_0" if quantized else "f32"
        path = HERE / f"{name}-{kind}.gguf"
        gg.write(path, metadata(name, f"ridge {name}", shape, encoder, quantized), stored)
        model = Llama(shape)
        model.load_state_dict({k: torch.from_numpy(v[2].astype(numpy.float32)) for k, v in stored.items()})
        write_golden(HERE / f"{name}{'-q8_0' if quantized else ''}.golden.json", golden(model, encoder))
        if not quantized:
            texts += samples(name, model, encoder)
            curves.append((name, json.loads((args.source / f"{name}.losses.json").read_text())))
        print(f"{path.name}: {path.stat().st_size} bytes, {model.parameters_count()} parameters")
    (HERE / "sample.txt").write_text("\n".join(texts), encoding="utf-8")
    (HERE / "loss.svg").write_text(lossplot.picture(curves), encoding="ascii")


if __name__ == "__main__":
    main()
