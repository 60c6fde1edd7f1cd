"""Threads or processes: which suits which implementation."""

from __future__ import annotations

from daskperf_tasks.analyse.experiments.evidence import (
    busy,
    cpu_per_wall,
    explain,
    outside_s_per_task,
)
from daskperf_tasks.analyse.experiments.parts import More, Parts
from daskperf_tasks.analyse.experiments.seen import Case, Seen, fastest, ratio, the_one
from daskperf_tasks.analyse.experiments.words import duration, listed, sentence, with_interval
from daskperf_tasks.analyse.metrics_of import times
from daskperf_tasks.model.results import Estimate

MODEL = (
    "Nothing is fitted: the points are categories. Two points differ when the interval of the "
    "ratio of their median makespans (bootstrap over blocks) does not include 1."
)


def answer(case: Case) -> Parts:
    """Compare the schedulers of each implementation, and name the fastest of all."""
    said: list[str] = []
    found = fastest(case.seen)
    if found is not None:
        best, tied = found
        rest = [s.label for s in tied if s is not best]
        equal = f"; not told from it: {listed(rest)}" if rest else ""
        said.append(f"fastest is {best.label} with {duration(best.makespan_s)}{equal}")
    for name, group in _by_implementation(case).items():
        pair = sorted((s for s in group if s.state == "measured"), key=lambda s: s.makespan_s)
        if len(pair) < 2:
            continue
        quick, slow = pair[0], pair[-1]
        gain = ratio(slow, quick)
        told = isinstance(gain, Estimate) and gain.low > 1
        said.append(
            f"with {name}: {quick.label} is {with_interval(gain)} times as fast as {slow.label}"
            if told
            else f"with {name}: {quick.label} and {slow.label} are not told apart "
            f"({with_interval(gain)})"
        )
    said += [explain(s) for s in case.measured]
    return Parts(
        model=MODEL,
        recommended=the_one(found),
        conclusion=tuple(sentence(s) for s in said),
        more={s.label: clocks(s) for s in case.measured},
    )


def _by_implementation(case: Case) -> dict[str, list[Seen]]:
    groups: dict[str, list[Seen]] = {}
    for s in case.seen:
        groups.setdefault(str(s.setting("implementation") or s.point.series), []).append(s)
    return {name: group for name, group in groups.items() if name}


def clocks(seen: Seen) -> More:
    """Return the columns that tell where the threads' time went."""
    return {
        "cpu_per_wall": cpu_per_wall(seen),
        "busy_fraction": busy(seen),
        "outside_ms_per_task": times(outside_s_per_task(seen), 1e3),
    }
