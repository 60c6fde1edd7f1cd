"""The smallest task that still keeps half of the peak throughput (Task Bench's METG)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daskperf_tasks.analyse.experiments.parts import More, Parts, of_series
from daskperf_tasks.analyse.experiments.resample import Medians, interval, medians
from daskperf_tasks.analyse.experiments.seen import Case, Seen
from daskperf_tasks.analyse.experiments.words import duration, sentence, three
from daskperf_tasks.analyse.intervals import Floats, median_interval
from daskperf_tasks.model.experiment import Knee, SeriesFit
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate

HALF = 0.5
#: Power of the grain by which throughput may still rise at the end of a sweep.
_STILL_RISING = 0.2
#: Share of bootstrap draws that may lack a crossing.
_UNCERTAIN = 0.05
MODEL = (
    "Throughput is useful iterations (grain x tasks of the pattern) a second; efficiency is "
    "throughput / the highest of the series; granularity is threads x makespan / tasks. "
    "METG(50 %), the minimum effective task granularity (Slaughter et al., Task Bench, SC20), is "
    "the granularity at which efficiency crosses 50 %, between the two measured neighbours "
    "on straight lines in logarithms. The sweep has to reach the peak: where the largest grain is "
    "the best, throughput may rise there by no more than the power 0.2 of the grain (with an "
    "overhead o and a work c g a task it rises by the power o / (o + c g), which is what "
    "efficiency lacks to 1). Intervals: bootstrap over blocks."
)


def answer(case: Case) -> Parts:
    """Find the peak and METG(50 %) of each series."""
    groups = case.by_series()
    fits, said, peaks = [], list[str](), dict[str, tuple[Seen, float]]()
    for name, points in groups.items():
        fits.append(fit_series(name, points))
        usable = [p for p in points if useful(p) > 0]
        if not usable:
            continue
        top = max(usable, key=rate)
        peaks[name] = (top, rate(top))
        knee = fits[-1].knee
        said.append(
            of_series(
                name,
                f"highest throughput {three(rate(top))} iterations/s at {top.label}; "
                + (f"no METG(50 %): {knee.missing}" if isinstance(knee, Missing) else knee.text),
            )
        )
    known_ones = {
        f.series: e
        for f in fits
        if isinstance(e := f.parameters["metg_us"], Estimate) and len(fits) > 1
    }
    if len(known_ones) > 1:
        low = min(known_ones, key=lambda k: known_ones[k].value)
        high = max(known_ones, key=lambda k: known_ones[k].value)
        said.append(
            f"{low} bears the smallest tasks ({duration(known_ones[low].value * 1e-6)}), {high} "
            f"needs the largest ({duration(known_ones[high].value * 1e-6)})"
        )
    return Parts(
        model=MODEL,
        fits=tuple(fits),
        recommended=Missing(missing="the grain follows from the work; the knee is its lower limit"),
        conclusion=tuple(sentence(s) for s in said),
        more={
            p.label: _more(p, peaks.get(name)) for name, points in groups.items() for p in points
        },
    )


def useful(seen: Seen) -> float:
    """Return the useful iterations of one repeat; 0 for the kernel that does nothing."""
    if seen.setting("kernel") == "empty":
        return 0.0
    grain = seen.number("grain")
    return (grain if grain is not None else seen.point.x or 0.0) * seen.units


def rate(seen: Seen) -> float:
    """Return useful iterations a second."""
    return useful(seen) / seen.makespan_s


def fit_series(series: str, points: Sequence[Seen]) -> SeriesFit:
    """Find where one series crosses half of its peak."""

    def refused(why: str) -> SeriesFit:
        missing = Missing(missing=why)
        return SeriesFit(
            series=series,
            parameters={"metg_us": missing, "peak_iterations_per_s": missing},
            knee=missing,
        )

    if points and all(useful(p) == 0 for p in points):
        return refused("its tasks do no useful work, so that there is no throughput")
    usable = [p for p in points if useful(p) > 0]
    if len(usable) < 2:
        return refused(f"a crossing needs 2 measured points, there are {len(usable)}")
    drawn = medians(usable)
    if isinstance(drawn, Missing):
        return refused(drawn.missing)
    work = np.asarray([useful(p) for p in usable])
    per_task = np.asarray([p.threads / p.units for p in usable])
    grain = np.asarray([p.point.x for p in usable], dtype=float)
    peak = interval(float((work / drawn.value).max()), (work / drawn.draws).max(axis=1), drawn.n)
    parameters: dict[str, Estimate | Missing] = {"peak_iterations_per_s": peak}
    rising = _power_at_the_end(work / drawn.value, grain)
    if rising > _STILL_RISING:
        largest = usable[int(grain.argmax())]
        why = (
            f"at {largest.label}, the largest, throughput still rises with the power {rising:.2f} "
            "of the grain: the sweep ends before the peak, give larger grains"
        )
        parameters["metg_us"] = Missing(missing=why)
        return SeriesFit(series=series, parameters=parameters, knee=Missing(missing=why))
    at, position = _crossings(drawn.value[None, :], work, per_task, grain)
    if np.isnan(at[0]):
        share = work / drawn.value / peak.value
        small = usable[0]
        why = (
            f"at {small.label}, the smallest, {share[0]:.0%} of the peak is left: the sweep does "
            f"not come down to {HALF:.0%}"
        )
        parameters["metg_us"] = Missing(missing=why)
        return SeriesFit(series=series, parameters=parameters, knee=Missing(missing=why))
    found = _found(drawn, work, per_task, grain, float(at[0]), float(position[0]))
    parameters["metg_us"] = found[0]
    return SeriesFit(series=series, parameters=parameters, knee=found[1])


def _power_at_the_end(rates: Floats, grain: Floats) -> float:
    """Return the power of the grain by which the rate rises between the two largest grains."""
    before, last = np.argsort(grain)[-2:]
    if grain[before] == grain[last]:
        return 0.0
    return float(np.log(rates[last] / rates[before]) / np.log(grain[last] / grain[before]))


def _found(
    drawn: Medians, work: Floats, per_task: Floats, grain: Floats, at: float, position: float
) -> tuple[Estimate | Missing, Knee | Missing]:
    draws, positions = _crossings(drawn.draws, work, per_task, grain)
    there = ~np.isnan(draws)
    if 1 - there.mean() > _UNCERTAIN:
        why = Missing(
            missing=f"the points' noise leaves open whether efficiency crosses {HALF:.0%} "
            f"(it does in {there.mean():.0%} of the bootstrap draws)"
        )
        return why, why
    metg = interval(at * 1e6, draws[there] * 1e6, drawn.n)
    x = interval(position, positions[there], drawn.n)
    text = (
        f"METG(50 %) is {duration(metg.value * 1e-6)} "
        f"[{duration(metg.low * 1e-6)}, {duration(metg.high * 1e-6)}] a task, at a grain of "
        f"{three(x.value)} [{three(x.low)}, {three(x.high)}]"
    )
    return metg, Knee(value=x.value, low=x.low, high=x.high, text=text)


def _crossings(
    spans: Floats, work: Floats, per_task: Floats, grain: Floats
) -> tuple[Floats, Floats]:
    """Return granularity (s) and grain at the crossing of each row of makespans; NaN for none.

    Coming down from the peak, the first crossing counts.
    """
    share = np.log(work / spans)
    share -= share.max(axis=1, keepdims=True)
    share -= np.log(HALF)  # log of efficiency / 50 %
    rows, count = share.shape
    at, position = np.full(rows, np.nan), np.full(rows, np.nan)
    top = share.argmax(axis=1)
    size = np.log(spans * per_task)
    place = np.log(grain)
    for i in range(count - 1):  # the last one to be written is the nearest to the peak
        lower, upper = share[:, i], share[:, i + 1]
        here = (i + 1 <= top) & (lower < 0) & (upper >= 0)
        rise = np.where(here, upper - lower, 1.0)
        part = np.where(here, -lower / rise, 0.0)
        at = np.where(here, np.exp(size[:, i] + part * (size[:, i + 1] - size[:, i])), at)
        position = np.where(here, np.exp(place[i] + part * (place[i + 1] - place[i])), position)
    return at, position


def _more(seen: Seen, peak: tuple[Seen, float] | None) -> More:
    work = useful(seen)
    if work <= 0 or peak is None:
        why = Missing(missing="its tasks do no useful work")
        return {"granularity_us": _granularity(seen), "iterations_per_s": why, "efficiency": why}
    return {
        "granularity_us": _granularity(seen),
        "iterations_per_s": median_interval([[work / m for m in row] for row in seen.rows]),
        "efficiency": rate(seen) / peak[1],
    }


def _granularity(seen: Seen) -> float | Missing:
    if seen.units <= 0:
        return Missing(missing="the pattern had no tasks")
    return seen.threads * seen.makespan_s / seen.units * 1e6
