#!/usr/bin/env python3
"""The tokenizer of ridge's tiny models: byte-pair encoding in SentencePiece's clothes.

Vocabulary: <unk>, <s>, </s>, the 256 bytes <0x00> ... <0xFF>, then the learned
pieces, in which U+2581 stands for a space. A learned piece's score is minus
its rank, so that "join the neighbours whose joined piece scores highest, the
leftmost first", which is how engines encode with a `llama` vocabulary, gives
the segmentation that training arrived at. Single characters come last: they
are never the result of a join. What has no piece is spelt in bytes.
"""

import collections
import heapq
import re

SPACE = "\u2581"
UNK, BOS, EOS = 0, 1, 2
FIRST_BYTE = 3
FIRST_PIECE = FIRST_BYTE + 256

# A join never crosses from letters to signs or from one word to the next.
WORDS = re.compile(SPACE + r"?[A-Za-z]+|" + SPACE + r"?[^A-Za-z" + SPACE + r"]+|" + SPACE)


class Tokenizer:
    """Pieces in id order with scores and GGUF token types."""

    def __init__(self, learned):
        self.pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + list(learned)
        self.scores = [0.0] * FIRST_PIECE + [-float(rank) for rank in range(len(learned))]
        self.types = [2, 3, 3] + [6] * 256 + [1] * len(learned)
        self.ids = {piece: FIRST_PIECE + rank for rank, piece in enumerate(learned)}
        self.word_cache = {}

    def __len__(self):
        return len(self.pieces)

    def join(self, symbols):
        """Joins neighbours greedily by score; returns the pieces left."""
        symbols = list(symbols)
        left = list(range(-1, len(symbols) - 1))
        right = list(range(1, len(symbols) + 1))
        queue = []

        def offer(i):
            j = right[i]
            if j < len(symbols):
                piece = symbols[i] + symbols[j]
                if piece in self.ids:
                    heapq.heappush(queue, (self.ids[piece], i, len(piece)))

        for i in range(len(symbols)):
            offer(i)
        while queue:
            _, i, length = heapq.heappop(queue)
            j = right[i]
            if not symbols[i] or j >= len(symbols) or len(symbols[i]) + len(symbols[j]) != length:
                continue  # one of the two has been joined meanwhile
            symbols[i] += symbols[j]
            symbols[j] = ""
            right[i] = right[j]
            if right[i] < len(symbols):
                left[right[i]] = i
            offer(i)
            if left[i] >= 0:
                offer(left[i])
        return [s for s in symbols if s]

    def encode(self, text, bos=True):
        """Token ids of `text`, with the leading space and, if asked, <s>."""
        if not text:
            return [BOS] if bos else []
        ids = [BOS] if bos else []
        for word in WORDS.findall((" " + text).replace(" ", SPACE)):
            if word not in self.word_cache:
                found = []
                for piece in self.join(word):
                    if piece in self.ids:
                        found.append(self.ids[piece])
                    else:
                        found.extend(FIRST_BYTE + b for b in piece.encode("utf-8"))
                self.word_cache[word] = found
            ids.extend(self.word_cache[word])
        return ids

    def encode_whole(self, text, bos=True):
        """As encode, but joining over the whole text at once: the check on WORDS."""
        ids = [BOS] if bos else []
        for piece in self.join((" " + text).replace(" ", SPACE)):
            if piece in self.ids:
                ids.append(self.ids[piece])
            else:
                ids.extend(FIRST_BYTE + b for b in piece.encode("utf-8"))
        return ids

    def decode(self, ids):
        """Text of `ids` without control tokens and without the leading space."""
        raw = bytearray()
        for i in ids:
            if FIRST_BYTE <= i < FIRST_PIECE:
                raw.append(i - FIRST_BYTE)
            elif i >= FIRST_PIECE:
                raw.extend(self.pieces[i].replace(SPACE, " ").encode("utf-8"))
        text = raw.decode("utf-8", errors="replace")
        return text[1:] if text.startswith(" ") else text


def train(lines, vocabulary):
    """Learns the pieces of a vocabulary of that many ids from an iterable of lines.

    Ties between equally frequent pairs go to the alphabetically first, so the
    result depends on the text alone.
    """
    words = collections.Counter()
    for line in lines:
        words.update(WORDS.findall((" " + line).replace(" ", SPACE)))
    entries = [(list(word), count) for word, count in sorted(words.items())]
    characters = sorted({c for symbols, _ in entries for c in symbols})
    merges = []
    known = set(characters)
    while FIRST_PIECE + len(merges) + len(characters) < vocabulary:
        pairs = collections.Counter()
        for symbols, count in entries:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += count
        pairs = {p: n for p, n in pairs.items() if p[0] + p[1] not in known}
        if not pairs:
            raise ValueError("the text is too small for this vocabulary; use more text")
        first, second = min(pairs, key=lambda p: (-pairs[p], p))
        piece = first + second
        merges.append(piece)
        known.add(piece)
        # Every pair that spells the piece is joined, as the encoder would.
        for symbols, _ in entries:
            i = 0
            while i + 1 < len(symbols):
                if symbols[i] + symbols[i + 1] == piece:
                    symbols[i:i + 2] = [piece]
                i += 1
    return Tokenizer(merges + characters)
