"""Plots as SVG that stands inside of a page: bars and lines, with nothing from elsewhere."""
import math
from html import escape

COLOURS = ["#1f6f8b", "#d1603d", "#6a994e", "#7b5ea7", "#b08900", "#5c6770", "#c2557a", "#2a9d8f"]
WIDTH, RIGHT, BAR = 860, 90, 13
LABEL_MIN, CHARACTER = 100, 6.5         # room left of bars; for a letter


def colour(index):
    return COLOURS[index % len(COLOURS)]


def short(number):
    """A figure of three digits, for people."""
    for limit, unit, suffix in (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"):
        if abs(number) >= limit:
            return f"{number / unit:.3g}{suffix}"
    return f"{number:.0f}" if abs(number) >= 100 else f"{number:.3g}"


def size(number):
    for shift, suffix in (20, "M"), (10, "K"):
        if number >= 1 << shift and number % (1 << shift) == 0:
            return f"{number >> shift}{suffix}"
    return str(number)


def text(x, y, words, anchor="start", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(str(words))}</text>'


def svg(height, parts, title):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img">'
            f"<title>{escape(title)}</title>{''.join(parts)}</svg>")


def legend(names, x):
    parts = []
    for i, name in enumerate(names):
        parts.append(f'<rect x="{x}" y="5" width="10" height="10" fill="{colour(i)}"/>' + text(x + 14, 14, name))
        x += 30 + CHARACTER * len(name)
    return parts


def bars(title, rows, names, marks=None, unit=""):
    """Horizontal bars: rows are (label, [value or None for each name]); marks gives some labels a line, a target."""
    marks = marks or {}
    most = max([v for _, vs in rows for v in vs if v] + list(marks.values()), default=0) or 1
    left = max([LABEL_MIN] + [12 + CHARACTER * len(label) for label, _ in rows])
    scale = (WIDTH - left - RIGHT) / most
    parts, y = legend(names, left), 30
    for label, numbers in rows:
        top = y
        parts.append(text(left - 8, y + len(numbers) * BAR / 2 + 4, label, "end"))
        for i, number in enumerate(numbers):
            if number is not None:
                said = escape(f"{label}, {names[i]}: {short(number)} {unit}")
                parts.append(f'<rect x="{left}" y="{y}" width="{max(number * scale, 1):.1f}" height="{BAR - 2}" '
                             f'fill="{colour(i)}"><title>{said}</title></rect>' +
                             text(left + number * scale + 5, y + 10, short(number)))
            y += BAR
        if label in marks:
            x = left + marks[label] * scale
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2}" y2="{y}" class="target">'
                         f"<title>target {marks[label]:g}</title></line>")
        y += 8
    return svg(y + 4, parts, title)


def ticks(most):
    step = 10 ** math.floor(math.log10(most))
    while most / step < 4:
        step /= 2
    return [i * step for i in range(int(most / step) + 1)]


def lines(title, series, unit, shown=size):
    """Lines over a logarithmic x: series is {name: [(x, y)]}."""
    left, bottom, top = 70, 300, 30
    points = [p for line in series.values() for p in line]
    if not points:
        return ""
    low, high = math.log(min(x for x, _ in points)), math.log(max(x for x, _ in points))
    most = max(y for _, y in points) or 1

    def at(x, y):
        return (left + (math.log(x) - low) / ((high - low) or 1) * (WIDTH - left - 30),
                bottom - y / most * (bottom - top))

    parts = legend(list(series), left + 30)
    for y in ticks(most):
        _, line = at(math.exp(low), y)
        parts.append(f'<line x1="{left}" x2="{WIDTH - 30}" y1="{line:.1f}" y2="{line:.1f}" class="grid"/>' +
                     text(left - 6, line + 4, short(y), "end"))
    last = -100.0
    for x in sorted({x for x, _ in points}):
        place, _ = at(x, 0)
        if place - last > 36:
            parts.append(text(place, bottom + 16, shown(x), "middle"))
            last = place
    for i, (name, line) in enumerate(series.items()):
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in sorted(line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(i)}" stroke-width="1.8"/>')
        for x, y in line:
            px, py = at(x, y)
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour(i)}">'
                         f"<title>{escape(name)}, {shown(x)}: {short(y)} {escape(unit)}</title></circle>")
    parts.append(text(8, 14, unit))
    return svg(bottom + 30, parts, title)
