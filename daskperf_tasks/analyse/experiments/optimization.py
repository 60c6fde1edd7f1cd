"""Serial or parallel, Python or compiled: one version to recommend, and what limits it next."""

from __future__ import annotations

from collections.abc import Sequence

from daskperf_tasks.analyse.experiments.evidence import (
    BUSY,
    CPU_BOUND,
    busy,
    cpu_per_wall,
    explain,
    outside_s_per_task,
)
from daskperf_tasks.analyse.experiments.parts import Parts
from daskperf_tasks.analyse.experiments.scheduler import clocks
from daskperf_tasks.analyse.experiments.seen import Case, Seen, fastest, ratio
from daskperf_tasks.analyse.experiments.words import (
    duration,
    listed,
    sentence,
    three,
    with_interval,
)
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.results import Estimate

MODEL = (
    "Nothing is fitted. Recommended is the fastest version if the interval of its ratio to each "
    "other (bootstrap over blocks) does not include 1; among those that are not told from it, the "
    "simplest: one thread before several, then in the order of the plan."
)
#: Speed-up a thread over the same code on one thread; below it something shared limits.
_SCALES = 0.7


def answer(case: Case) -> Parts:
    """Recommend one version and name its next bottleneck."""
    found = fastest(case.seen)
    if found is None:
        return Parts(
            model=MODEL,
            recommended=Missing(missing="nothing was measured"),
            conclusion=("No version was measured, so none can be recommended.",),
        )
    tied = found[1]
    chosen = simplest(tied)
    said = [_recommend(chosen, tied, case)]
    agree = [s.label for s in case.measured]
    unmeasured = [s for s in case.seen if s.state != "measured"]
    said.append(
        f"the results of {listed(agree)} were right when checked before measuring"
        + (f"; not measured: {listed([s.label for s in unmeasured])}" if unmeasured else "")
    )
    said.append(f"next bottleneck: {next_bottleneck(chosen, case)}")
    return Parts(
        model=MODEL,
        recommended=chosen.label,
        conclusion=tuple(sentence(s) for s in said),
        more={s.label: clocks(s) for s in case.measured},
    )


def simplest(tied: Sequence[Seen]) -> Seen:
    """Return the simplest of equals: one thread first, then as planned."""
    return min(tied, key=lambda s: s.threads > 1)


def _recommend(chosen: Seen, tied: Sequence[Seen], case: Case) -> str:
    text = f"use {chosen.label}: {duration(chosen.makespan_s)}"
    if case.baseline is not None and case.baseline is not chosen:
        gain = ratio(case.baseline, chosen)
        text += f", {with_interval(gain)} times as fast as {case.baseline.label}"
    others = [s.label for s in tied if s is not chosen]
    if others:
        return f"{text}; {listed(others)} cannot be told from it, and it is the simplest of them"
    second = min(
        (s for s in case.measured if s is not chosen), key=lambda s: s.makespan_s, default=None
    )
    if second is None:
        return text
    lead = ratio(second, chosen)
    return f"{text}, {with_interval(lead)} times as fast as the next, {second.label}"


def next_bottleneck(chosen: Seen, case: Case) -> str:
    """Say what limits a version next, from its clocks and its serial twin."""
    share, in_tasks = known(cpu_per_wall(chosen)), known(busy(chosen))
    if chosen.threads == 1:
        parallel = [s for s in case.measured if s.threads > 1]
        cost = min((v for s in parallel if (v := known(outside_s_per_task(s)))), default=None)
        text = "one core's speed in the kernel, since it runs on one thread"
        if cost is not None:
            text += (
                f"; more threads must first win back the {duration(cost)} of thread time that each "
                f"parallel task of about {_task_size(parallel)} spends outside its code"
            )
        return text
    if share is not None and share < CPU_BOUND:
        return f"waiting inside tasks ({explain(chosen)})"
    if in_tasks is not None and in_tasks < BUSY:
        return f"overhead of tasks ({explain(chosen)}): fewer, larger tasks"
    twin = _twin(chosen, case)
    if twin is not None:
        gain = ratio(twin, chosen)
        if isinstance(gain, Estimate) and gain.high / chosen.threads < _SCALES:
            return (
                f"what the threads share (cores, memory bandwidth, clock rate): "
                f"{chosen.threads} threads are {with_interval(gain)} times as fast as "
                f"{twin.label}, an efficiency of {gain.value / chosen.threads:.0%}, though their "
                "tasks compute"
            )
    cores = known(case.cores)
    allocated = f" of {three(cores)} allocated cores" if cores is not None else ""
    if in_tasks is None and share is None:
        return f"not known: the clocks of its tasks are missing ({explain(chosen)})"
    return (
        f"the kernel's own computing on {chosen.threads} threads{allocated} ({explain(chosen)}): "
        "more cores or a faster kernel"
    )


def _twin(chosen: Seen, case: Case) -> Seen | None:
    same = chosen.setting("implementation")
    return next(
        (
            s
            for s in case.measured
            if s.threads == 1 and s is not chosen and s.setting("implementation") == same
        ),
        None,
    )


def _task_size(parallel: Sequence[Seen]) -> str:
    least = min(parallel, key=lambda s: s.makespan_s)
    return duration(least.threads * least.makespan_s / max(least.tasks, 1))
