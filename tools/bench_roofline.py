"""A model's roofline as SVG: each step of prefill and decode by operations a byte and GOP/s, log-log.

Greys and mid tones only, so that it reads on light and on dark paper. Labels stand in two columns, decode's on
the left and prefill's on the right, at most one a line, joined to their points.
"""
import math
from xml.sax.saxutils import escape

GREY = "#7c828b"
COLOURS = {"int8": "#2f7fc4", "bf16": "#a06cc8", "f32": "#8f8a3c"}
LEFT, RIGHT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 250, 260, 56, 560, 440
LINE = 17  # of a label


def label(step):
    text = f"{step['kind']} {step['name']}".strip()
    return text if step["kind"] != "product" else step["name"]


def shown(row):
    """Steps that have a place in the picture: some time, some operations."""
    return [step for step in row.get("steps", []) if step["ops_per_byte"] and step["gop_s"]]


def spread(wanted, low, high):
    """Heights near the wanted ones, in the same order, at least LINE apart, within low..high."""
    placed = []
    for y in wanted:
        placed.append(max(y, placed[-1] + LINE if placed else low))
    over = placed[-1] - high if placed else 0
    for index in range(len(placed) - 1, -1, -1):
        limit = high if index == len(placed) - 1 else placed[index + 1] - LINE
        if over > 0:
            placed[index] = min(placed[index], limit)
    return placed


class Scale:
    def __init__(self, rows, roofs):
        steps = [step for row in rows for step in shown(row)]
        xs, ys = [s["ops_per_byte"] for s in steps], [s["gop_s"] for s in steps]
        self.x0 = 10 ** math.floor(math.log10(min(xs + [0.5])))
        self.x1 = 10 ** math.ceil(math.log10(max(xs + [100.0]) * 1.5))
        self.y0 = 10 ** math.floor(math.log10(max(min(ys + [10.0]), 0.1)))
        self.y1 = 2 * max(list(roofs.values()) + ys)

    def x(self, value):
        return LEFT + PLOT_WIDTH * math.log10(value / self.x0) / math.log10(self.x1 / self.x0)

    def y(self, value):
        value = max(value, self.y0)
        return TOP + PLOT_HEIGHT * (1 - math.log10(value / self.y0) / math.log10(self.y1 / self.y0))


def grid(scale):
    out = []
    for axis, low, high in (("x", scale.x0, scale.x1), ("y", scale.y0, scale.y1)):
        value = low
        while value <= high * 1.001:
            text = f"{value:g}"
            if axis == "x":
                at = scale.x(value)
                out.append(f'<path d="M{at:.1f} {TOP}v{PLOT_HEIGHT}" stroke="{GREY}" stroke-opacity="0.25"/>')
                out.append(f'<text x="{at:.1f}" y="{TOP + PLOT_HEIGHT + 18}" text-anchor="middle">{text}</text>')
            else:
                at = scale.y(value)
                out.append(f'<path d="M{LEFT} {at:.1f}h{PLOT_WIDTH}" stroke="{GREY}" stroke-opacity="0.25"/>')
                out.append(f'<text x="{LEFT + 4}" y="{at - 4:.1f}" font-size="11">{text}</text>')
            value *= 10
    return out


def roof_lines(scale, read, roofs):
    out = []
    top = max(roofs.values())
    # From where the memory roof enters the plot to the ridge of the highest peak.
    begin, ridge = max(scale.x0, scale.y0 / read), top / read
    out.append(f'<path d="M{scale.x(begin):.1f} {scale.y(begin * read):.1f}L{scale.x(ridge):.1f} {scale.y(top):.1f}" '
               f'stroke="{GREY}" stroke-width="2" fill="none"/>')
    middle = 2 * begin
    rise = PLOT_HEIGHT / math.log10(scale.y1 / scale.y0) * math.log10(scale.x1 / scale.x0) / PLOT_WIDTH
    angle = -math.degrees(math.atan(rise))
    out.append(f'<text transform="translate({scale.x(middle):.1f} {scale.y(middle * read) - 7:.1f}) rotate({angle:.1f})">'
               f"reading {read:.0f} GB/s</text>")
    for kind, value in roofs.items():
        at = scale.y(value)
        out.append(f'<path d="M{scale.x(value / read):.1f} {at:.1f}H{LEFT + PLOT_WIDTH}" stroke="{COLOURS[kind]}" '
                   'stroke-width="2"/>')
        out.append(f'<text x="{scale.x(value / read) + 12:.1f}" y="{at - 5:.1f}" fill="{COLOURS[kind]}">'
                   f"{kind} {value:.0f} GOP/s</text>")
    return out


def points(scale, row, left):
    """Markers (squares on the left, circles on the right) with their labels and leaders."""
    steps = sorted(shown(row), key=lambda step: scale.y(step["gop_s"]))
    heights = spread([scale.y(step["gop_s"]) for step in steps], TOP + 14, TOP + PLOT_HEIGHT - 4)
    out = []
    for step, height in zip(steps, heights):
        x, y = scale.x(step["ops_per_byte"]), scale.y(step["gop_s"])
        colour = COLOURS[step["operations"]]
        edge = LEFT - 14 if left else LEFT + PLOT_WIDTH + 14
        out.append(f'<path d="M{x:.1f} {y:.1f}L{edge:.1f} {height - 4:.1f}" stroke="{GREY}" stroke-opacity="0.45"/>')
        if left:
            out.append(f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{colour}"/>')
        else:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{colour}"/>')
        percent = step["roof_percent"]
        share = "" if percent is None else " > 100 %" if percent > 100 else f" {percent:.0f} %"
        anchor = "end" if left else "start"
        out.append(f'<text x="{edge + (-5 if left else 5):.1f}" y="{height:.1f}" text-anchor="{anchor}">'
                   f"{escape(label(step))}{share}</text>")
    return out


def picture(model, prefill, decode):
    """SVG text, ASCII; `prefill` and `decode` are rows with steps. None where neither has any."""
    rows = [row for row in (prefill, decode) if row and shown(row)]
    if not rows or not rows[0]["read_gb_s_roof"]:
        return None
    roofs = {kind: max(row[f"{kind}_{unit}_s_roof"] for row in rows)
             for kind, unit in (("int8", "gop"), ("bf16", "gflop"), ("f32", "gflop"))}
    read = rows[-1]["read_gb_s_roof"]  # decode's, where there is one: what its steps are measured by
    if roofs["bf16"] <= roofs["f32"]:
        del roofs["bf16"]  # no instruction for it: one line for both
    scale = Scale(rows, roofs)
    width, height = LEFT + PLOT_WIDTH + RIGHT, TOP + PLOT_HEIGHT + 74
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
           ' font-family="system-ui, -apple-system, Segoe UI, DejaVu Sans, sans-serif" font-size="12.5">',
           f"<title>Roofline of {escape(model['title'])}</title>", f'<g fill="{GREY}">',
           f'<text x="{LEFT}" y="22" font-size="15">{escape(model["title"])}: steps by operations a byte and GOP/s</text>']
    if decode in rows:
        out.append(f'<text x="{LEFT - 19}" y="{TOP - 12}" text-anchor="end">decode, {decode["test"]} (squares)</text>')
    if prefill in rows:
        out.append(f'<text x="{LEFT + PLOT_WIDTH + 19}" y="{TOP - 12}">prefill, {prefill["test"]} (circles)</text>')
    out += grid(scale)
    out.append(f'<text x="{LEFT + 4}" y="{TOP + 14}">GOP/s</text>')
    out.append(f'<text x="{LEFT + PLOT_WIDTH / 2}" y="{TOP + PLOT_HEIGHT + 38}" text-anchor="middle">'
               "operations a byte</text>")
    out += roof_lines(scale, read, roofs)
    for row in rows:
        out += points(scale, row, row is decode)
    out.append(f'<text x="{LEFT}" y="{height - 12}">{escape(model["cpu"])}, {model["kernels"]} kernels, '
               f'{model["threads"]} threads, {model["date"]}; % of the step\'s own roof</text>')
    out += ["</g>", "</svg>"]
    return ("\n".join(out) + "\n").encode("ascii", "xmlcharrefreplace").decode("ascii")
