#!/usr/bin/env python3
"""Draws docs/layers.svg: what may include what, from the table in tools/check_layers.py.

    docs_layers.py            writes docs/layers.svg
    docs_layers.py --check    exit code 1 where the file is not what the table gives

A part stands one row above the highest part that it includes. A part without sources yet is grey and dashed.
The picture reads on light and dark pages: boxes bring their own ground, lines are mid-grey.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_layers import LAYERS, source_files  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PICTURE = "docs/layers.svg"

# Column (0 to 4) and what lives there, in few words.
PARTS = {
    "cli": (2, "one file a verb"),
    "serve": (1, "HTTP"),
    "api": (1, "the C API"),
    "image": (2, "firmware images"),
    "runtime": (1, "weights, cache, executor"),
    "sample": (0, "logits to a token"),
    "plan": (3, "prediction for boards"),
    "text": (0, "tokenizers, chat"),
    "model": (1, "one file an architecture"),
    "lower": (2, "fused steps, memory plan"),
    "format": (0, "GGUF, tensor types"),
    "program": (1, "logical steps"),
    "kernels": (2, "contract, packing, sets"),
    "sim": (4, "board simulators"),
    "base": (None, "status, files, threads, number formats: includes nothing of ridge"),
}

WIDE, HIGH, GAP_X, GAP_Y, MARGIN = 176, 46, 16, 40, 12
COLUMNS = 5
TOTAL = 2 * MARGIN + COLUMNS * WIDE + (COLUMNS - 1) * GAP_X


def rows_of(layers):
    """Row of each part, 0 at the bottom."""
    rows = {}

    def row(part):
        if part not in rows:
            rows[part] = 1 + max((row(other) for other in layers[part].split()), default=-1)
        return rows[part]

    for part in layers:
        row(part)
    return rows


class Box:
    def __init__(self, part, row, top_row):
        column = PARTS[part][0]
        whole = column is None
        self.part, self.row = part, row
        self.x = MARGIN if whole else MARGIN + column * (WIDE + GAP_X)
        self.width = TOTAL - 2 * MARGIN if whole else WIDE
        self.y = MARGIN + (top_row - row) * (HIGH + GAP_Y)
        self.middle = self.x + self.width / 2

    def port(self, index, count):
        """x of one of `count` line ends on the top or bottom side."""
        return self.x + self.width * (index + 1) / (count + 1)


def check_table(layers):
    missing = sorted(set(layers) - set(PARTS))
    gone = sorted(set(PARTS) - set(layers))
    if missing or gone:
        raise SystemExit(f"docs_layers: PARTS must name the parts of check_layers.py: missing {missing}, gone {gone}")
    places = {}
    for part, row in rows_of(layers).items():
        place = (row, PARTS[part][0])
        if place in places:
            raise SystemExit(f"docs_layers: {part} and {places[place]} stand in one place: change a column in PARTS")
        places[place] = part


def line(x1, y1, x2, y2):
    """A line that bends in the gap below its upper end and then falls straight."""
    gap = GAP_Y - 7
    bend = f"C{x1:.0f} {y1 + gap * 0.6:.0f} {x2:.0f} {y1 + gap * 0.4:.0f} {x2:.0f} {y1 + gap:.0f}"
    return f'<path d="M{x1:.0f} {y1:.0f}{bend}V{y2 - 6:.0f}" marker-end="url(#tip)"/>'


def draw(layers, built):
    check_table(layers)
    rows = rows_of(layers)
    top_row = max(rows.values())
    boxes = {part: Box(part, row, top_row) for part, row in rows.items()}
    below = {part: sorted(layers[part].split(), key=lambda o: (boxes[o].middle, o)) for part in layers}
    above = {part: sorted((p for p in layers if part in below[p]), key=lambda p: (boxes[p].middle, p))
             for part in layers}
    height = 2 * MARGIN + (top_row + 1) * HIGH + top_row * GAP_Y + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TOTAL} {height}" width="{TOTAL}" height="{height}"'
        ' font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" text-anchor="middle">',
        "<title>The parts of ridge and what they may include</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="6" markerHeight="6"'
        ' orient="auto"><path d="M0 0L8 4L0 8z" fill="#7c828b"/></marker></defs>',
        '<g fill="none" stroke="#7c828b" stroke-width="1.5">',
    ]
    for part in layers:
        for index, other in enumerate(below[part]):
            upper, lower = boxes[part], boxes[other]
            x1 = upper.port(index, len(below[part]))
            whole = PARTS[other][0] is None
            x2 = x1 if whole else lower.port(above[other].index(part), len(above[other]))
            out.append(line(x1, upper.y + HIGH, x2, lower.y))
    out.append("</g>")
    for part, box in boxes.items():
        ground, edge, dash = ("#dce9f7", "#2f6fb0", "") if part in built else \
            ("#d5d9de", "#5c636d", ' stroke-dasharray="5 4"')
        out.append(f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{HIGH}" rx="6"'
                   f' fill="{ground}" stroke="{edge}"{dash}/>')
        out.append(f'<text x="{box.middle:.0f}" y="{box.y + 19}" font-size="15" font-weight="600" fill="#14202e">'
                   f"{part}</text>")
        out.append(f'<text x="{box.middle:.0f}" y="{box.y + 36}" font-size="12" fill="#3a4654">'
                   f"{PARTS[part][1]}</text>")
    out.append(f'<text x="{MARGIN}" y="{height - MARGIN}" font-size="12" fill="#7c828b" text-anchor="start">'
               "An arrow reads: may include that part and what that part may include. "
               "Grey: without sources yet.</text>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def picture(root=ROOT):
    return draw(LAYERS, {part for part, _ in source_files(root)})


def main():
    path = os.path.join(ROOT, PICTURE)
    wanted = picture()
    if sys.argv[1:] == ["--check"]:
        try:
            with open(path, encoding="ascii") as file:
                same = file.read() == wanted
        except OSError:
            same = False
        if not same:
            print(f"{PICTURE} is not what the layer table gives: run tools/docs_layers.py")
        return 0 if same else 1
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    with open(path, "w", encoding="ascii") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
