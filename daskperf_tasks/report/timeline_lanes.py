"""A task stream sorted for drawing: times without pauses, lanes, blocks, merged intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import parse_cell_id

#: Intervals drawn at most; neighbours of one lane, name and action are merged until it fits.
MAX_RECTANGLES = 4000

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One rectangle: an interval, or several neighbours of one name and action."""

    panel: int
    lane: int
    name: str
    action: str
    start_s: float
    stop_s: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A block, or one repeat of it, within its panel's time."""

    panel: int
    #: Empty where the stream does not say.
    cell_id: str
    start_s: float
    stop_s: float
    tasks: int
    #: ``warmup``, ``measure`` and the like of a repeat; empty for a block.
    phase: str = ""
    repeat: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Everything that is drawn; one panel a round, each beginning at 0 s."""

    panels: tuple[str, ...]
    lanes: tuple[str, ...]
    #: Of each panel, which lanes it has.
    lanes_of: tuple[tuple[int, ...], ...]
    bars: tuple[Bar, ...]
    blocks: tuple[Stretch, ...]
    repeats: tuple[Stretch, ...]
    #: Length of each panel.
    spans_s: tuple[float, ...]
    intervals: int
    merged: int


def drawing(task_stream_table: Any) -> Drawing | None:
    """Sort a stream for drawing; None when it is empty or lacks a column.

    Parameters
    ----------
    task_stream_table
        A pyarrow table, a mapping of arrays or a list of row mappings.
    """
    c = read_columns(task_stream_table)
    if c is None:
        return None
    panels, panel_of = _panels(c)
    start, stop = np.empty(len(panel_of)), np.empty(len(panel_of))
    for i in range(len(panels)):
        rows = panel_of == i
        start[rows], stop[rows] = without_pauses(
            c["start_s"][rows].astype(float), c["stop_s"][rows].astype(float)
        )
    lanes, lane_of = _lanes(c)
    names, actions = c["name"].astype(str), c["action"].astype(str)
    bars = _merge(start, stop, names, actions, panel_of, lane_of)
    return Drawing(
        panels=tuple(panels),
        lanes=tuple(lanes),
        lanes_of=tuple(
            tuple(sorted({int(x) for x in lane_of[panel_of == i]})) for i in range(len(panels))
        ),
        bars=tuple(bars),
        blocks=_stretches(c, panel_of, start, stop, ("cell_id", "arm", "round", "attempt")),
        repeats=_stretches(
            c, panel_of, start, stop, ("cell_id", "arm", "round", "attempt", "repeat", "phase")
        )
        if "repeat" in c and "phase" in c
        else (),
        spans_s=tuple(float(stop[panel_of == i].max()) for i in range(len(panels))),
        intervals=len(start),
        merged=len(start) - len(bars),
    )


def read_columns(table: Any) -> Columns | None:
    """Return a stream's columns by start; None when it is empty or lacks a needed one."""
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


def without_pauses(
    start: NDArray[np.float64], stop: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shift times so that stretches in which nothing at all ran are 0.5 % of the rest at most.

    Parameters
    ----------
    start, stop
        Seconds, by start; the result begins at 0.
    """
    reached = np.maximum.accumulate(stop)
    pauses = np.maximum(start[1:] - reached[:-1], 0.0)
    active = float(reached[-1] - start[0] - pauses.sum())
    cut = np.maximum(pauses - max(active * 0.005, 1e-6), 0.0)
    shift = start[0] + np.concatenate([[0.0], np.cumsum(cut)])
    return start - shift, stop - shift


def _panels(c: Columns) -> tuple[list[str], NDArray[np.intp]]:
    """One panel a round, in the order of rounds; a single one where none are named."""
    count = len(c["start_s"])
    if "round" not in c:
        return [""], np.zeros(count, dtype=np.intp)
    rounds = sorted({int(r) for r in c["round"]})
    arms = c["arm"].astype(str) if "arm" in c else np.full(count, "")
    named = []
    for r in rounds:
        arm = ", ".join(sorted(set(arms[c["round"] == r].tolist()) - {""}))
        named.append(f"round {r + 1}" + (f", {arm}" if arm else ""))
    return named, np.asarray([rounds.index(int(r)) for r in c["round"]], dtype=np.intp)


def _lanes(c: Columns) -> tuple[list[str], NDArray[np.intp]]:
    """Name a lane for each row: the process and the rank of the thread in it.

    Threads are ranked block by block: worker processes are fresh in every
    round, and their new threads belong on the old lanes. The processes of a
    pool have only a pid for a name and are ranked in the same way.
    """
    worker = c["worker_name" if "worker_name" in c else "worker"].astype(str)
    blocks = [c[k].astype(str) for k in ("cell_id", "arm", "round", "attempt") if k in c]
    owners = [tuple(o) for o in zip(*blocks, strict=True)] if blocks else [()] * len(worker)
    cells = c["cell_id"].astype(str).tolist() if "cell_id" in c else [""] * len(worker)
    pools = {i for i in set(cells) if _is_pool(i)}
    pids: dict[tuple[str, ...], dict[str, int]] = {}
    threads: dict[tuple[str, ...], dict[str, int]] = {}
    labels: list[tuple[str, int]] = []
    for owner, cell, name, thread in zip(
        owners, cells, worker.tolist(), c["thread"].astype(str).tolist(), strict=True
    ):
        shown = name
        if cell in pools:
            ranks = pids.setdefault(owner, {})
            shown = f"process {ranks.setdefault(name, len(ranks) + 1)}"
        elif name.isdigit():
            shown = f"worker {name}"
        ranks = threads.setdefault((*owner, name), {})
        labels.append((shown, ranks.setdefault(thread, len(ranks) + 1)))
    order = {label: i for i, label in enumerate(sorted(set(labels)))}
    return (
        [f"{name} / {rank}" for name, rank in order],
        np.asarray([order[label] for label in labels], dtype=np.intp),
    )


def _is_pool(cell_id: str) -> bool:
    try:
        return parse_cell_id(cell_id).env in ("threads", "processes")
    except InputError:
        return False


def _stretches(
    c: Columns,
    panel_of: NDArray[np.intp],
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    keys: tuple[str, ...],
) -> tuple[Stretch, ...]:
    if "cell_id" not in c:
        return ()
    columns = [c[k].tolist() for k in keys if k in c]
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(*columns, strict=True)):
        found.setdefault(key, []).append(i)
    result = []
    for rows in found.values():
        first = rows[0]
        result.append(
            Stretch(
                panel=int(panel_of[first]),
                cell_id=str(c["cell_id"][first]),
                start_s=float(start[rows].min()),
                stop_s=float(stop[rows].max()),
                tasks=int((c["action"][rows].astype(str) == "compute").sum()),
                phase=str(c["phase"][first]) if "phase" in keys else "",
                repeat=int(c["repeat"][first]) if "repeat" in keys else 0,
            )
        )
    return tuple(sorted(result, key=lambda s: (s.panel, s.start_s)))


def _merge(
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    names: NDArray[Any],
    actions: NDArray[Any],
    panels: NDArray[np.intp],
    lanes: NDArray[np.intp],
) -> list[Bar]:
    """Merge neighbours with ever larger gaps until few enough rectangles are left."""
    rows = list(
        zip(panels.tolist(), lanes.tolist(), names.tolist(), actions.tolist(), start.tolist(),
            stop.tolist(), strict=True)
    )  # fmt: skip
    gap = 0.0
    span = max(float(stop.max()), 1e-9)
    while True:
        bars: list[tuple[int, int, str, str, float, float, int]] = []
        last: dict[tuple[int, int], int] = {}
        for panel, lane, name, action, a, b in rows:
            i = last.get((panel, lane))
            if gap and i is not None:
                _, _, n, k, begin, end, count = bars[i]
                if n == name and k == action and a - end <= gap:
                    bars[i] = (panel, lane, name, action, begin, max(end, b), count + 1)
                    continue
            last[panel, lane] = len(bars)
            bars.append((panel, lane, name, action, a, b, 1))
        if len(bars) <= MAX_RECTANGLES or gap >= span:
            break
        gap = max(gap * 4, span / 4000)
    if len(bars) > MAX_RECTANGLES:
        bars = sorted(bars, key=lambda r: r[4] - r[5])[:MAX_RECTANGLES]
    return [
        Bar(panel=p, lane=x, name=n, action=k, start_s=a, stop_s=b, count=count)
        for p, x, n, k, a, b, count in bars
    ]
