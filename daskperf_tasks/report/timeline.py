"""The picture of a task stream: threads as lanes, colours by task name and kind of action."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskperf_tasks.report.html import css
from daskperf_tasks.report.spelling import number

#: Rectangles drawn at most; neighbours of one lane, name and action are merged until it fits.
MAX_RECTANGLES = 4000
_LANE = 16
_LEFT = 150
_WIDTH = 1120
_ACTIONS = {
    "transfer": "#d1495b",
    "deserialize": "#8d99ae",
    "disk-read": "#b08900",
    "disk-write": "#7a5c00",
}
_NAMES = ("#2a9d8f", "#4c78c9", "#8a6fc9", "#e09f3e", "#5b8e3e", "#c26ba8", "#3f8fa8", "#a86a3f")

Columns = dict[str, NDArray[Any]]


def timeline_html(task_stream_table: Any, title: str) -> str:
    """Draw a task stream as one self-contained HTML page.

    Parameters
    ----------
    task_stream_table
        A pyarrow table, a mapping of arrays or a list of row mappings with
        ``worker``, ``thread``, ``action``, ``name``, ``start_s``, ``stop_s`` and,
        where there, ``worker_name``, ``round``, ``repeat``.
    title
        Heading; foreign text is escaped.

    Notes
    -----
    Idle time between repeats is cut out, so that what is drawn is measured time.
    """
    columns = _columns(task_stream_table)
    if columns is None:
        return _page(title, "<p>The task stream is empty: nothing was drawn.</p>")
    start, stop = _without_pauses(columns)
    names = columns["name"].astype(str)
    actions = columns["action"].astype(str)
    lanes, lane_of = _lanes(columns)
    bars, merged = _merge(start, stop, names, actions, lane_of)
    span = max(float(stop.max()), 1e-9)
    scale = (_WIDTH - _LEFT - 10) / span
    used = list(dict.fromkeys(sorted(set(names[actions == "compute"]))))
    height = len(lanes) * _LANE + 34
    parts = [_scale(span, scale, height)]
    for i, lane in enumerate(lanes):
        y = 4 + i * _LANE
        parts.append(f'<text class="t" x="0" y="{y + 11}">{escape(_short(lane))}</text>')
    for lane_index, name, action, begin, end, count in bars:
        y = 4 + lane_index * _LANE
        inset = 0 if action == "compute" else 3
        many = f", {count} merged" if count > 1 else ""
        parts.append(
            f'<rect x="{_LEFT + begin * scale:.2f}" y="{y + inset}" '
            f'width="{max((end - begin) * scale, 0.4):.2f}" height="{_LANE - 3 - 2 * inset}" '
            f'fill="{_colour(name, action, used)}"><title>{escape(name)}, {escape(action)}: '
            f"{number(max(end - begin, 0.0))} s from {number(max(begin, 0.0))} s{many}"
            "</title></rect>"
        )
    drawn = f"{len(bars):,} rectangles drawn for {len(start):,} intervals"
    if merged:
        drawn += f"; {merged:,} were merged with a neighbour of the same lane, name and action"
    legend = "".join(
        f'<li><i style="background:{_colour(n, "compute", used)}"></i>{escape(n)}</li>'
        for n in used[:24]
    ) + "".join(
        f'<li><i style="background:{c}"></i>{a}</li>' for a, c in _ACTIONS.items() if a in actions
    )
    if len(used) > 24:
        legend += f"<li>and {len(used) - 24} more names</li>"
    body = (
        f'<p class="soft">{drawn}. Each lane is a thread; pauses between repeats are cut out.</p>'
        f'<ul class="legend">{legend}</ul><div class="card scroll">'
        f'<svg class="timeline" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Task stream of {escape(title, quote=True)}">{"".join(parts)}</svg></div>'
    )
    return _page(title, body)


def _columns(table: Any) -> Columns | None:
    if table is None:
        return None
    found: Columns
    if hasattr(table, "column_names"):
        found = {
            n: table.column(n).to_numpy(zero_copy_only=False) for n in list(table.column_names)
        }
    elif isinstance(table, Mapping):
        found = {str(k): np.asarray(v) for k, v in table.items()}
    else:
        rows = list(table)
        found = {k: np.asarray([r.get(k) for r in rows]) for k in (rows[0] if rows else {})}
    needed = {"worker", "thread", "action", "name", "start_s", "stop_s"}
    if not needed <= set(found) or not len(found["start_s"]):
        return None
    order = np.argsort(found["start_s"].astype(float), kind="stable")
    return {k: v[order] for k, v in found.items()}


def _without_pauses(c: Columns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shift times so that stretches in which nothing at all ran are 0.5 % of the rest at most."""
    start, stop = c["start_s"].astype(float), c["stop_s"].astype(float)
    reached = np.maximum.accumulate(stop)
    pauses = np.maximum(start[1:] - reached[:-1], 0.0)
    active = float(reached[-1] - start[0] - pauses.sum())
    cut = np.maximum(pauses - max(active * 0.005, 1e-6), 0.0)
    shift = start[0] + np.concatenate([[0.0], np.cumsum(cut)])
    return start - shift, stop - shift


def _lanes(c: Columns) -> tuple[list[str], NDArray[np.intp]]:
    """Name a lane for each row: the worker and the rank of the thread in it.

    Threads are ranked block by block: worker processes are fresh in every
    round, and their new threads belong on the old lanes.
    """
    worker = c["worker_name" if "worker_name" in c else "worker"].astype(str)
    blocks = [c[k].astype(str) for k in ("cell_id", "round", "attempt") if k in c]
    owners = list(zip(*blocks, worker, strict=True))
    threads: dict[tuple[str, ...], dict[str, int]] = {}
    labels = []
    for owner, thread in zip(owners, c["thread"].astype(str).tolist(), strict=True):
        ranks = threads.setdefault(owner, {})
        labels.append((str(owner[-1]), ranks.setdefault(thread, len(ranks) + 1)))
    order = {label: i for i, label in enumerate(sorted(set(labels)))}
    names = [f"{name} / {rank}" for name, rank in order]
    return names, np.asarray([order[label] for label in labels], dtype=np.intp)


def _merge(
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    names: NDArray[Any],
    actions: NDArray[Any],
    lanes: NDArray[np.intp],
) -> tuple[list[tuple[int, str, str, float, float, int]], int]:
    """Merge neighbours with ever larger gaps until few enough rectangles are left."""
    gap = 0.0
    span = max(float(stop.max() - start.min()), 1e-9)
    while True:
        bars: list[tuple[int, str, str, float, float, int]] = []
        last: dict[int, int] = {}
        for a, b, name, action, lane in zip(
            start.tolist(), stop.tolist(), names.tolist(), actions.tolist(), lanes.tolist(),
            strict=True,
        ):  # fmt: skip
            i = last.get(lane)
            if gap and i is not None:
                _, n, k, begin, end, count = bars[i]
                if n == name and k == action and a - end <= gap:
                    bars[i] = (lane, n, k, begin, max(end, b), count + 1)
                    continue
            last[lane] = len(bars)
            bars.append((lane, name, action, a, b, 1))
        if len(bars) <= MAX_RECTANGLES or gap >= span:
            break
        gap = max(gap * 4, span / 4000)
    if len(bars) > MAX_RECTANGLES:
        bars = sorted(bars, key=lambda r: r[3] - r[4])[:MAX_RECTANGLES]
    return bars, len(start) - len(bars)


def _colour(name: str, action: str, used: Sequence[str]) -> str:
    if action != "compute":
        return _ACTIONS.get(action, "#8d99ae")
    if name in used[: len(_NAMES)]:
        return _NAMES[used.index(name)]
    return _NAMES[hashlib.sha256(name.encode()).digest()[0] % len(_NAMES)]


def _scale(span: float, scale: float, height: int) -> str:
    parts = []
    for k in range(6):
        x = _LEFT + span * k / 5 * scale
        anchor = "end" if k == 5 else "middle"
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 22}"/>')
        parts.append(
            f'<text class="t" x="{x:.1f}" y="{height - 6}" text-anchor="{anchor}">'
            f"{number(span * k / 5)} s</text>"
        )
    return "".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= 22 else "…" + text[-21:]


def _page(title: str, body: str) -> str:
    style = (
        "ul.legend{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:4px 16px;"
        "font-size:.85rem}ul.legend i{display:inline-block;width:10px;height:10px;"
        "border-radius:2px;margin-right:6px}svg.timeline{display:block;width:100%;min-width:760px;"
        "height:auto}"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{css()}{style}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )
