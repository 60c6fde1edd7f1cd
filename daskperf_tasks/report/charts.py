"""Small inline SVG charts, drawn by hand: no script, no font, colours from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.results import CellSummary, Estimate
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import number
from daskperf_tasks.report.tables import PairTable

WIDTH = 460
_LEFT = 64
_RIGHT = 14


def samples_chart(inputs: ReportInputs, table: PairTable) -> str:
    """Every makespan of a pair as a dot, by round; the line is the median.

    Returns
    -------
    str
        An ``<svg>``, or an empty string when there is no sample.
    """
    lanes: list[tuple[Side, list[tuple[int, float]]]] = []
    for side, cell in _sides(table):
        dots = _dots(inputs, cell)
        if dots:
            lanes.append((side, dots))
    values = [v for _, dots in lanes for _, v in dots]
    if not values:
        return ""
    top = _nice(max(values))
    height = 46 * len(lanes) + 30
    parts = [_axis(top, 46 * len(lanes) + 4)]
    for i, (side, dots) in enumerate(lanes):
        middle = 25 + 46 * i
        parts.append(f'<text class="t" x="0" y="{middle + 4}">{side}</text>')
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{middle}" y2="{middle}"/>'
        )
        rounds = sorted({r for r, _ in dots})
        for r, v in dots:
            y = middle + _offset(rounds.index(r), len(rounds))
            parts.append(
                f'<circle class="{side}" cx="{_x(v, top):.1f}" cy="{y:.1f}" r="3.2">'
                f"<title>round {r + 1}: {number(v)} s</title></circle>"
            )
        ordered = sorted(v for _, v in dots)
        half = len(ordered) // 2
        median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
        x = _x(median, top)
        parts.append(f'<path class="median" d="M{x:.1f} {middle - 18}V{middle + 18}"/>')
    return _svg(parts, height, f"Makespan of every repeat of {table.label}, in seconds")


def throughput_chart(table: PairTable) -> str:
    """Throughput by thread and by effective thread as bars with intervals."""
    bars: list[tuple[str, Side, Estimate]] = []
    for name, title in (
        ("throughput_per_thread", "/thread"),
        ("throughput_per_effective_thread", "/eff. thr"),
    ):
        for side, cell in _sides(table):
            value = cell.metrics.get(name)
            if isinstance(value, Estimate):
                bars.append((title, side, value))
    if not bars:
        return ""
    top = _nice(max(max(b.high, b.value) for _, _, b in bars))
    height = 24 * len(bars) + 30
    parts = [_axis(top, 24 * len(bars) + 4)]
    last = ""
    for i, (title, side, value) in enumerate(bars):
        y = 6 + 24 * i
        if title != last:
            parts.append(f'<text class="t" x="0" y="{y + 13}">{title}</text>')
            last = title
        parts.append(
            f'<rect class="{side}" x="{_LEFT}" y="{y}" height="16" rx="2" '
            f'width="{max(_x(value.value, top) - _LEFT, 1):.1f}">'
            f"<title>{side}: {number(value.value)} [{number(value.low)}, {number(value.high)}]"
            "</title></rect>"
        )
        low, high = _x(value.low, top), _x(value.high, top)
        parts.append(
            f'<path class="whisker" d="M{low:.1f} {y + 8}H{high:.1f}M{low:.1f} {y + 4}v8'
            f'M{high:.1f} {y + 4}v8"/>'
        )
    return _svg(parts, height, f"Throughput of {table.label} by thread and effective thread")


def _sides(table: PairTable) -> Sequence[tuple[Side, CellSummary]]:
    found: list[tuple[Side, CellSummary]] = []
    if table.local is not None:
        found.append(("local", table.local))
    if table.remote is not None:
        found.append(("remote", table.remote))
    return found


def _dots(inputs: ReportInputs, cell: CellSummary) -> list[tuple[int, float]]:
    rounds: dict[int, list[tuple[int, float]]] = {}
    for b in sorted(inputs.blocks, key=lambda b: (b.round, b.attempt)):
        if b.cell_id == cell.cell_id and b.arm == cell.arm and b.valid and b.measured:
            rounds.setdefault(b.round, [(b.round, s.makespan_s) for s in b.measured])
    return [d for dots in rounds.values() for d in dots]


def _offset(index: int, count: int) -> float:
    return 0.0 if count < 2 else (index / (count - 1) - 0.5) * 22


def _x(value: float, top: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(max(value / top, 0.0), 1.0)


def _nice(value: float) -> float:
    """The next end of an axis whose quarters are short numbers."""
    if value <= 0:
        return 1.0
    base = 10.0 ** math.floor(math.log10(value))
    ends = (1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0)
    return next((base * e for e in ends if base * e >= value), base * 10)


def _axis(top: float, y: int) -> str:
    parts = []
    for k in range(5):
        value = top * k / 4
        x = _x(value, top)
        anchor = "start" if k == 0 else "end" if k == 4 else "middle"
        text = f"{value:g}"
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{y}"/>')
        parts.append(
            f'<text class="t" x="{x:.1f}" y="{y + 15}" text-anchor="{anchor}">{text}</text>'
        )
    return "".join(parts)


def _svg(parts: Sequence[str], height: int, label: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(label, quote=True)}">{"".join(parts)}</svg>'
    )
