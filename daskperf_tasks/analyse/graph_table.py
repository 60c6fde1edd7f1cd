"""The graphs of a run as a table: properties as counted, and what running them cost.

After Table I of Böhm and Beránek, "Runtime vs Scheduler: Analyzing Dask's
Overheads", WORKS 2020: number of tasks and of arcs, mean output size, mean task
duration, longest path; and beside them the average overhead per task (AOT).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daskperf_tasks.analyse.by_cell import counted
from daskperf_tasks.analyse.stream import Columns, columns_of
from daskperf_tasks.model.block import NO_GRAPH, BlockResult
from daskperf_tasks.model.graph import GraphCell, GraphFacts, GraphRow, GraphTable
from daskperf_tasks.model.ids import Cell, Side
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import CellSummary, Estimate, Summary

KIB = 1024.0
_NO_STREAM = "no task stream of a valid block was kept"
_NO_SIZES = (
    "Dask's single-machine schedulers do not tell the size of results",
    "the task stream does not tell the size of results",
)


def graph_table(
    plan: Plan,
    blocks: Iterable[BlockResult],
    summaries: Mapping[Side, Summary],
    streams: Mapping[str, Any],
) -> GraphTable:
    """Make the table of a run's graphs.

    Parameters
    ----------
    plan
        Gives the cells; every planned cell is in a row.
    blocks
        All attempts of all wheels: the graph is the workload's, not the wheel's.
    summaries
        Give the overhead per task of tonight's wheel.
    streams
        Task streams by cell id, as :func:`daskperf_tasks.analyse.stream.columns_of`
        takes them; rows of tonight's wheel and of measured repeats count.

    Notes
    -----
    Mean output size is the sum of ``nbytes`` / the number of keys that tell it;
    mean task duration is the sum of the ``compute`` spans / the number of keys
    that computed. A key counts once a repeat. A stream does not tell tasks from
    the names and data that schedulers run like tasks: ``keys_run`` has all.
    """
    mine: dict[str, list[BlockResult]] = {}
    for block in blocks:
        mine.setdefault(block.cell_id, []).append(block)
    aot = {
        c.cell_id: c for s in summaries.values() for c in s.cells if c.arm == "subject"
    }  # fmt: skip
    rows: dict[tuple[str, GraphFacts | Missing], list[GraphCell]] = {}
    findings: list[str] = []
    for planned in plan.cells:
        own = mine.get(planned.cell_id, [])
        facts = _facts(own)
        columns = _measured(streams.get(planned.cell_id))
        findings += _findings(planned, own, facts, columns)
        cell = GraphCell(
            cell_id=planned.cell_id,
            where=where(planned.cell),
            keys_run=_keys_run(columns),
            mean_output_kib=_output_kib(planned.cell, columns),
            mean_task_ms=_task_ms(columns),
            aot_us=_aot(aot.get(planned.cell_id)),
        )
        label = replace(planned.cell, workers=None).label
        rows.setdefault((label, facts), []).append(cell)
    return GraphTable(
        run_id=plan.run_id,
        rows=tuple(
            GraphRow(label=label, graph=facts, cells=tuple(cells))
            for (label, facts), cells in rows.items()
        ),
        findings=tuple(findings),
    )


def where(cell: Cell) -> str:
    """Name where a cell runs, with its number of workers.

    Examples
    --------
    >>> where(Cell(workload="tree", version=1, params=(), env="local", workers=2))
    'local, workers=2'
    """
    return cell.env if cell.workers is None else f"{cell.env}, workers={cell.workers}"


def _facts(blocks: Sequence[BlockResult]) -> GraphFacts | Missing:
    """Return what most blocks counted; the first of those that are equally many."""
    found = Counter(b.graph for b in _ranked(blocks) if isinstance(b.graph, GraphFacts))
    if found:
        return found.most_common(1)[0][0]
    reasons = [b.graph for b in blocks if isinstance(b.graph, Missing)]
    return reasons[0] if reasons else replace(NO_GRAPH, missing="no block of it was run")


def _ranked(blocks: Sequence[BlockResult]) -> Sequence[BlockResult]:
    """Return the blocks that count; all of them when none does."""
    return [b for b in blocks if b.valid] or blocks


def _findings(
    planned: PlannedCell,
    blocks: Sequence[BlockResult],
    facts: GraphFacts | Missing,
    columns: Columns | None,
) -> Iterable[str]:
    cell = f"{replace(planned.cell, workers=None).label} ({where(planned.cell)})"
    variants = Counter(b.graph for b in blocks if isinstance(b.graph, GraphFacts))
    if len(variants) > 1:
        told = "; ".join(f"{n} with {_in_words(g)}" for g, n in variants.most_common())
        yield (
            f"{cell}: the graph is not the same in all {sum(variants.values())} blocks: {told}. "
            "Equal parameters and seed must give equal work: read its makespans with care"
        )
    if columns is None or isinstance(facts, Missing) or len(variants) > 1:
        return
    fewest = min(_keys_by_repeat(columns))
    if fewest < facts.tasks and any(counted(blocks)):
        yield (
            f"{cell}: the graph has {facts.tasks:,} tasks and only {fewest:,} were seen to run in "
            "a repeat: another graph ran than was counted, or some of its tasks were not seen"
        )


def _in_words(facts: GraphFacts) -> str:
    return (
        f"{facts.tasks:,} tasks, {facts.arcs:,} arcs and longest path {facts.longest_path:,} "
        f"({facts.form})"
    )


def _measured(table: Any) -> Columns | None:
    """Return the ``compute`` rows of measured repeats of tonight's wheel, or None."""
    columns = columns_of(table)
    if columns is None:
        return None
    keep = columns["action"] == "compute"
    for name, wanted in (("phase", "measure"), ("arm", "subject")):
        if name in columns:
            keep &= columns[name] == wanted
    found = {name: values[keep] for name, values in columns.items()}
    return found if len(found["start_s"]) else None


def _task_ids(columns: Columns) -> list[tuple[Any, ...]]:
    names = [n for n in ("round", "attempt", "repeat", "key") if n in columns]
    return list(zip(*(columns[n].tolist() for n in names), strict=True))


def _keys_by_repeat(columns: Columns) -> list[int]:
    return list(Counter(task[:-1] for task in set(_task_ids(columns))).values())


def _keys_run(columns: Columns | None) -> Measured:
    if columns is None:
        return Missing(missing=_NO_STREAM)
    return float(np.median(_keys_by_repeat(columns)))


def _task_ms(columns: Columns | None) -> Measured:
    if columns is None:
        return Missing(missing=_NO_STREAM)
    spans = columns["stop_s"].astype(float) - columns["start_s"].astype(float)
    return float(spans.sum()) / len(set(_task_ids(columns))) * 1e3


def _output_kib(cell: Cell, columns: Columns | None) -> Measured:
    single, cluster = _NO_SIZES
    if cell.env in ("threads", "processes"):
        return Missing(missing=single)
    if columns is None:
        return Missing(missing=_NO_STREAM)
    if "nbytes" not in columns:
        return Missing(missing=cluster)
    sizes = columns["nbytes"].astype(float)  # None becomes nan
    # The last span of a task, should it have computed twice in a repeat.
    last = {task: size for task, size in zip(_task_ids(columns), sizes, strict=True) if size >= 0}
    if not last:
        return Missing(missing=cluster)
    return float(np.mean(list(last.values()))) / KIB


def _aot(cell: CellSummary | None) -> Estimate | Missing:
    if cell is None:
        return Missing(missing="not summarised")
    return cell.metrics.get("aot_us", Missing(missing=cell.reason or "not summarised"))
