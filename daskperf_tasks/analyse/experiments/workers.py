"""What more workers bring: Amdahl's law for each series."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from daskperf_tasks.analyse.experiments.evidence import explain
from daskperf_tasks.analyse.experiments.linear import fit
from daskperf_tasks.analyse.experiments.parts import More, Parts, of_series
from daskperf_tasks.analyse.experiments.resample import interval, medians
from daskperf_tasks.analyse.experiments.seen import Case, Seen, fastest, ratio, scaled, the_one
from daskperf_tasks.analyse.experiments.words import duration, sentence, three, with_interval
from daskperf_tasks.analyse.intervals import Floats
from daskperf_tasks.model.experiment import Knee, SeriesFit
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.results import Estimate

#: Efficiency below which more workers are a waste.
HALF = 0.5
MODEL = (
    "makespan(p) = M (s + (1 - s) / min(p, cores)): Amdahl's law (AFIPS 1967) with serial "
    "fraction s, workers beyond the allocation bringing nothing; least squares on relative "
    "errors, s from 0 to 1. Speed-up and efficiency (speed-up / p) refer to the fewest workers of "
    "the series. The knee is where efficiency falls below 50 %, p = 1 + 1 / s, or where the "
    "allocation ends. Intervals: bootstrap over blocks, with the model's own misfit."
)
_CURVE = 60
#: An interval of s wider than this says nothing.
_WIDEST = 0.7


def answer(case: Case) -> Parts:
    """Fit each series and say how far it scales."""
    groups = case.by_series()
    cores = known(case.cores)
    fits = tuple(fit_series(name, points, cores) for name, points in groups.items())
    best = fastest(case.seen)
    said = [
        of_series(one.series, text)
        for one in fits
        if groups[one.series]
        for text in _read(one, groups[one.series])
    ]
    if best is not None:
        said.append(f"fastest is {best[0].label} with {duration(best[0].makespan_s)}")
        said.append(explain(best[0]))
    more: dict[str, More] = {}
    for points in groups.values():
        for p in points:
            more[p.label] = _more(p, points[0])
    return Parts(
        model=MODEL,
        fits=fits,
        recommended=the_one(best),
        conclusion=tuple(sentence(s) for s in said),
        more=more,
    )


def fit_series(series: str, points: Sequence[Seen], cores: float | None) -> SeriesFit:
    """Fit Amdahl's law to one series."""

    def refused(why: Missing) -> SeriesFit:
        return SeriesFit(series=series, parameters={"serial_fraction": why}, knee=why)

    if len(points) < 2:
        return refused(Missing(missing=f"a fit needs 2 measured points, there are {len(points)}"))
    drawn = medians(points)
    if isinstance(drawn, Missing):
        return refused(drawn)
    asked = np.asarray([p.point.x for p in points], dtype=float)
    limit = cores if cores is not None else math.inf
    used = np.minimum(asked, limit)
    if np.ptp(used) == 0:
        return refused(
            Missing(missing=f"an allocation of {three(limit)} cores has no second point")
        )
    found = fit(np.stack([np.ones_like(used), 1 / used], axis=1), drawn)
    if isinstance(found, Missing):
        return refused(found)
    s = float(found.value[0] / found.value.sum())
    serial = interval(s, found.draws[:, 0] / found.draws.sum(axis=1), drawn.n)
    if serial.high - serial.low > _WIDEST:
        return refused(
            Missing(
                missing=f"a serial fraction of {three(s)} [{three(serial.low)}, "
                f"{three(serial.high)}] is not determined by these points"
            )
        )
    first = s + (1 - s) / used[0]
    grid = np.geomspace(asked[0], asked[-1], _CURVE)
    heights = first / (s + (1 - s) / np.minimum(grid, limit))
    return SeriesFit(
        series=series,
        parameters={"serial_fraction": serial},
        knee=_knee(serial, asked, limit),
        curve=tuple((float(x), float(y)) for x, y in zip(grid, heights, strict=True)),
    )


def _knee(serial: Estimate, asked: Floats, limit: float) -> Knee | Missing:
    most = float(asked[-1])

    def at(s: float) -> float:
        return 1 + 1 / s if s > 0 else math.inf

    half = at(serial.value)
    end = min(most, limit)
    if half <= end:
        low, high = at(serial.high), min(at(serial.low), end)
        return Knee(
            value=half,
            low=low,
            high=high,
            text=f"efficiency falls below {HALF:.0%} at {three(half)} workers "
            f"[{three(low)}, {three(high)}]",
        )
    efficiency = 1 / (end * serial.value + 1 - serial.value)
    if limit <= most:
        return Knee(
            value=limit,
            low=limit,
            high=limit,
            text=f"the allocation ends at {three(limit)} cores, with an efficiency of "
            f"{efficiency:.0%} there",
        )
    beyond = "for ever" if math.isinf(half) else f"to {three(half)} workers by the fit"
    return Missing(
        missing=f"efficiency is still {efficiency:.0%} at {three(most)} workers, the most that "
        f"were measured (above {HALF:.0%} {beyond})"
    )


def _read(found: SeriesFit, points: Sequence[Seen]) -> list[str]:
    serial = found.parameters["serial_fraction"]
    said = []
    if isinstance(serial, Estimate):
        limit = "" if serial.value <= 0 else f", so never above {three(1 / serial.value)} times"
        check = "; two points, so the fit cannot be checked" if len(points) == 2 else ""
        said.append(
            f"serial fraction {three(serial.value)} [{three(serial.low)}, "
            f"{three(serial.high)}]{limit}{check}"
        )
    if len(points) > 1:
        most = points[-1]
        gain = ratio(points[0], most)
        said.append(f"{most.label} is {with_interval(gain)} times as fast as {points[0].label}")
    knee = found.knee
    said.append(f"no knee: {knee.missing}" if isinstance(knee, Missing) else knee.text)
    return said


def _more(seen: Seen, first: Seen) -> More:
    gain = ratio(first, seen)
    if isinstance(gain, Missing):
        return {"efficiency": gain}
    share = (first.point.x or 1.0) / (seen.point.x or 1.0)
    return {"efficiency": scaled(gain, share)}
