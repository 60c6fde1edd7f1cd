"""The picture of a task stream: a panel a round, cells as bands, threads as lanes."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.report.html import css
from daskperf_tasks.report.labels import short_labels
from daskperf_tasks.report.spelling import counted, number
from daskperf_tasks.report.timeline_lanes import MAX_RECTANGLES, Bar, Drawing, Stretch, drawing

__all__ = ["MAX_RECTANGLES", "timeline_html"]

WIDTH = 1400
LEFT = 104
_LANE = 24
#: Room above the lanes: the panel's name, the bands of the cells, the strip of repeats.
_NAME, _BAND, _STRIP = 20, 32, 7
_BELOW = 34
#: Width of a letter of the labels, for what fits into a band.
_LETTER = 5.8
_ACTIONS = {
    "transfer": "#d1495b",
    "deserialize": "#8d99ae",
    "disk-read": "#e0a100",
    "disk-write": "#b3541e",
}
_NAMES = ("#2a9d8f", "#4c78c9", "#8a6fc9", "#e09f3e", "#5b8e3e", "#c26ba8", "#3f8fa8", "#a86a3f")
_DISK = (
    "disk-read and disk-write are Dask's names for fetching or storing a task's data when that "
    "took over 5 ms: a busy machine shows them without anything being spilled to disk."
)


def timeline_html(task_stream_table: Any, title: str) -> str:
    """Draw a task stream as one self-contained HTML page.

    Parameters
    ----------
    task_stream_table
        A pyarrow table, a mapping of arrays or a list of row mappings with
        ``worker``, ``thread``, ``action``, ``name``, ``start_s``, ``stop_s`` and,
        where there, ``worker_name``, ``cell_id``, ``arm``, ``round``, ``attempt``,
        ``repeat``, ``phase``.
    title
        Heading; foreign text is escaped.

    Notes
    -----
    Idle time between repeats is cut out, so that what is drawn is measured time.
    All panels have the same scale.
    """
    found = drawing(task_stream_table)
    if found is None:
        return _page(title, "<p>The task stream is empty: nothing was drawn.</p>")
    used = sorted({b.name for b in found.bars if b.action == "compute"})
    span = max(max(found.spans_s), 1e-9)
    scale = (WIDTH - LEFT - 10) / span
    labels = _labels(found)
    panels = "".join(
        f'<div class="card scroll">{_panel(found, i, scale, span, used, labels)}</div>'
        for i in range(len(found.panels))
    )
    said = f"{len(found.bars):,} rectangles drawn for {found.intervals:,} intervals"
    if found.merged:
        said += f"; {found.merged:,} were merged with a neighbour of the same lane, name and action"
    said += ". Each lane is a thread; pauses between repeats are cut out."
    if found.blocks:
        said += " A band is a block of one cell; the strip below it shows its repeats."
    if any(b.action.startswith("disk-") for b in found.bars):
        said += f" {_DISK}"
    return _page(
        title, f'<p class="soft small">{said}</p>{_legend(found, used)}{panels}', wide=True
    )


def _panel(
    found: Drawing,
    index: int,
    scale: float,
    span: float,
    used: Sequence[str],
    labels: Mapping[str, tuple[str, ...]],
) -> str:
    lanes = found.lanes_of[index]
    top = (_NAME if found.panels[index] else 4) + (_BAND if found.blocks else 0)
    top += _STRIP if found.repeats else 0
    bottom = top + len(lanes) * _LANE
    height = bottom + _BELOW - 10
    parts = [_axis(span, scale, bottom, height)]
    if found.panels[index]:
        length = f"{number(found.spans_s[index])} s without the pauses"
        parts.append(
            f'<text class="t name" x="0" y="12">{escape(found.panels[index])}, {length}</text>'
        )
    y = _NAME if found.panels[index] else 4
    here = [b for b in found.blocks if b.panel == index]
    for i, block in enumerate(here):
        parts.append(_band(block, i, y, bottom, scale, labels.get(block.cell_id, (block.cell_id,))))
    for repeat in (r for r in found.repeats if r.panel == index):
        parts.append(_repeat(repeat, y + _BAND, scale))
    for i, lane in enumerate(lanes):
        middle = top + i * _LANE + _LANE // 2 + 4
        parts.append(
            f'<text class="t" x="0" y="{middle}">{escape(_short(found.lanes[lane]))}</text>'
        )
    bars = [b for b in found.bars if b.panel == index]
    for bar in sorted(bars, key=lambda b: b.action != "compute"):
        parts.append(_bar(bar, top + lanes.index(bar.lane) * _LANE, scale, used))
    label = escape(f"Task stream, {found.panels[index] or 'all'}", quote=True)
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{label}">{"".join(parts)}</svg>'
    )


def _band(block: Stretch, i: int, y: int, bottom: int, scale: float, names: tuple[str, ...]) -> str:
    """Draw a block: what on the first line, where on the second, as far as they fit.

    ``names`` are the full name, then what, a shorter what, and where; or the full one alone.
    """
    x, width = LEFT + block.start_s * scale, max((block.stop_s - block.start_s) * scale, 1.0)
    length = f"{number(max(block.stop_s - block.start_s, 0.0))} s"
    title = f"<title>{escape(names[0])}: {counted(block.tasks, 'task')}, {length}</title>"
    fits = int((width - 6) / _LETTER)
    lines = (names[1:3], names[3:4]) if len(names) > 1 else (names, ())
    shown = "".join(
        f'<text class="t" x="{x + 4:.1f}" y="{y + 12 + 13 * row}">{escape(text)}</text>'
        for row, options in enumerate(lines)
        if (text := _fitting(options, fits))
    )
    return (
        f'<g class="band">{title}<path class="b{i % 2}" d="M{x:.1f} {y}h{width:.1f}v{_BAND - 2}'
        f'h-{width:.1f}z"/><path class="edge" d="M{x:.1f} {y}V{bottom}"/>{shown}</g>'
    )


def _fitting(options: Sequence[str], fits: int) -> str:
    """Return the first name that fits, or as much of the last as does."""
    for text in options:
        if len(text) <= fits:
            return text
    return options[-1][: fits - 1] + "…" if options and fits > 3 else ""


def _repeat(repeat: Stretch, y: int, scale: float) -> str:
    x, width = LEFT + repeat.start_s * scale, (repeat.stop_s - repeat.start_s) * scale
    return (
        f'<path class="{"measure" if repeat.phase == "measure" else "warm"}" '
        f'd="M{x:.1f} {y}h{max(width - 0.8, 0.8):.1f}v3h-{max(width - 0.8, 0.8):.1f}z">'
        f"<title>repeat {repeat.repeat + 1}, {escape(repeat.phase)}: "
        f"{number(max(repeat.stop_s - repeat.start_s, 0.0))} s</title></path>"
    )


def _bar(bar: Bar, y: int, scale: float, used: Sequence[str]) -> str:
    compute = bar.action == "compute"
    inset = 0 if compute else 4
    many = f", {bar.count} merged" if bar.count > 1 else ""
    width = max((bar.stop_s - bar.start_s) * scale, 0.4 if compute else 2.0)
    return (
        f'<rect x="{min(LEFT + bar.start_s * scale, WIDTH - width):.2f}" y="{y + 1 + inset}" '
        f'width="{width:.2f}" height="{_LANE - 3 - 2 * inset}" '
        f'fill="{_colour(bar.name, bar.action, used)}"><title>{escape(bar.name)}, '
        f"{escape(bar.action)}: {number(max(bar.stop_s - bar.start_s, 0.0))} s from "
        f"{number(max(bar.start_s, 0.0))} s{many}</title></rect>"
    )


def _legend(found: Drawing, used: Sequence[str]) -> str:
    """List what is drawn, with its number."""
    drawn: Counter[tuple[str, str]] = Counter()
    for b in found.bars:
        drawn[("", b.name) if b.action == "compute" else ("action", b.action)] += b.count
    parts = [_entry(_colour(n, "compute", used), f"{n} ({drawn['', n]:,})") for n in used[:24]]
    parts += [f"<li>and {len(used) - 24} more names</li>"] if len(used) > 24 else []
    parts += [
        _entry(_colour("", action, used), f"{action} ({count:,})")
        for (kind, action), count in sorted(drawn.items())
        if kind
    ]
    if found.repeats:
        parts.append('<li><i class="warm"></i>warm-up</li><li><i class="measure"></i>measured</li>')
    return f'<ul class="legend">{"".join(parts)}</ul>'


def _entry(colour: str, text: str) -> str:
    return f'<li><i style="background:{colour}"></i>{escape(text)}</li>'


def _labels(found: Drawing) -> dict[str, tuple[str, ...]]:
    """Return full name, what, a shorter what, and where of each cell; or its id alone."""
    ids = list(dict.fromkeys(b.cell_id for b in found.blocks))
    try:
        labels, cells = short_labels(ids), {i: parse_cell_id(i) for i in ids}
    except InputError:
        return {i: (i,) for i in ids}
    works = {i: labels.work(c) for i, c in cells.items()}
    return {
        i: (labels.cell(i), works[i], works[i].removeprefix(f"{c.workload} "), c.env)
        for i, c in cells.items()
    }


def _colour(name: str, action: str, used: Sequence[str]) -> str:
    if action != "compute":
        return _ACTIONS.get(action, "#8d99ae")
    if name in used[: len(_NAMES)]:
        return _NAMES[used.index(name)]
    return _NAMES[hashlib.sha256(name.encode()).digest()[0] % len(_NAMES)]


def _axis(span: float, scale: float, bottom: int, height: int) -> str:
    parts = []
    step = _step(span)
    for k in range(int(span / step + 1e-9) + 1):
        x = LEFT + step * k * scale
        anchor = "start" if k == 0 else "end" if x > WIDTH - 30 else "middle"
        parts.append(f'<path class="grid" d="M{x:.1f} {_NAME}V{bottom + 4}"/>')
        parts.append(
            f'<text class="t" x="{x:.1f}" y="{height - 6}" text-anchor="{anchor}">'
            f"{step * k:g} s</text>"
        )
    return "".join(parts)


def _step(span: float) -> float:
    """Return a round distance of ticks that gives 5 to 13 of them."""
    base = 10.0 ** math.floor(math.log10(span))
    return float(next(base * f for f in (1.0, 0.5, 0.2, 0.1) if span / (base * f) >= 4))


def _short(text: str) -> str:
    return text if len(text) <= 16 else "…" + text[-15:]


_STYLE = (
    "main.wide{max-width:1500px}"
    "ul.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px;"
    "font-size:.85rem}ul.legend i{display:inline-block;width:10px;height:10px;"
    "border-radius:2px;margin-right:6px}main.wide p{max-width:110ch}"
    "svg.timeline{display:block;width:100%;min-width:900px;height:auto}"
    "svg .name{font-weight:600}svg .b0{fill:var(--tint)}svg .b1{fill:var(--line)}"
    "svg .band .t{fill:var(--ink);font-size:10px}svg .edge{stroke:var(--soft);stroke-width:.6}"
    "svg path.warm{fill:var(--line)}svg path.measure{fill:var(--soft)}"
    "i.warm{background:var(--line)}i.measure{background:var(--soft)}"
)


def _page(title: str, body: str, *, wide: bool = False) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{css()}{_STYLE}</style></head>"
        f"<body><main{' class=wide' if wide else ''}><h1>{escape(title)}</h1>{body}</main>"
        "</body></html>\n"
    )
