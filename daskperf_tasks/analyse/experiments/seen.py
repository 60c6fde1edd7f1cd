"""What was measured of each point of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from daskperf_tasks.analyse.by_cell import Groups, counted, group, makespans, state_of, throughputs
from daskperf_tasks.analyse.intervals import median_interval, ratio_of_medians
from daskperf_tasks.analyse.metrics_of import first_reason, numbers
from daskperf_tasks.model.block import BlockResult, Sample
from daskperf_tasks.model.experiment import PlannedExperiment, Point, PointResult
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Estimate

#: One block tells nothing of how blocks differ: ratios then have to clear this factor, too.
#: (Pairs of blocks on shared machines scatter by up to 28 %.)
ONE_BLOCK_FACTOR = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One point with the blocks that count."""

    point: Point
    state: Literal["measured", "failed", "missing"]
    #: Why it was not measured; empty when it was.
    reason: str
    #: The valid blocks of tonight's wheel, one a round.
    blocks: tuple[BlockResult, ...]
    #: What all points of the experiment have in common.
    fixed: tuple[tuple[str, Scalar], ...] = ()

    @property
    def label(self) -> str:
        """Its name in tables."""
        return self.point.label

    @property
    def rows(self) -> list[list[float]]:
        """Makespans (s) by block."""
        return makespans(self.blocks)

    @property
    def makespan_s(self) -> float:
        """Median makespan; only of a measured point."""
        return float(np.median(np.concatenate([np.asarray(r) for r in self.rows])))

    @property
    def threads(self) -> int:
        """Threads that could run tasks at once; 0 when not measured."""
        return max(1, self.blocks[-1].threads) if self.blocks else 0

    @property
    def processes(self) -> int:
        """Processes that the threads were in; 0 when not measured."""
        return max(1, self.blocks[-1].processes) if self.blocks else 0

    @property
    def tasks(self) -> int:
        """Tasks of one repeat; 0 when not measured."""
        found = [s.tasks for b in self.blocks for s in b.measured]
        return int(np.median(found)) if found else 0

    @property
    def units(self) -> int:
        """Units of work of one repeat; 0 when not measured."""
        found = [s.units for b in self.blocks for s in b.measured]
        return int(np.median(found)) if found else 0

    def setting(self, *names: str) -> Scalar | None:
        """Return the first of these settings that the point has, of its own or in common."""
        settings = dict(self.fixed) | dict(self.point.settings)
        return next((settings[n] for n in names if n in settings), None)

    def number(self, *names: str) -> float | None:
        """Return the first of these settings as a number, or None."""
        value = self.setting(*names)
        return None if isinstance(value, str | bool) or value is None else float(value)

    def median(self, of: Callable[[Sample], Measured]) -> Measured:
        """Return the median over the repeats that have a figure, or a reason."""
        values = [of(s) for b in self.blocks for s in b.measured if s.makespan_s > 0]
        found = numbers(values)
        if found:
            return float(np.median(found))
        return Missing(missing=first_reason(values, self.reason or "no sample has it"))

    @property
    def peak_rss_mib(self) -> Measured:
        """The largest resident set of one process in any repeat."""
        values = [s.peak_rss_mib for b in self.blocks for s in b.measured]
        found = numbers(values)
        if found:
            return max(found)
        return Missing(missing=first_reason(values, self.reason or "no sample has it"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An experiment with what was measured of it."""

    planned: PlannedExperiment
    seen: tuple[Seen, ...]
    #: Cores that the measuring processes may use, or why that is not known.
    cores: Measured

    @property
    def measured(self) -> tuple[Seen, ...]:
        """The points with figures."""
        return tuple(s for s in self.seen if s.state == "measured")

    @property
    def baseline(self) -> Seen | None:
        """The point that all speed-ups refer to."""
        return next((s for s in self.seen if s.label == self.planned.baseline), None)

    def baseline_of(self, seen: Seen) -> Seen | None:
        """Return what a point's speed-up refers to: the baseline, or its series' fewest workers."""
        if self.baseline is not None or self.planned.kind != "workers":
            return self.baseline
        series = [s for s in self.seen if s.point.series == seen.point.series and s.point.x]
        return min(series, key=lambda s: s.point.x or 0.0, default=None)

    def by_series(self) -> dict[str, tuple[Seen, ...]]:
        """Return the measured points that have a position, by series, in order of position."""
        found: dict[str, list[Seen]] = {s.point.series: [] for s in self.seen}
        for s in self.measured:
            if s.point.x is not None and s.point.x > 0:
                found[s.point.series].append(s)
        return {k: tuple(sorted(v, key=lambda s: s.point.x or 0.0)) for k, v in found.items()}


def see(
    planned: PlannedExperiment,
    blocks: Iterable[BlockResult],
    *,
    preflight: Preflight | None,
    cores: Measured,
) -> Case:
    """Look up the blocks of every planned point under tonight's wheel."""
    groups = group(blocks)
    return Case(
        planned=planned,
        seen=tuple(_see(p, groups, preflight, planned.fixed) for p in planned.points),
        cores=cores,
    )


def _see(
    point: Point,
    groups: Groups,
    preflight: Preflight | None,
    fixed: tuple[tuple[str, Scalar], ...],
) -> Seen:
    attempts = groups.get((point.cell_id, "subject"), ())
    state, reason = state_of(attempts, preflight)
    use = tuple(b for b in counted(attempts) if makespans([b]))
    if state == "measured" and not use:
        state, reason = "failed", "no repeat has a makespan above 0"
    return Seen(point=point, state=state, reason=reason or "", blocks=use, fixed=fixed)


def ratio(numerator: Seen, denominator: Seen) -> Estimate | Missing:
    """Return the ratio of two points' makespans with an interval that may be decided on.

    With a single block on a side the interval is wider by :data:`ONE_BLOCK_FACTOR`.
    """
    for s in (numerator, denominator):
        if s.state != "measured":
            return Missing(missing=f"{s.label}: {s.reason}")
    if numerator.point.cell_id == denominator.point.cell_id:
        n = sum(map(len, numerator.rows))
        return Estimate(value=1.0, low=1.0, high=1.0, confidence=1.0, n=n)
    found = ratio_of_medians(numerator.rows, denominator.rows)
    e = found.estimate
    widen = ONE_BLOCK_FACTOR if found.blocks < 2 else 1.0
    return scaled(e, 1.0, widen)


def scaled(e: Estimate, factor: float, widen: float = 1.0) -> Estimate:
    """Multiply an estimate, and its interval's ends by a factor more."""
    return Estimate(
        value=e.value * factor,
        low=e.low * factor / widen,
        high=e.high * factor * widen,
        confidence=e.confidence,
        n=e.n,
    )


def point_result(
    seen: Seen, baseline: Seen | None, more: dict[str, Estimate | float | Missing]
) -> PointResult:
    """Return the row of one point."""
    why = Missing(missing=seen.reason)
    measured = seen.state == "measured"
    last = seen.blocks[-1] if seen.blocks else None
    no_baseline = Missing(missing="no point is the baseline")
    return PointResult(
        label=seen.label,
        cell_id=seen.point.cell_id,
        state=seen.state,
        reason=seen.reason,
        threads=seen.threads,
        tasks=seen.tasks,
        makespan_s=median_interval(seen.rows) if measured else why,
        speedup=no_baseline if baseline is None else (ratio(baseline, seen) if measured else why),
        throughput_per_s=median_interval(throughputs(seen.blocks)) if measured else why,
        peak_rss_mib=seen.peak_rss_mib,
        graph=last.graph if last else why,
        correctness=last.correctness if last else f"not checked: {seen.reason}",
        more=more,
    )


def the_one(found: tuple[Seen, tuple[Seen, ...]] | None) -> str | Missing:
    """Return the label of the fastest point, if it is told from all others."""
    if found is None:
        return Missing(missing="nothing was measured")
    best, tied = found
    if len(tied) > 1:
        return Missing(missing=f"{'; '.join(s.label for s in tied)} are not told apart")
    return best.label


def fastest(seen: Sequence[Seen]) -> tuple[Seen, tuple[Seen, ...]] | None:
    """Return the point of the smallest median, and all that cannot be told from it (it included).

    None when nothing was measured.
    """
    there = [s for s in seen if s.state == "measured"]
    if not there:
        return None
    best = min(there, key=lambda s: s.makespan_s)
    tied = []
    for s in there:
        slower = ratio(s, best)
        if s is best or (isinstance(slower, Estimate) and slower.low <= 1.0):
            tied.append(s)
    return best, tuple(tied)
