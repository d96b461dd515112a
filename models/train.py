#!/usr/bin/python3
"""Trains ridge's tiny models on the text of corpus.py.

    apt-get install python3-torch python3-numpy
    /usr/bin/python3 models/train.py tiny          # then tiny-395
    /usr/bin/python3 models/export.py              # writes the files beside it

Two threads and the processor's spare time are enough. The checkpoint (a .npz
with the tensors under their GGUF names), the losses and the tokenizer go to
--out, which is build/models by default and not part of the repository.
"""

import argparse
import json
import os
import pathlib
import time

import numpy
import torch

import corpus
import tokenizer
from llama import Llama, Shape
from muon import Muon

HERE = pathlib.Path(__file__).resolve().parent
SEED = 395
STORIES = 6000
HELD_OUT = 50

SHAPES = {
    # 288 = 9 * 32: rows of an odd number of Q8_0 blocks, on purpose.
    "tiny": Shape(vocab=1024, dim=128, layers=5, heads=4, kv_heads=2, ffn=288, context=512),
    # Within the "AI Max 395": layers * KV width = 5 * 32 = 160 <= 256, head dimension 16.
    "tiny-395": Shape(vocab=512, dim=64, layers=5, heads=4, kv_heads=2, ffn=192, context=512),
}
STEPS = {"tiny": 340, "tiny-395": 680}
STEPS_AGAIN = {"tiny": 500, "tiny-395": 800}
BATCH_TOKENS = 4096
MATRIX_RATE, OTHER_RATE = 0.02, 0.005
WARM_UP = 30
COOL_DOWN = 0.6
AGAIN = 0.6  # share of the rates in a further round


def rows(documents, length, rng):
    """Yields id rows of length + 1 for ever; each starts at the start of a story."""
    while True:
        row = []
        for i in rng.permutation(len(documents)):
            row.extend(documents[i])
            if len(row) > length:
                yield row[: length + 1]
                row = []


def batch(source, count):
    ids = torch.tensor([next(source) for _ in range(count)])
    return ids[:, :-1], ids[:, 1:]


def loss_of(model, inputs, targets):
    logits = model(inputs)
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def held_out_loss(model, documents):
    """Mean negative log-likelihood a token over stories not trained on, each from its <s>."""
    total, tokens = 0.0, 0
    for ids in documents:
        ids = torch.tensor([ids])
        total += loss_of(model, ids[:, :-1], ids[:, 1:]).item() * (ids.shape[1] - 1)
        tokens += ids.shape[1] - 1
    return total / tokens


def schedule(step, steps):
    """Share of the peak rate: a linear warm-up, level, then linearly down to nothing."""
    return min(1.0, (step + 1) / WARM_UP, (steps - step) / (steps * COOL_DOWN))


def main():
    parser = argparse.ArgumentParser(description="Train one of ridge's tiny models.")
    parser.add_argument("name", choices=sorted(SHAPES))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--again", action="store_true", help="a further round, from the checkpoint in --out")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "build" / "models")
    args = parser.parse_args()
    checkpoint, record = args.out / f"{args.name}.npz", args.out / f"{args.name}.losses.json"
    os.nice(15)
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    args.out.mkdir(parents=True, exist_ok=True)

    shape = SHAPES[args.name]
    steps = args.steps or (STEPS_AGAIN if args.again else STEPS)[args.name]
    stories = corpus.generate(SEED, STORIES)
    encoder = tokenizer.train(stories, shape.vocab)
    documents = [encoder.encode(s) + [tokenizer.EOS] for s in stories]
    held_out = [encoder.encode(s) + [tokenizer.EOS] for s in corpus.generate(SEED + 1, HELD_OUT)]
    model = Llama(shape)
    rng = numpy.random.default_rng(SEED)
    matrix_rate, other_rate = MATRIX_RATE, OTHER_RATE
    past = {"train": [], "held_out": [], "seconds": 0}
    if args.again:
        model.load_state_dict({k: torch.from_numpy(v) for k, v in numpy.load(checkpoint).items()})
        past = json.loads(record.read_text())
        rng = numpy.random.default_rng(SEED + len(past["train"]))
        matrix_rate, other_rate = MATRIX_RATE * AGAIN, OTHER_RATE * AGAIN
    before = len(past["train"])
    print(f"{args.name}: {model.parameters_count()} parameters, "
          f"{sum(map(len, documents))} tokens of text, {steps} steps of {BATCH_TOKENS}", flush=True)

    inside = [p for n, p in model.named_parameters() if p.dim() == 2 and n.startswith("blk.")]
    others = [p for n, p in model.named_parameters() if p.dim() == 1 or not n.startswith("blk.")]
    optimizers = [Muon(inside, lr=matrix_rate),
                  torch.optim.AdamW(others, lr=other_rate, betas=(0.9, 0.97), eps=1e-9, weight_decay=0.0)]
    # Steps take turns between half the context, which holds a story, and all of it.
    short, whole = rows(documents, shape.context // 2, rng), rows(documents, shape.context, rng)
    losses, held, start = past["train"], past["held_out"], time.process_time()
    for step in range(steps):
        for optimizer, peak in zip(optimizers, (matrix_rate, other_rate)):
            for group in optimizer.param_groups:
                group["lr"] = peak * schedule(step, steps)
        length, source = (shape.context, whole) if step % 2 else (shape.context // 2, short)
        loss = loss_of(model, *batch(source, BATCH_TOKENS // length))
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for optimizer in optimizers:
            optimizer.step()
        losses.append(round(loss.item(), 4))
        if step % 100 == 99 or step == steps - 1:
            held.append((before + step + 1, round(held_out_loss(model, held_out), 4)))
            seconds = past["seconds"] + round(time.process_time() - start)
            print(f"step {before + step + 1:5d}  loss {sum(losses[-50:]) / len(losses[-50:]):.4f}  "
                  f"held out {held[-1][1]:.4f}  {seconds} s of processor time", flush=True)
            numpy.savez(checkpoint, **model.tensors())
            record.write_text(json.dumps({
                "train": losses, "held_out": held, "tokens_a_step": BATCH_TOKENS, "seconds": seconds,
                "parameters": model.parameters_count()}), encoding="ascii")


if __name__ == "__main__":
    main()
