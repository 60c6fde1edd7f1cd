"""Local against remote: the same request on both sides, ratios and their reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from daskperf_tasks.analyse.by_cell import Groups, group, throughputs
from daskperf_tasks.analyse.intervals import ratio_of_medians
from daskperf_tasks.analyse.rubric import reading
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.facts import Calibration
from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import CellSummary, Estimate, SidePair, Summary

#: What is compared, raw throughput first.
COMPARED = ("throughput_per_s", "throughput_per_thread", "throughput_per_effective_thread")


def compare_sides(
    plan: Plan,
    summaries: Mapping[Side, Summary],
    blocks: Iterable[BlockResult],
    calibration: Calibration | None = None,
) -> tuple[SidePair, ...]:
    """Compare each local cell with the same work on the remote side (tonight's wheel).

    Parameters
    ----------
    plan
        Gives the pairs: cells that are one another's counterpart.
    summaries
        Of both sides.
    blocks
        The raw results: intervals are made from repeats by block.
    calibration
        For what it says of its own stability.

    Returns
    -------
    tuple of SidePair
        ``same_inputs`` is True when both requests have the same hash; ratios of
        unequal requests are withheld. Each ratio is the quotient of the two
        medians that the summaries show, with its interval around it.
    """
    groups = group(blocks)
    planned = {p.cell_id: p for p in plan.cells}
    cells = {(c.cell_id, c.arm): c for summary in summaries.values() for c in summary.cells}
    pairs: list[SidePair] = []
    for local in plan.cells:
        remote = planned.get(local.cell.counterpart_id)
        if local.cell.side != "local" or remote is None:
            continue
        left = cells[local.cell_id, "subject"]
        right = cells[remote.cell_id, "subject"]
        pairs.append(_pair(local, remote, left, right, groups, calibration))
    return tuple(pairs)


def _pair(
    local: PlannedCell,
    remote: PlannedCell,
    left: CellSummary,
    right: CellSummary,
    groups: Groups,
    calibration: Calibration | None,
) -> SidePair:
    mine = groups.get((local.cell_id, "subject"), ())
    theirs = groups.get((remote.cell_id, "subject"), ())
    hashes = {local.request_hash, remote.request_hash} | {
        b.request_hash for b in (*mine, *theirs) if b.valid
    }
    same = len(hashes) == 1
    ratios: dict[str, Estimate | Missing] = {}
    raw = _raw(throughputs(mine), throughputs(theirs), left, right, same)
    for name in COMPARED:
        scale = 1.0 if name == COMPARED[0] else _scale(name, left, right)
        ratios[name] = raw if isinstance(raw, Missing) else _scaled(raw, scale)
    text = reading(
        ratios,
        remote_busy=_value(right, "busy_fraction"),
        local_success=_value(left, "success_rate"),
        remote_success=_value(right, "success_rate"),
        calibration_stable=None if calibration is None else calibration.stable,
    )
    if not same:
        text = ("Inputs differ between the sides, so nothing is compared.", *text)
    return SidePair(
        label=f"{local.cell.label} ({local.cell.env} | {remote.cell.env})",
        local_cell=local.cell_id,
        remote_cell=remote.cell_id,
        same_inputs=same,
        ratios=ratios,
        reading=text,
    )


def _raw(
    mine: list[list[float]],
    theirs: list[list[float]],
    left: CellSummary,
    right: CellSummary,
    same: bool,
) -> Estimate | Missing:
    """Remote / local throughput, from the throughputs themselves.

    Taken from makespans it would not be the quotient of the medians that stand beside
    it: the median of an even number of inverses is not the inverse of the median.
    """
    if not same:
        return Missing(missing="the two sides did not compute the same request")
    for side, rows, summary in (("local", mine, left), ("remote", theirs, right)):
        if not rows:
            return Missing(missing=f"{side} was not measured: {summary.reason or 'no sample'}")
    if any(value <= 0 for row in (*mine, *theirs) for value in row):
        return Missing(missing="the throughput of a repeat is zero")
    return ratio_of_medians(theirs, mine).estimate


def _scale(name: str, left: CellSummary, right: CellSummary) -> Measured:
    """Threads local / threads remote, raw or effective, as the summaries used them.

    Taken from the medians, so that the scaled ratio is their quotient too.
    """
    factors: list[float] = []
    for summary in (left, right):
        raw, scaled = summary.metrics["throughput_per_s"], summary.metrics[name]
        if isinstance(raw, Missing):
            return raw
        if isinstance(scaled, Missing):
            return scaled
        if scaled.value == 0:
            return Missing(missing="throughput is zero")
        factors.append(raw.value / scaled.value)
    return factors[0] / factors[1]


def _scaled(ratio: Estimate, scale: Measured) -> Estimate | Missing:
    if isinstance(scale, Missing):
        return scale
    return Estimate(
        value=ratio.value * scale,
        low=ratio.low * scale,
        high=ratio.high * scale,
        confidence=ratio.confidence,
        n=ratio.n,
    )


def _value(summary: CellSummary, name: str) -> Measured:
    found = summary.metrics[name]
    return found if isinstance(found, Missing) else found.value
