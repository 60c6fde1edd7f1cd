"""Where the time goes: correctness first, then the class that the evidence names.

Scores and confidence
---------------------
The score S of a class is the weighted mean of the strengths of its signals that
could be taken (:mod:`daskperf_tasks.analyse.signal_table`). The class of the
highest score is primary when the score is at least ``NAMED`` and three or more of
its signals were taken; else the cell is undetermined. With S2 the next score and
C the share of the primary's weights that were taken::

    confidence = (S - S2 / 2) * C

so that a clear, complete case comes near 1, a tie at full strength is 0.5, and
an undetermined cell has confidence 0. The run's class is that with most
confidence, weighted by the cells' makespans; its confidence is its share of the
run's makespan times confidence, with undetermined cells counted as 0. Wrong
answers anywhere make correctness primary with confidence 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from daskperf_tasks.analyse.by_cell import group, why_not
from daskperf_tasks.analyse.figures import Figures, figures_of
from daskperf_tasks.analyse.recommend import recommend
from daskperf_tasks.analyse.rubric import SUCCESS
from daskperf_tasks.analyse.signal_table import CLASSES, MENTIONED, MIN_SIGNALS, NAMED, rule
from daskperf_tasks.analyse.signals import GIL, signals_of
from daskperf_tasks.analyse.stream import stream_facts
from daskperf_tasks.model.block import BlockResult, Failure
from daskperf_tasks.model.facts import Calibration, Preflight
from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.measured import Measured, Missing, known
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import (
    BottleneckClass,
    CellDiagnosis,
    CellSummary,
    Diagnosis,
    Signal,
    Summary,
)


def diagnose(
    plan: Plan,
    blocks: Iterable[BlockResult],
    summaries: Mapping[Side, Summary],
    calibration: Calibration | None,
    preflight: Preflight | None,
    streams: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Classify every cell of tonight's wheel and recommend three actions.

    Parameters
    ----------
    plan, blocks, summaries, calibration, preflight
        Of the run.
    streams
        Task streams by cell id: pyarrow tables, mappings of arrays or lists of
        rows. Cells without one are judged by what is left.
    """
    groups = group(blocks)
    cells = {c.cell_id: c for s in summaries.values() for c in s.cells if c.arm == "subject"}
    figures: dict[str, Figures] = {}
    found: list[CellDiagnosis] = []
    for planned in plan.cells:
        mine = groups.get((planned.cell_id, "subject"), ())
        table = (streams or {}).get(planned.cell_id)
        f = figures_of(
            mine, calibration=calibration, preflight=preflight, stream=stream_facts(table)
        )
        if f is not None:
            figures[planned.cell_id] = f
        found.append(_cell(planned, mine, cells, f))
    primary, secondary, confidence = _overall(found, figures)
    return Diagnosis(
        run_id=plan.run_id,
        primary=primary,
        secondary=secondary,
        confidence=confidence,
        cells=tuple(found),
        actions=recommend(plan, tuple(found), figures),
    )


def _cell(
    planned: PlannedCell,
    blocks: Sequence[BlockResult],
    cells: Mapping[str, CellSummary],
    figures: Figures | None,
) -> CellDiagnosis:
    label = f"{planned.cell.label} ({planned.cell.env})"
    wrong = _wrong(planned, blocks, cells)
    signals = signals_of(figures) if figures is not None else ()
    if wrong:
        second, _ = _classify(signals)
        return CellDiagnosis(
            cell_id=planned.cell_id,
            label=label,
            primary="correctness",
            secondary=second[0] if second and second[0] != "undetermined" else None,
            confidence=1.0,
            signals=(*wrong, *signals),
        )
    named, confidence = _classify(signals)
    return CellDiagnosis(
        cell_id=planned.cell_id,
        label=label,
        primary=named[0],
        secondary=named[1] if len(named) > 1 else None,
        confidence=confidence,
        signals=signals,
    )


def scores(signals: Sequence[Signal]) -> dict[BottleneckClass, tuple[float, int, float]]:
    """Return for each class its score, the number of its signals, and the weight they have.

    The weight is the share of the weights of all of the class's signals.
    """
    result: dict[BottleneckClass, tuple[float, int, float]] = {}
    for cls in CLASSES:
        mine = [s for s in signals if s.speaks_for == cls]
        weights = [1.0 if s.name == GIL else rule(cls, s.name).weight for s in mine]
        taken = [
            (w, s) for w, s in zip(weights, mine, strict=True) if not isinstance(s.value, Missing)
        ]
        total = sum(w for w, _ in taken)
        score = sum(w * s.strength for w, s in taken) / total if total else 0.0
        result[cls] = (score, len(taken), total / sum(weights) if weights else 0.0)
    return result


def _classify(signals: Sequence[Signal]) -> tuple[list[BottleneckClass], float]:
    table = scores(signals)
    ranked = sorted((c for c in CLASSES if table[c][1] >= MIN_SIGNALS), key=lambda c: -table[c][0])
    if not ranked or table[ranked[0]][0] < NAMED:
        return ["undetermined"], 0.0
    first = ranked[0]
    others = sorted((table[c][0] for c in CLASSES if c != first), reverse=True)
    confidence = (table[first][0] - others[0] / 2) * table[first][2]
    named = [first, *(c for c in ranked[1:2] if table[c][0] >= MENTIONED)]
    return named, round(max(0.0, min(1.0, confidence)), 4)


def _wrong(
    planned: PlannedCell, blocks: Sequence[BlockResult], cells: Mapping[str, CellSummary]
) -> tuple[Signal, ...]:
    """Return the evidence for wrong or lost answers; empty when there is none."""
    mine = _success(cells.get(planned.cell_id))
    other = _success(cells.get(planned.cell.counterpart_id))
    refused = [
        b
        for b in blocks
        if isinstance(b.outcome, Failure) and b.outcome.error_type == "CorrectnessError"
    ]
    rate, rate_other = known(mine), known(other)
    low = rate is not None and rate < 1 - SUCCESS
    differs = rate is not None and rate_other is not None and rate < rate_other - SUCCESS
    if not (low or differs or refused):
        return ()
    difference: Measured = (
        rate - rate_other
        if rate is not None and rate_other is not None
        else Missing(missing="one of the sides has no success rate")
    )
    text = "no block was refused by the check against the reference"
    if refused:
        text = f"{len(refused)} of {len(blocks)} blocks refused: {why_not(refused[0])}"
    return (
        _correctness("success rate", mine, low, _rate(mine, "of the units were right")),
        _correctness(
            "success rate against the other side",
            difference,
            differs,
            _rate(other, "on the other side"),
        ),
        _correctness("blocks refused by the check", float(len(refused)), bool(refused), text),
    )


def _correctness(name: str, value: Measured, speaks: bool, says: str) -> Signal:
    return Signal(
        name=name,
        value=value,
        unit="blocks" if name.startswith("blocks") else "1",
        speaks_for="correctness",
        strength=1.0 if speaks else 0.0,
        says=says,
        opposite="every unit right on both sides",
    )


def _rate(value: Measured, words: str) -> str:
    return f"unknown: {value.missing}" if isinstance(value, Missing) else f"{value:.1%} {words}"


def _success(summary: CellSummary | None) -> Measured:
    if summary is None:
        return Missing(missing="the cell is not in the plan")
    found = summary.metrics["success_rate"]
    return found if isinstance(found, Missing) else found.value


def _overall(
    cells: Sequence[CellDiagnosis], figures: Mapping[str, Figures]
) -> tuple[BottleneckClass, BottleneckClass | None, float]:
    mass: dict[BottleneckClass, float] = {}
    total = 0.0
    for cell in cells:
        seconds = figures[cell.cell_id].makespan_s if cell.cell_id in figures else 0.0
        total += seconds
        if cell.primary not in ("undetermined", "correctness"):
            mass[cell.primary] = mass.get(cell.primary, 0.0) + seconds * cell.confidence
    ranked = sorted(mass, key=lambda c: -mass[c])
    wrong = [c for c in cells if c.primary == "correctness"]
    if wrong:
        own = next((c.secondary for c in wrong if c.secondary is not None), None)
        return "correctness", ranked[0] if ranked else own, 1.0
    if not ranked or total == 0 or mass[ranked[0]] == 0:
        return "undetermined", None, 0.0
    second = ranked[1] if len(ranked) > 1 else None
    if second is None:
        first = [c for c in cells if c.primary == ranked[0] and c.secondary]
        second = first[0].secondary if first else None
    return ranked[0], second, round(min(1.0, mass[ranked[0]] / total), 4)
