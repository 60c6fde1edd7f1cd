"""An experiment's plot: points with intervals, the fitted curve, the knee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daskperf_tasks.model.experiment import (
    ExperimentResult,
    Kind,
    Knee,
    PlannedExperiment,
    PointResult,
)
from daskperf_tasks.model.results import Estimate
from daskperf_tasks.report import experiments_plot as draw
from daskperf_tasks.report.experiments_plot import (
    BOTTOM,
    HEIGHT,
    INK,
    LEFT,
    RIGHT,
    SOFT,
    TOP,
    WIDTH,
)
from daskperf_tasks.report.spelling import number, one_line

#: Title of the vertical axis by kind of experiment; the others are charts of categories.
_HEIGHTS: dict[Kind, str] = {
    "task-size": "makespan, s",
    "workers": "speed-up against the fewest workers",
    "chunks": "makespan, s",
    "granularity": "useful iterations / s",
}
_ROW = 46


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    label: str
    series: str
    x: float
    y: Estimate


def experiment_svg(planned: PlannedExperiment, result: ExperimentResult) -> str:
    """Draw an experiment as a self-contained SVG.

    Parameters
    ----------
    planned
        Its question, axis, series and prediction.
    result
        Its answer. Points without figures are named below the axes.
    """
    if result.kind in _HEIGHTS:
        return _curves(planned, result)
    return _categories(planned, result)


def _head(planned: PlannedExperiment) -> list[str]:
    return [
        draw.text(16, 24, one_line(planned.name, 60), size=15, fill=INK, weight="600"),
        draw.text(16, 42, draw.cut(one_line(planned.question), WIDTH - 32)),
    ]


def _lost(result: ExperimentResult, y: float) -> list[str]:
    lost = [p for p in result.points if p.state != "measured"]
    if not lost:
        return []
    words = "without figures: " + "; ".join(f"{p.label} ({p.reason})" for p in lost)
    return [draw.text(16, y, draw.cut(one_line(words), WIDTH - 32, 11), size=11, fill="#b3261e")]


def _empty(planned: PlannedExperiment, result: ExperimentResult) -> str:
    words = draw.text(16, 84, "Nothing to draw: no point has a figure.", fill=INK)
    return draw.svg([*_head(planned), words, *_lost(result, 108)], _label(planned), 124)


def _label(planned: PlannedExperiment) -> str:
    return f"Plot of the experiment {planned.name}: {planned.question}"


def _marks(planned: PlannedExperiment, result: ExperimentResult) -> list[_Mark]:
    found = []
    by_label = {p.label: p for p in result.points}
    for point in planned.points:
        row = by_label.get(point.label)
        y = _height(row, result.kind) if row else None
        if point.x is not None and point.x > 0 and isinstance(y, Estimate) and y.low > 0:
            found.append(_Mark(label=point.label, series=point.series, x=point.x, y=y))
    return found


def _height(point: PointResult, kind: Kind) -> object:
    if kind == "workers":
        return point.speedup
    if kind == "granularity":
        return point.more.get("iterations_per_s")
    return point.makespan_s


def _curves(planned: PlannedExperiment, result: ExperimentResult) -> str:
    marks = _marks(planned, result)
    if not marks:
        return _empty(planned, result)
    series = list(dict.fromkeys(p.series for p in planned.points))
    colour = {name: draw.COLOURS[i % len(draw.COLOURS)] for i, name in enumerate(series)}
    x = draw.scale([m.x for m in marks], LEFT, WIDTH - RIGHT)
    curves = {f.series: [(a, b) for a, b in f.curve if a > 0 and b > 0] for f in result.fits}
    heights = [v for m in marks for v in (m.y.low, m.y.high)]
    heights += [b for curve in curves.values() for _, b in curve]
    y = draw.scale(heights, HEIGHT - BOTTOM, TOP + 18)
    parts = [*_head(planned), *_axes(planned, result.kind, marks, x, y)]
    knees = [(f.series, f.knee) for f in result.fits if isinstance(f.knee, Knee)]
    for i, (name, knee) in enumerate(knees):
        parts += _knee(knee, x, i, colour[name])
    if result.kind == "workers":
        parts.append(_ideal(marks, x, y))
    for name, curve in curves.items():
        dash = "2 4" if result.kind == "chunks" else ""
        parts.append(draw.path([(x.at(a), y.at(b)) for a, b in curve], colour[name], dash=dash))
    for name in series if result.kind == "granularity" else ():
        mine = sorted((m for m in marks if m.series == name), key=lambda m: m.x)
        parts.append(draw.path([(x.at(m.x), y.at(m.y.value)) for m in mine], colour[name]))
    if result.kind == "granularity":
        parts += _half_lines(result, x, y, colour)
    for m in marks:
        tip = f"{m.label}: {number(m.y.value)} [{number(m.y.low)}, {number(m.y.high)}]"
        parts.append(
            draw.marker(
                x.at(m.x), y.at(m.y.value), y.at(m.y.low), y.at(m.y.high), colour[m.series], tip
            )
        )
    parts += _legend(series, colour, result.kind)
    return draw.svg([*parts, *_lost(result, HEIGHT - 6)], _label(planned))


def _axes(
    planned: PlannedExperiment,
    kind: Kind,
    marks: Sequence[_Mark],
    x: draw.Scale,
    y: draw.Scale,
) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in draw.ticks(y):
        at = y.at(value)
        parts.append(draw.rule(LEFT, at, WIDTH - RIGHT, at))
        parts.append(draw.text(LEFT - 8, at + 4, draw.tick_label(value), anchor="end"))
    last = -1e9
    for value in sorted({m.x for m in marks}):  # what was measured, as far as there is room
        at, label = x.at(value), draw.tick_label(value)
        half = draw.LETTER * len(label) / 2
        parts.append(draw.rule(at, bottom, at, bottom + 5, stroke=SOFT))
        if at - half > last + 6:
            parts.append(draw.text(at, bottom + 19, label, anchor="middle"))
            last = at + half
    parts.append(draw.rule(LEFT, bottom, WIDTH - RIGHT, bottom, stroke=SOFT))
    middle = (TOP + bottom) / 2
    parts.append(draw.text(18, middle, _HEIGHTS[kind], fill=INK, anchor="middle", turn=True))
    axis = f"{planned.axis} (logarithmic, as the other axis)"
    parts.append(
        draw.text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, axis, fill=INK, anchor="middle")
    )
    return parts


def _knee(knee: Knee, x: draw.Scale, row: int, colour: str) -> list[str]:
    at, low, high = x.at(knee.value), x.at(knee.low), x.at(knee.high)
    value, *ends = (draw.tick_label(float(f"{v:.3g}")) for v in (knee.value, knee.low, knee.high))
    label = f"knee {value}"
    if knee.low != knee.high:
        label += f" [{ends[0]}, {ends[1]}]"
    right = at + draw.LETTER * len(label) + 8 < WIDTH - RIGHT
    y = TOP + 14 + 16 * row
    band = (
        f'<rect x="{low:.1f}" y="{TOP}" width="{max(high - low, 0.5):.1f}" '
        f'height="{HEIGHT - BOTTOM - TOP}" fill="{colour}" style="fill-opacity:0.12"/>'
    )
    return [
        band,
        draw.rule(at, TOP, at, HEIGHT - BOTTOM, stroke=colour, dash="6 4"),
        draw.text(
            at + 6 if right else at - 6, y, label, fill=colour,
            anchor="start" if right else "end", weight="600",
        ),
    ]  # fmt: skip


def _ideal(marks: Sequence[_Mark], x: draw.Scale, y: draw.Scale) -> str:
    """Speed-up as many times as workers, from the fewest workers on, as far as the axes go."""
    first = min(m.x for m in marks)
    end = min(max(m.x for m in marks), y.high * first)
    if end <= first:
        return ""
    places = [(x.at(first), y.at(1.0)), (x.at(end), y.at(end / first))]
    return draw.path(places, SOFT, dash="3 4")


def _half_lines(
    result: ExperimentResult, x: draw.Scale, y: draw.Scale, colour: dict[str, str]
) -> list[str]:
    parts = []
    for f in result.fits:
        peak = f.parameters.get("peak_iterations_per_s")
        if isinstance(peak, Estimate) and isinstance(f.knee, Knee):
            at = y.at(peak.value / 2)
            parts.append(
                draw.rule(LEFT, at, x.at(f.knee.value), at, stroke=colour[f.series], dash="2 4")
            )
            parts.append(
                draw.text(LEFT + 6, at - 5, "50 % of the peak", size=11, fill=colour[f.series])
            )
            break  # the others' lie so close that they would cover it
    return parts


def _legend(series: Sequence[str], colour: dict[str, str], kind: Kind) -> list[str]:
    named = [(name, colour[name], "") for name in series if name]
    fitted = {"task-size": "fit", "workers": "Amdahl fit", "chunks": "fit at the points"}
    if not named and kind in fitted:
        named = [("measured", colour[series[0]], "")]
    parts, at = [], float(LEFT)
    for name, shade, _ in named:
        shown = draw.cut(name, 170)
        parts.append(draw.dot(at + 5, 56, shade))
        parts.append(draw.text(at + 14, 60, shown, fill=INK))
        at += 14 + draw.LETTER * len(shown) + 20
    lines = [(fitted[kind], SOFT, "2 4" if kind == "chunks" else "")] if kind in fitted else []
    if kind == "workers":
        lines.append(("ideal", SOFT, "3 4"))
    for name, shade, dash in lines:
        parts.append(draw.path([(at, 56), (at + 22, 56)], shade, dash=dash))
        parts.append(draw.text(at + 28, 60, name, fill=INK))
        at += 28 + draw.LETTER * len(name) + 20
    return parts


def _categories(planned: PlannedExperiment, result: ExperimentResult) -> str:
    rows = [(p, p.makespan_s) for p in result.points if isinstance(p.makespan_s, Estimate)]
    if not rows:
        return _empty(planned, result)
    left = min(240.0, 24 + draw.LETTER * max(len(p.label) for p, _ in rows))
    height = 70 + _ROW * len(rows) + 56
    bottom = 62 + _ROW * len(rows)
    x = draw.scale([v for _, e in rows for v in (e.low, e.high)], left, WIDTH - 140)
    parts = _head(planned)
    for value in draw.ticks(x):
        at = x.at(value)
        parts.append(draw.rule(at, 58, at, bottom))
        parts.append(draw.text(at, bottom + 17, draw.tick_label(value), anchor="middle"))
    parts.append(
        draw.text((left + WIDTH - 140) / 2, bottom + 36, "makespan, s (logarithmic)", fill=INK,
                  anchor="middle")
    )  # fmt: skip
    if any(isinstance(p.speedup, Estimate) for p, _ in rows):
        parts.append(draw.text(WIDTH - 16, 54, "speed-up", size=11, anchor="end"))
    order = planned.prediction.order if planned.prediction else ()
    for i, (point, span) in enumerate(rows):
        y = 58 + _ROW * i + _ROW / 2
        best = point.label == result.recommended
        shade = draw.COLOURS[0] if best else SOFT
        label = draw.cut(one_line(point.label), left - 22)
        parts.append(
            draw.text(
                left - 12, y + 4, label, fill=INK, anchor="end", weight="600" if best else "normal"
            )
        )
        if point.label in order:
            rank = f"predicted {order.index(point.label) + 1} of {len(order)}"
            parts.append(draw.text(left - 12, y + 18, rank, size=11, anchor="end"))
        parts.append(draw.rule(left, y, WIDTH - 140, y))
        parts.append(
            f'<path d="M{x.at(span.low):.1f} {y:.1f}H{x.at(span.high):.1f}" stroke="{shade}" '
            'stroke-width="3"/>'
            f'<path d="M{x.at(span.low):.1f} {y - 5:.1f}v10M{x.at(span.high):.1f} {y - 5:.1f}v10" '
            f'stroke="{shade}" stroke-width="1.5"/>'
        )
        parts.append(draw.dot(x.at(span.value), y, shade, 5.5))
        note = f"{number(span.value)} s"
        parts.append(
            draw.text(WIDTH - 128, y + 4, note, fill=INK, weight="600" if best else "normal")
        )
        if isinstance(point.speedup, Estimate):
            times = f"×{number(point.speedup.value)}"
            parts.append(draw.text(WIDTH - 16, y + 4, times, fill=SOFT, anchor="end"))
    return draw.svg([*parts, *_lost(result, height - 6)], _label(planned), height)
