"""How large chunks of an array should be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daskperf_tasks.analyse.experiments.evidence import cpu_per_wall
from daskperf_tasks.analyse.experiments.linear import fit
from daskperf_tasks.analyse.experiments.parts import More, Parts
from daskperf_tasks.analyse.experiments.resample import interval, medians
from daskperf_tasks.analyse.experiments.seen import Case, Seen, fastest
from daskperf_tasks.analyse.experiments.words import counted, duration, listed, sentence, three
from daskperf_tasks.analyse.intervals import Floats
from daskperf_tasks.model.experiment import Knee, SeriesFit
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.results import Estimate

#: Overhead of tasks that counts as too much: this share of the makespan.
SHARE = 0.1
#: Peaks of memory that differ by less are alike.
_ALIKE = 1.1
MODEL = (
    "makespan = W / min(P, chunks) + b tasks with P threads: W seconds of work, b overhead of "
    "each task of the graph; least squares on relative errors, no parameter below 0. The knee is "
    f"the chunk below which b tasks is more than {SHARE:.0%} of the makespan, tasks between two "
    "measured chunks interpolated in logarithms. Intervals: bootstrap over blocks, with the "
    "model's own misfit. Recommended is, among the chunks that are not told from the fastest, the "
    "one of the smallest peak of memory (within 10 %: of the smallest graph)."
)


def partitions(seen: Seen) -> float | Missing:
    """Return the number of chunks that a point works on."""
    found = seen.number("chunks", "partitions")
    return found if found else Missing(missing="the plan does not say the number of chunks")


def answer(case: Case) -> Parts:
    """Fit work and overhead, and recommend a chunk."""
    points = tuple(p for group in case.by_series().values() for p in group)
    points = tuple(sorted(points, key=lambda p: p.point.x or 0.0))
    fitted = fit_chunks(points)
    best = fastest(case.seen)
    said: list[str] = []
    recommended: str | Missing = Missing(missing="nothing was measured")
    if best is not None:
        chosen = _choose(best[1])
        recommended = chosen.label
        said += _reasons(chosen, best[0], best[1])
    for p in points:
        count = known(partitions(p))
        if count is not None and count < p.threads:
            said.append(
                f"{p.label} is too large: {counted(int(count), 'chunk')} for {p.threads} threads: "
                f"{three(p.threads - count)} without work"
            )
    b = fitted.parameters["overhead_ms_per_task"]
    if isinstance(b, Estimate) and points:
        small = points[0]
        said.append(
            f"each task costs {three(b.value)} ms [{three(b.low)}, {three(b.high)}]: "
            f"{duration(b.value * 1e-3 * small.tasks)} of {duration(small.makespan_s)} at "
            f"{small.label}, with {small.tasks:,} tasks"
        )
    knee = fitted.knee
    said.append(f"no knee: {knee.missing}" if isinstance(knee, Missing) else knee.text)
    return Parts(
        model=MODEL,
        fits=(fitted,),
        recommended=recommended,
        conclusion=tuple(sentence(s) for s in said),
        more={s.label: _more(s) for s in case.measured},
    )


def fit_chunks(points: Sequence[Seen]) -> SeriesFit:
    """Fit work and overhead of each task to points in order of chunk size."""

    def refused(why: Missing) -> SeriesFit:
        return SeriesFit(
            series="", parameters={"work_s": why, "overhead_ms_per_task": why}, knee=why
        )

    if len(points) < 3:
        return refused(Missing(missing=f"a fit needs 3 measured points, there are {len(points)}"))
    counts = [partitions(p) for p in points]
    for count in counts:
        if isinstance(count, Missing):
            return refused(count)
    drawn = medians(points)
    if isinstance(drawn, Missing):
        return refused(drawn)
    tasks = np.asarray([p.tasks for p in points], dtype=float)
    use = np.asarray([min(p.threads, known(c) or 1) for p, c in zip(points, counts, strict=True)])
    columns = np.stack([1 / use, tasks], axis=1)
    found = fit(columns, drawn)
    if isinstance(found, Missing):
        return refused(found)
    b = interval(found.value[1] * 1e3, found.draws[:, 1] * 1e3, drawn.n)
    sizes = np.asarray([p.point.x for p in points], dtype=float)
    heights = columns @ found.value
    return SeriesFit(
        series="",
        parameters={
            "work_s": interval(found.value[0], found.draws[:, 0], drawn.n),
            "overhead_ms_per_task": b,
        },
        knee=_knee(found.value, found.draws, b, sizes, tasks, float(use.max()), drawn.n),
        curve=tuple((float(x), float(y)) for x, y in zip(sizes, heights, strict=True)),
    )


def _knee(
    value: Floats,
    draws: Floats,
    b: Estimate,
    sizes: Floats,
    tasks: Floats,
    threads: float,
    n: int,
) -> Knee | Missing:
    factor = SHARE / (1 - SHARE) / threads
    if value[1] * tasks.max() < factor * value[0]:
        return Missing(
            missing=f"even at {three(float(sizes[0]))} MiB a chunk overhead stays below "
            f"{SHARE:.0%} of the makespan (at most {three(b.high)} ms a task)"
        )
    if b.low <= 0:
        return Missing(
            missing=f"an overhead of {three(b.value)} ms a task [{three(b.low)}, "
            f"{three(b.high)}] is not told from none"
        )
    order = np.argsort(tasks)

    def size_at(count: Floats) -> Floats:
        at = np.interp(np.log(count), np.log(tasks[order]), np.log(sizes[order]))
        return np.asarray(np.exp(at))

    with np.errstate(divide="ignore"):
        enough = factor * draws[:, 0] / draws[:, 1]
    count = factor * value[0] / value[1]
    if count < tasks.min():
        return Missing(
            missing=f"already at {three(float(sizes[-1]))} MiB a chunk overhead is more than "
            f"{SHARE:.0%} of the makespan"
        )
    bounded = np.clip(enough, tasks.min(), tasks.max())
    at = interval(float(size_at(np.asarray([count]))[0]), size_at(bounded), n)
    return Knee(
        value=at.value,
        low=at.low,
        high=at.high,
        text=f"below {three(at.value)} MiB a chunk [{three(at.low)}, {three(at.high)}] overhead of "
        f"{three(b.value)} ms a task costs more than {SHARE:.0%} of the makespan",
    )


def _choose(tied: Sequence[Seen]) -> Seen:
    """The least memory among equals, then the smallest graph."""
    peaks = {s.label: known(s.peak_rss_mib) for s in tied}
    least = min((p for p in peaks.values() if p is not None), default=None)

    def rank(s: Seen) -> tuple[bool, int]:
        peak = peaks[s.label]
        return (least is not None and (peak is None or peak > least * _ALIKE), s.tasks)

    return min(tied, key=rank)


def _reasons(chosen: Seen, best: Seen, tied: Sequence[Seen]) -> list[str]:
    facts = [f"{duration(chosen.makespan_s)}", f"{chosen.tasks:,} tasks"]
    count, peak = known(partitions(chosen)), known(chosen.peak_rss_mib)
    if count is not None:
        facts.append(f"{three(count / chosen.threads)} chunks a thread")
    if chosen.point.x is not None:
        facts.append(f"{three(chosen.point.x)} MiB a chunk")
    if peak is not None:
        facts.append(f"a peak of {three(peak)} MiB")
    said = [f"use {chosen.label}: {', '.join(facts)}"]
    others = [s.label for s in tied if s is not chosen]
    if others:
        verb = "is" if len(others) == 1 else "are"
        why = f"{'it takes' if len(others) == 1 else 'they take'} more memory or more tasks"
        said.append(f"{listed(others)} {verb} not told from it in time; {why}")
    elif chosen is best:
        said.append("its interval lies below those of all others")
    return said


def _more(seen: Seen) -> More:
    count = partitions(seen)
    return {
        "chunks_per_thread": count if isinstance(count, Missing) else count / seen.threads,
        "cpu_per_wall": cpu_per_wall(seen),
    }
