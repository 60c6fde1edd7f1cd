"""The frame of an experiment's plot: a self-contained SVG with logarithmic axes.

Colours, fonts and the light ground are in the picture, so that it can be read
alone, in a page of either colour scheme, and on paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from daskperf_tasks.report.spelling import number
from daskperf_tasks.report.text_layout import plain

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 22, 64, 62
INK, SOFT, LINE, GROUND = "#1d2329", "#5a6570", "#e2dfd8", "#ffffff"
#: Told apart by people who do not see all colours, too (after Okabe and Ito).
COLOURS = ("#0b7285", "#c2571a", "#6a4c93", "#1a7f4b", "#b3261e", "#8a6100")
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
#: A light rim, so that words on lines can be read.
_HALO = f' stroke="{GROUND}" stroke-width="4" paint-order="stroke" stroke-linejoin="round"'
#: Width of a letter at 12 px, for laying texts out.
LETTER = 6.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A logarithmic axis: values to positions in px."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return a value's position; what lies outside is put on the edge."""
        share = math.log(min(max(value, self.low), self.high) / self.low)
        return self.start + (self.end - self.start) * share / math.log(self.high / self.low)


def scale(values: Sequence[float], start: float, end: float, pad: float = 0.07) -> Scale:
    """Return an axis that holds all values (above 0) with some room on both sides."""
    low, high = min(values), max(values)
    room = max((high / low) ** pad, 1.08)
    return Scale(low=low / room, high=high * room, start=start, end=end)


def ticks(axis: Scale) -> list[float]:
    """Return round numbers on an axis: 1, 2 and 5 by decade, fewer on a long one, more on a short.

    Examples
    --------
    >>> ticks(Scale(low=0.9, high=11.0, start=0.0, end=1.0))
    [1.0, 2.0, 5.0, 10.0]
    """
    spans = math.log10(axis.high / axis.low)
    steps: tuple[float, ...] = (1, 2, 5)
    if spans > 2.5:
        steps = (1,)
    elif spans < 0.7:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    every = max(1, math.ceil((last - first) / 8))
    found = [m * 10.0**e for e in range(first, last + 1, every) for m in steps]
    return [v for v in found if axis.low <= v <= axis.high]


def tick_label(value: float) -> str:
    """Write a number at an axis.

    Examples
    --------
    >>> [tick_label(v) for v in (0.005, 0.5, 2.0, 1000.0, 2e6, 3e9)]
    ['0.005', '0.5', '2', '1,000', '2M', '3G']
    """
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.4g}{letter}"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1e-3 else number(value)


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 12,
    fill: str = SOFT,
    anchor: str = "start",
    weight: str = "normal",
    turn: bool = False,
) -> str:
    """Return words at a place; foreign ones are escaped."""
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    rim = _HALO if weight != "normal" else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{turned}{rim}>{safe(words)}</text>'
    )


def rule(x1: float, y1: float, x2: float, y2: float, *, stroke: str = LINE, dash: str = "") -> str:
    """Return a straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{dashed}/>'
    )


def path(places: Sequence[tuple[float, float]], colour: str, *, dash: str = "") -> str:
    """Return a line through places."""
    if len(places) < 2:
        return ""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="1.8"{dashed}/>'


def marker(x: float, y: float, low: float, high: float, colour: str, tip: str) -> str:
    """Return a point with the whisker of its interval, and what it says when pointed at."""
    return (
        f'<g><title>{safe(tip)}</title><path d="M{x:.1f} {low:.1f}V{high:.1f}'
        f'M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8" fill="none" stroke="{colour}" '
        f'stroke-width="1.5"/>{dot(x, y, colour)}</g>'
    )


def dot(x: float, y: float, colour: str, size: float = 4.5) -> str:
    """Return a filled circle with a light rim."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}" stroke="{GROUND}" '
        'stroke-width="1" style="fill-opacity:1"/>'
    )


def safe(words: str) -> str:
    """Return foreign words as XML may hold them: escaped, without control characters."""
    return escape(plain(words), quote=True)


def cut(words: str, width: float, size: int = 12) -> str:
    """Cut words to a width in px."""
    most = max(4, int(width / (LETTER * size / 12)))
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def svg(parts: Sequence[str], label: str, height: float = HEIGHT) -> str:
    """Close the picture."""
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    ground = f'<rect width="{WIDTH}" height="{height:.0f}" rx="8" fill="{GROUND}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} role="img" '
        f'aria-label="{safe(label)}" font-family="{escape(_FONT, quote=True)}">'
        f"{ground}{''.join(parts)}</svg>"
    )
