"""How small tasks may be: the same work in more and more tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from daskperf_tasks.analyse.experiments.evidence import (
    outside_s_per_task,
    scheduler_s_per_task,
    transfer_s_per_task,
)
from daskperf_tasks.analyse.experiments.linear import fit
from daskperf_tasks.analyse.experiments.parts import More, Parts, of_series
from daskperf_tasks.analyse.experiments.resample import interval, medians
from daskperf_tasks.analyse.experiments.seen import Case, Seen, fastest, the_one
from daskperf_tasks.analyse.experiments.words import duration, listed, sentence, three
from daskperf_tasks.analyse.metrics_of import over, times
from daskperf_tasks.model.experiment import Knee, SeriesFit
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.results import Estimate

#: Overhead of tasks that counts as too much: this share of the makespan.
SHARE = 0.1
MODEL = (
    "makespan(T) = W ceil(T / P) / T + a + b T with T tasks on P threads: W seconds of work in "
    "rounds of P tasks, a fixed seconds, b overhead of each task; least squares on relative "
    "errors, no parameter below 0. W and a are told apart only by numbers of tasks that leave "
    "threads idle; otherwise their sum W / P + a is the level. The knee is where b T is "
    f"{SHARE:.0%} of the makespan: T = (W / P + a) / (9 b). Intervals: bootstrap over blocks, "
    "with the model's own misfit."
)
_CURVE = 80


def answer(case: Case) -> Parts:
    """Fit each series and say where smaller tasks stop helping."""
    groups = case.by_series()
    fits = tuple(fit_series(name, points) for name, points in groups.items())
    best = fastest(case.seen)
    said: list[str] = []
    if best is not None:
        said.append(_fastest(best[0], best[1], case))
    for one in fits:
        points = groups[one.series]
        if points:
            said += [of_series(one.series, s) for s in _read(one, points)]
    return Parts(
        model=MODEL,
        fits=fits,
        recommended=the_one(best),
        conclusion=tuple(sentence(s) for s in said),
        more={s.label: _more(s) for s in case.measured},
    )


def fit_series(series: str, points: Sequence[Seen]) -> SeriesFit:
    """Fit the model to the points of one number of threads."""

    def refused(why: Missing) -> SeriesFit:
        return SeriesFit(
            series=series,
            parameters=dict.fromkeys(
                ("overhead_ms_per_task", "level_s", "work_s", "fixed_ms"), why
            ),
            knee=why,
        )

    if len(points) < 3:
        return refused(Missing(missing=f"a fit needs 3 measured points, there are {len(points)}"))
    drawn = medians(points)
    if isinstance(drawn, Missing):
        return refused(drawn)
    threads = points[0].threads
    tasks = np.asarray([p.point.x for p in points], dtype=float)
    waves = np.ceil(tasks / threads) / tasks
    apart = bool(np.any(waves > 1.05 / threads)) and len(points) > 3
    if apart:
        found = fit(np.stack([waves, np.ones_like(tasks), tasks], axis=1), drawn)
    else:  # in whole rounds W and a are one level
        found = fit(np.stack([np.ones_like(tasks), tasks], axis=1), drawn)
    if isinstance(found, Missing):
        return refused(found)
    mix = np.asarray([1 / threads, 1.0]) if apart else np.asarray([1.0])
    level, levels = float(found.value[:-1] @ mix), found.draws[:, :-1] @ mix
    slope, slopes = float(found.value[-1]), found.draws[:, -1]
    one_level = Missing(missing="no number of tasks leaves threads idle: only W / P + a is known")
    b = interval(slope * 1e3, slopes * 1e3, drawn.n)
    parameters: dict[str, Estimate | Missing] = {
        "overhead_ms_per_task": b,
        "level_s": interval(level, levels, drawn.n),
        "work_s": interval(found.value[0], found.draws[:, 0], drawn.n) if apart else one_level,
        "fixed_ms": interval(found.value[1] * 1e3, found.draws[:, 1] * 1e3, drawn.n)
        if apart
        else one_level,
    }
    # Between them the curve is a saw of partly filled rounds, which hides more than it shows.
    whole = np.rint(np.geomspace(tasks[0], tasks[-1], _CURVE) / threads) * threads
    grid = np.unique(np.concatenate([tasks[tasks < threads], whole[whole > 0]]))
    grid = grid[(grid >= tasks[0]) & (grid <= tasks[-1])]
    if apart:
        heights = found.value[0] * np.ceil(grid / threads) / grid + found.value[1] + slope * grid
    else:
        heights = level + slope * grid
    return SeriesFit(
        series=series,
        parameters=parameters,
        knee=_knee(level, levels, slope, slopes, b, tasks, drawn.n),
        curve=tuple((float(x), float(y)) for x, y in zip(grid, heights, strict=True)),
    )


def _knee(
    level: float,
    levels: np.ndarray,
    slope: float,
    slopes: np.ndarray,
    b: Estimate,
    tasks: np.ndarray,
    n: int,
) -> Knee | Missing:
    factor = SHARE / (1 - SHARE)
    most, least = float(tasks[-1]), float(tasks[0])
    if slope * most < factor * level:
        return Missing(
            missing=f"up to {three(most)} tasks overhead stays below {SHARE:.0%} of the makespan "
            f"(at most {three(b.high)} ms a task)"
        )
    if b.low <= 0 or level <= 0:
        return Missing(
            missing=f"an overhead of {three(b.value)} ms a task [{three(b.low)}, "
            f"{three(b.high)}] is not told from none"
        )
    with np.errstate(divide="ignore"):
        at = interval(factor * level / slope, factor * levels / slopes, n)
    if at.value < least:
        return Missing(
            missing=f"already at {three(least)} tasks overhead is more than {SHARE:.0%} of the "
            "makespan"
        )
    low, high = max(1.0, at.low), at.high if math.isfinite(at.high) else most
    return Knee(
        value=at.value,
        low=low,
        high=high,
        text=f"from {three(at.value)} tasks [{three(low)}, {three(high)}] on, overhead of "
        f"{three(b.value)} ms a task costs more than {SHARE:.0%} of the makespan",
    )


def _fastest(best: Seen, tied: Sequence[Seen], case: Case) -> str:
    rest = [s.label for s in tied if s is not best]
    equal = f"; not told from it: {listed(rest)}" if rest else ""
    cores = known(case.cores)
    where = f" on {three(cores)} cores" if cores is not None else ""
    return f"fastest is {best.label} with {duration(best.makespan_s)}{where}{equal}"


def _read(found: SeriesFit, points: Sequence[Seen]) -> list[str]:
    knee = found.knee
    said = [
        f"no knee: {knee.missing}"
        if isinstance(knee, Missing)
        else f"smaller tasks stop helping: {knee.text}"
    ]
    few = points[0]
    idle = few.threads - int(few.point.x or 0)
    if idle > 0:
        best = min(points, key=lambda s: s.makespan_s)
        said.append(
            f"too few tasks: with {few.label}, {idle} of {few.threads} threads idle, and it "
            f"takes {three(few.makespan_s / best.makespan_s)} times as long as {best.label}"
        )
    return [*said, _overheads(found, points[-1])]


def _overheads(found: SeriesFit, most: Seen) -> str:
    b, a = found.parameters["overhead_ms_per_task"], found.parameters["fixed_ms"]
    named = []
    if isinstance(b, Estimate):
        share = b.value * 1e-3 * (most.point.x or 0)
        named.append(
            f"{three(b.value)} ms [{three(b.low)}, {three(b.high)}] a task, "
            f"{duration(share)} at {most.label}"
        )
    if isinstance(a, Estimate) and a.low > 0:
        named.append(f"{three(a.value)} ms [{three(a.low)}, {three(a.high)}] once a run")
    measured = (
        ("of the scheduler's CPU", known(scheduler_s_per_task(most))),
        ("of waiting for other workers' data", known(transfer_s_per_task(most))),
        ("of thread time outside tasks", known(outside_s_per_task(most))),
    )
    named += [
        f"{duration(value)} {what} a task, measured at {most.label}"
        for what, value in measured
        if value is not None and value > 0
    ]
    return f"overheads: {'; '.join(named)}" if named else "overheads: no clock tells them"


def _more(seen: Seen) -> More:
    return {
        "task_ms": seen.median(lambda s: times(over(s.task_wall_s, float(s.tasks)), 1e3)),
        "outside_ms_per_task": times(outside_s_per_task(seen), 1e3),
        "scheduler_ms_per_task": times(scheduler_s_per_task(seen), 1e3),
    }
