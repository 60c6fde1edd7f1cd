"""Every cell's metrics with intervals, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from daskperf_tasks.analyse.by_cell import counted, group, state_of
from daskperf_tasks.analyse.intervals import median_interval
from daskperf_tasks.analyse.metrics_of import first_reason, metrics_of, numbers
from daskperf_tasks.analyse.threads import effective_threads
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.facts import Calibration, Preflight
from daskperf_tasks.model.ids import Arm, Side
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.metrics import METRICS
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import CellSummary, Estimate, Summary


def summaries(
    plan: Plan,
    blocks: Iterable[BlockResult],
    calibration: Calibration | None,
    preflight: Preflight | None,
) -> dict[Side, Summary]:
    """Summarise both sides of a run, cell by cell and wheel by wheel.

    Parameters
    ----------
    plan
        What was to be measured: every planned cell comes back.
    blocks
        All attempts; only the samples of phase ``measure`` in valid blocks count.
    calibration
        For throughput per effective thread (rule: :mod:`daskperf_tasks.analyse.threads`).
    preflight
        For the reasons and the topology.
    """
    groups = group(blocks)
    result: dict[Side, Summary] = {}
    sides: tuple[Side, ...] = ("local", "remote")
    for side in sides:
        cells = [p for p in plan.cells if p.cell.side == side]
        result[side] = Summary(
            run_id=plan.run_id,
            side=side,
            topology=topology(side, cells, groups, preflight),
            cells=tuple(
                summarise_cell(p, arm, groups.get((p.cell_id, arm), ()), calibration, preflight)
                for p in cells
                for arm in plan.arms
            ),
        )
    return result


def summarise_cell(
    planned: PlannedCell,
    arm: Arm,
    blocks: Sequence[BlockResult],
    calibration: Calibration | None,
    preflight: Preflight | None,
) -> CellSummary:
    """Summarise one cell under one wheel from all attempts at it."""
    state, reason = state_of(blocks, preflight)
    use = counted(blocks)
    return CellSummary(
        cell_id=planned.cell_id,
        label=planned.cell.label,
        arm=arm,
        request_hash=planned.request_hash,
        state=state,
        reason=reason,
        required=planned.required,
        blocks_valid=len(use),
        blocks_invalid=sum(not b.valid for b in blocks),
        samples=sum(len(b.measured) for b in use),
        threads=use[-1].threads if use else 0,
        processes=use[-1].processes if use else 0,
        metrics=_metrics(use, calibration, reason),
    )


def _metrics(
    blocks: Sequence[BlockResult], calibration: Calibration | None, reason: str | None
) -> dict[str, Estimate | Missing]:
    if not blocks:
        why = Missing(missing=reason or "not measured")
        return dict.fromkeys(METRICS, why)
    rows: list[list[dict[str, Measured]]] = []
    for block in blocks:
        weight = effective_threads(block, calibration)
        rows.append(
            [metrics_of(s, threads=block.threads, effective_threads=weight) for s in block.measured]
        )
    result: dict[str, Estimate | Missing] = {}
    for name in METRICS:
        columns = [[row[name] for row in block] for block in rows]
        found = [numbers(c) for c in columns]
        if any(found):
            result[name] = median_interval(found)
        else:
            everything = [v for c in columns for v in c]
            result[name] = Missing(missing=first_reason(everything, "no sample has it"))
    return result


def topology(
    side: Side,
    cells: Sequence[PlannedCell],
    groups: dict[tuple[str, Arm], tuple[BlockResult, ...]],
    preflight: Preflight | None,
) -> str:
    """Say in words where a side ran: environments with their threads, and the lane's workers."""
    parts: list[str] = []
    seen: dict[str, tuple[int, int]] = {}
    for planned in cells:
        for arm in ("subject", "reference"):
            for block in groups.get((planned.cell_id, arm), ()):
                seen.setdefault(planned.cell.env, (block.processes, block.threads))
    for env, (processes, threads) in seen.items():
        parts.append(f"{env}: {_count(processes, 'process')}, {_count(threads, 'thread')} in all")
    if side == "remote" and preflight is not None and preflight.workers:
        workers = [
            f"{w.name} on {w.host} ({_count(w.nthreads, 'thread')}"
            + (", loopback)" if w.loopback else ")")
            for w in preflight.workers
        ]
        parts.append("workers: " + ", ".join(workers))
    return "; ".join(parts) or "unknown: nothing of this side was run"


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"
