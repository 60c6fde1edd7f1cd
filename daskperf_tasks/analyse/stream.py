"""What a task stream tells of one cell: gaps, waiting for transfers, laggards.

The stream is a table with the columns of ``task_stream.parquet``; times are
seconds on the workers' clocks. Everything is computed per repeat, because
between repeats every worker stands idle, and the median over repeats is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

NEEDED = ("worker", "thread", "action", "name", "start_s", "stop_s")
#: A worker's speed is judged on at least this many tasks of one name in a repeat.
MIN_TASKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """Medians over the repeats of a cell; None where the stream cannot tell."""

    repeats: int
    workers: int
    #: Seconds between the end of a task and the start of the next on its thread, median.
    gap_s: float | None
    #: Share of thread time in such gaps, waiting for transfers left out.
    gap_share: float
    #: Share of thread time idle while its worker was receiving data.
    awaiting_share: float
    #: Share of thread time after the thread's last task until the last of all ended.
    tail_share: float
    #: (last finish of the last worker - last finish of the median worker) / window.
    finish_lag: float | None
    #: Busy seconds per thread of the busiest worker / mean of the workers.
    imbalance: float | None
    #: Task time of the slowest worker / that of the median worker, for the same tasks.
    slowest_ratio: float | None
    slowest_worker: str | None
    #: Share of repeats in which that worker was the slowest.
    slowest_consistency: float | None
    #: Name of the task prefix with most time, and its share of all task time.
    top_name: str
    top_share: float


def columns_of(table: Any) -> Columns | None:
    """Return a table's columns as arrays, or None when it is none or lacks some.

    Workers are told apart by name where every row has one, else by address.

    Parameters
    ----------
    table
        A pyarrow table, a mapping of arrays or lists, or a list of row mappings.
    """
    if table is None:
        return None
    if hasattr(table, "column_names"):
        names = list(table.column_names)
        found = {n: table.column(n).to_numpy(zero_copy_only=False) for n in names}
    elif isinstance(table, Mapping):
        found = {str(n): np.asarray(v) for n, v in table.items()}
    else:
        rows = list(table)
        names = list(rows[0]) if rows else []
        found = {n: np.asarray([row.get(n) for row in rows]) for n in names}
    if any(n not in found for n in NEEDED) or not len(found["start_s"]):
        return None
    named = found.get("worker_name")
    if named is not None and all(n is not None and str(n) for n in named):
        found["worker"] = named
    return found


def stream_facts(table: Any) -> StreamFacts | None:
    """Compute the facts of one cell's task stream, or None when there is nothing in it."""
    columns = columns_of(table)
    if columns is None:
        return None
    keep = np.ones(len(columns["start_s"]), dtype=bool)
    if "phase" in columns:
        keep &= columns["phase"] == "measure"
    if "arm" in columns:
        keep &= columns["arm"] == "subject"
    keep &= np.isfinite(columns["start_s"].astype(float)) & np.isfinite(
        columns["stop_s"].astype(float)
    )
    one = [_repeat(c) for c in _repeats({k: v[keep] for k, v in columns.items()})]
    found = [r for r in one if r is not None]
    if not found:
        return None
    slowest = [r.slow for r in found if r.slow is not None]
    names = [name for name, _ in slowest]
    usual = max(sorted(set(names)), key=names.count) if names else None
    totals: dict[str, float] = {}
    for r in found:
        for name, seconds in r.by_name.items():
            totals[name] = totals.get(name, 0.0) + seconds
    top = max(sorted(totals), key=lambda n: totals[n])
    return StreamFacts(
        repeats=len(found),
        workers=max(r.workers for r in found),
        gap_s=_median([r.gap_s for r in found]),
        gap_share=_median([r.gap_share for r in found]) or 0.0,
        awaiting_share=_median([r.awaiting_share for r in found]) or 0.0,
        tail_share=_median([r.tail_share for r in found]) or 0.0,
        finish_lag=_median([r.finish_lag for r in found]),
        imbalance=_median([r.imbalance for r in found]),
        slowest_ratio=_median([ratio for _, ratio in slowest]),
        slowest_worker=usual,
        slowest_consistency=names.count(usual) / len(names) if usual is not None else None,
        top_name=top,
        top_share=totals[top] / max(sum(totals.values()), 1e-12),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeat:
    workers: int
    gap_s: float | None
    gap_share: float
    awaiting_share: float
    tail_share: float
    finish_lag: float | None
    imbalance: float | None
    slow: tuple[str, float] | None
    by_name: dict[str, float]


def _repeats(columns: Columns) -> list[Columns]:
    parts = [columns[k].astype(str) for k in ("round", "attempt", "repeat") if k in columns]
    if not parts or not len(columns["start_s"]):
        return [columns]
    labels = np.array(["/".join(row) for row in zip(*parts, strict=True)])
    _, inverse = np.unique(labels, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    cuts = np.flatnonzero(np.diff(inverse[order])) + 1
    return [{k: v[rows] for k, v in columns.items()} for rows in np.split(order, cuts)]


def _repeat(c: Columns) -> _Repeat | None:
    action = c["action"].astype(str)
    work = action == "compute"
    if not work.any():
        return None
    start, stop = c["start_s"].astype(float), c["stop_s"].astype(float)
    worker, thread = c["worker"].astype(str), c["thread"].astype(str)
    begin, end = float(start.min()), float(stop[work].max())
    window = max(end - begin, 1e-9)
    gaps: list[Floats] = []
    idle_gap = awaiting = tail = 0.0
    threads = 0
    busy: dict[str, float] = {}
    finish: dict[str, float] = {}
    for name in np.unique(worker[work]):
        mine = work & (worker == name)
        moved = _union(start, stop, (worker == name) & (action == "transfer"))
        lanes = np.unique(thread[mine])
        threads += len(lanes)
        busy[name] = float((stop - start)[mine].sum()) / len(lanes)
        finish[name] = float(stop[mine].max())
        for lane in lanes:
            rows = mine & (thread == lane)
            order = np.argsort(start[rows])
            a, b = start[rows][order], np.maximum.accumulate(stop[rows][order])
            spaces = np.maximum(a[1:] - b[:-1], 0.0)
            waited = _covered(moved, b[:-1], np.maximum(a[1:], b[:-1]))
            before = float(_covered(moved, np.array([begin]), a[:1])[0])
            gaps.append(spaces)
            idle_gap += float((spaces - waited).sum())
            awaiting += float(waited.sum()) + before
            tail += max(end - float(b[-1]), 0.0)
    capacity = threads * window
    spaces = np.concatenate(gaps)
    several = len(busy) > 1
    by_name = _time_by_name(c["name"].astype(str)[work], (stop - start)[work])
    finishes = np.asarray(list(finish.values()))
    times = np.asarray(list(busy.values()))
    return _Repeat(
        workers=len(busy),
        gap_s=float(np.median(spaces)) if len(spaces) else None,
        gap_share=idle_gap / capacity,
        awaiting_share=awaiting / capacity,
        tail_share=tail / capacity,
        finish_lag=float(finishes.max() - _lower_median(finishes)) / window if several else None,
        imbalance=float(times.max() / max(times.mean(), 1e-12)) if several else None,
        slow=_slowest(c["name"].astype(str)[work], worker[work], (stop - start)[work])
        if several
        else None,
        by_name=by_name,
    )


def _time_by_name(names: NDArray[Any], seconds: Floats) -> dict[str, float]:
    unique, inverse = np.unique(names, return_inverse=True)
    totals = np.bincount(inverse, weights=seconds)
    return {str(n): float(t) for n, t in zip(unique, totals, strict=True)}


def _slowest(
    names: NDArray[Any], workers: NDArray[Any], seconds: Floats
) -> tuple[str, float] | None:
    """Worker whose tasks take longest against the median worker, same task names compared."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for name in np.unique(names):
        rows = names == name
        medians = {
            str(w): float(np.median(seconds[rows & (workers == w)]))
            for w in np.unique(workers[rows])
            if (rows & (workers == w)).sum() >= MIN_TASKS
        }
        if len(medians) < 2:
            continue
        middle = _lower_median(np.asarray(list(medians.values())))
        if middle <= 0:
            continue
        weight = float(seconds[rows].sum())
        for w, value in medians.items():
            ratios.setdefault(w, []).append((value / middle, weight))
    if not ratios:
        return None
    means = {
        w: sum(r * x for r, x in pairs) / sum(x for _, x in pairs) for w, pairs in ratios.items()
    }
    slow = max(sorted(means), key=lambda w: means[w])
    return slow, means[slow]


def _lower_median(values: Floats) -> float:
    """Of two workers the faster one is the measure of the other."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def _union(start: Floats, stop: Floats, rows: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
    """Turn intervals into the running total of time that any of them covers."""
    if not rows.any():
        return None
    order = np.argsort(start[rows])
    a, b = start[rows][order], np.maximum.accumulate(stop[rows][order])
    fresh = np.concatenate([[True], a[1:] > b[:-1]])
    heads = a[fresh]
    tails = b[np.concatenate([np.flatnonzero(fresh)[1:] - 1, [len(b) - 1]])]
    times = np.column_stack([heads, tails]).ravel()
    totals = np.concatenate([[0.0], np.cumsum(tails - heads)])
    covered = np.column_stack([totals[:-1], totals[1:]]).ravel()
    return times, covered


def _covered(moved: tuple[Floats, Floats] | None, start: Floats, stop: Floats) -> Floats:
    """Seconds of each interval that lie under the union of transfers."""
    if moved is None or not len(start):
        return np.zeros(len(start))
    times, total = moved
    result: Floats = np.maximum(np.interp(stop, times, total) - np.interp(start, times, total), 0.0)
    return result


def _median(values: list[float] | list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.median(known)) if known else None
