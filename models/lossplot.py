"""Draws the loss curves of train.py as a small SVG."""

import math

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 50
COLOURS = ["#1f5fa8", "#c2571a"]
TICKS_Y = [0.2, 0.5, 1, 2, 5]


def picture(curves):
    """curves: (name, losses file as train.py writes it); loss on a log axis over tokens seen."""
    most = max(len(c["train"]) * c["tokens_a_step"] for _, c in curves)
    low = min(min(v for _, v in c["held_out"]) for _, c in curves) * 0.85
    high = max(c["train"][0] for _, c in curves) * 1.1

    def x(tokens):
        return LEFT + (WIDTH - LEFT - RIGHT) * tokens / most

    def y(loss):
        return TOP + (HEIGHT - TOP - BOTTOM) * math.log(high / loss) / math.log(high / low)

    def label(at_x, at_y, words, anchor="middle", colour="#333"):
        return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
           label(LEFT, 22, "Loss a token (nats, log scale): line training, dots held-out stories", "start")]
    for loss in TICKS_Y:
        if low <= loss <= high:
            out.append(f'<path d="M{LEFT} {y(loss):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
            out.append(label(LEFT - 8, y(loss) + 4, loss, "end"))
    step = max(1, round(most / 6e6)) * 1_000_000
    for tokens in range(0, most + 1, step):
        out.append(label(x(tokens), HEIGHT - BOTTOM + 20, f"{tokens // 1_000_000}"))
    out.append(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "million tokens seen"))
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" stroke="#333" fill="none"/>')
    for n, (name, curve) in enumerate(curves):
        colour, a_step = COLOURS[n % len(COLOURS)], curve["tokens_a_step"]
        points, smooth = [], curve["train"][0]
        for i, loss in enumerate(curve["train"]):
            smooth = 0.9 * smooth + 0.1 * loss
            if i % 10 == 0 or i + 1 == len(curve["train"]):
                points.append(f"{x((i + 1) * a_step):.1f} {y(smooth):.1f}")
        out.append(f'<path d="M{"L".join(points)}" stroke="{colour}" fill="none" stroke-width="1.5"/>')
        for i, loss in curve["held_out"]:
            out.append(f'<circle cx="{x(i * a_step):.1f}" cy="{y(loss):.1f}" r="2.5" fill="{colour}"/>')
        words = f'{name}: {curve["parameters"] / 1e6:.2f} M parameters, held out {curve["held_out"][-1][1]:.3f}'
        out.append(label(WIDTH - RIGHT - 10, TOP + 56 + 20 * n, words, "end", colour))
    return "\n".join(out) + "\n</svg>\n"
