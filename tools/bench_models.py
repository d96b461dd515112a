"""The models ./dev bench measures: two real ones, and random weights in published shapes.

Speed does not depend on the values, so a shape and a type are enough; make_model writes them into a
folder outside the tree, once.
"""
import os
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    name: str  # as --only takes it
    title: str  # as documents print it
    file: str
    make: tuple = ()  # arguments of make_model; none: a real model of the model folder
    gen: int = 128  # tokens of the decode rows; fewer where a token is slow
    peers: bool = False  # measured beside peers, in rounds
    deep: bool = False  # ... also where a peer takes long: pp2048, and decode behind 2048 tokens
    quick: bool = False  # part of --quick
    extras: tuple = ()  # "kv", "threads", "avx2", "first"


def shape(preset, label, kind, mix=False, **more):
    name = f"{label.lower()}-{kind.lower()}"
    return Model(name, f"Qwen3-{label} {kind}", f"{preset}-{kind}.gguf",
                 ("--preset", preset, "--mix" if mix else "--type", kind), **more)


def small(kind, **more):
    return shape("qwen3-0.6b", "0.6B", kind, **more)


MODELS = (
    Model("smollm2", "SmolLM2-135M Q4_1", "SmolLM2-135M-Instruct.Q4_1.gguf", peers=True, deep=True, quick=True,
          extras=("kv", "threads", "first")),
    Model("gemma3", "Gemma 3 270M Q4_K_M", "gemma-3-270m-Q4_K_M.gguf", peers=True, extras=("first",)),
    small("Q4_0", peers=True, deep=True, quick=True, extras=("kv", "threads", "avx2", "first")),
    small("Q8_0", peers=True),
    small("Q4_K_M", mix=True, peers=True, deep=True, quick=True, extras=("avx2",)),
    small("Q4_1", peers=True),
    small("Q6_K", peers=True),
    small("Q5_0"),
    small("Q5_K_M", mix=True),
    small("Q2_K"),
    small("Q3_K"),
    small("IQ4_XS"),
    small("F16", gen=32),
    small("BF16", gen=32),
    small("F32", gen=32),
    shape("qwen3-1.7b", "1.7B", "Q4_0"),
)


class Unavailable(Exception):
    """A model that is not there and cannot be made; one sentence."""


def path_of(model, real_folder, made_folder, make_model):
    """The model's file, made first where it is random and missing."""
    if not model.make:
        path = os.path.join(real_folder, model.file)
        if not os.path.exists(path):
            raise Unavailable(f"{model.title} is not in {real_folder}; ./dev models gets it")
        return path
    path = os.path.join(made_folder, model.file)
    if os.path.exists(path):
        return path
    os.makedirs(made_folder, exist_ok=True)
    part = f"{path}.{os.getpid()}.part"
    try:
        done = subprocess.run([make_model, *model.make, "-o", part], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{make_model} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        if os.path.exists(part):
            os.remove(part)
        raise Unavailable(f"{model.title} could not be made: {done.stderr.strip() or 'make_model failed'}")
    os.replace(part, path)
    return path
