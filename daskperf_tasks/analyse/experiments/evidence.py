"""Where a point's time went, from the clocks of its tasks."""

from __future__ import annotations

import numpy as np

from daskperf_tasks.analyse.experiments.seen import Seen
from daskperf_tasks.analyse.experiments.words import counted, duration, three
from daskperf_tasks.analyse.metrics_of import numbers, over
from daskperf_tasks.model.block import Sample
from daskperf_tasks.model.measured import Measured, Missing, known

#: Below this share of CPU in task time, tasks waited.
CPU_BOUND = 0.75
#: Cores in use for each process that speak for its interpreter lock.
LOCKED = (0.85, 1.15)
#: Cores used by others from which waiting is theirs.
FOREIGN = 0.25
#: Below this share of thread time in tasks, something else took it.
BUSY = 0.7


def cpu_per_wall(seen: Seen) -> Measured:
    """Return CPU time / time on a thread of the tasks."""
    return seen.median(lambda s: over(s.task_cpu_s, s.task_wall_s))


def busy(seen: Seen) -> Measured:
    """Return the share of the threads' time that was in tasks."""
    return seen.median(lambda s: over(s.task_wall_s, seen.threads * s.makespan_s))


def outside_s_per_task(seen: Seen) -> Measured:
    """Return thread time outside tasks by task, in s: starting, serialising, scheduling, idling."""

    def of(s: Sample) -> Measured:
        if isinstance(s.task_wall_s, Missing):
            return s.task_wall_s
        return over(max(seen.threads * s.makespan_s - s.task_wall_s, 0.0), float(s.tasks))

    return seen.median(of)


def scheduler_s_per_task(seen: Seen) -> Measured:
    """Return the scheduler's CPU seconds by task."""
    return seen.median(lambda s: over(s.scheduler_cpu_s, float(s.tasks)))


def transfer_s_per_task(seen: Seen) -> Measured:
    """Return seconds that tasks waited for inputs of other workers, by task."""
    return seen.median(lambda s: over(s.transfer_s, float(s.tasks)))


def _why_waiting(seen: Seen) -> str:
    """Say what tasks waited for.

    One lock a process shows as one core's use a process, by threads that are in tasks
    nearly all the time.
    """
    cores = known(seen.median(lambda s: over(s.task_cpu_s, s.makespan_s)))
    others = numbers([b.host_load.foreign_cpu_cores for b in seen.blocks])
    foreign = float(np.median(others)) if others else 0.0
    if foreign >= FOREIGN:
        return f"tasks waited while other work used {three(foreign)} cores of the host"
    shared = seen.threads > seen.processes
    in_tasks = known(busy(seen)) or 0.0
    one_core = cores is not None and LOCKED[0] <= cores / seen.processes <= LOCKED[1]
    if shared and one_core and in_tasks >= BUSY and cores is not None:
        return (
            f"with {three(cores)} cores in use by {counted(seen.processes, 'process')}, threads "
            "wait for one another's interpreter lock"
        )
    return f"tasks waited for a core{', a lock' if shared else ''} or data"


def explain(seen: Seen) -> str:
    """Say in one sentence what kept a point from being faster."""
    if seen.state != "measured":
        return f"with {seen.label}: {seen.reason}"
    share, in_tasks = known(cpu_per_wall(seen)), known(busy(seen))
    where = f"{counted(seen.threads, 'thread')} in {counted(seen.processes, 'process')}"
    said = []
    if share is not None and share < CPU_BOUND:
        wall = known(seen.median(lambda s: s.task_wall_s)) or 0.0
        why = _why_waiting(seen)
        said.append(
            f"tasks were {duration(wall)} on a thread but {duration(share * wall)} on a core "
            f"({share:.0%}): {why}"
        )
    elif share is not None:
        said.append(f"tasks used their cores {min(share, 1.0):.0%} of their time")
    outside = known(outside_s_per_task(seen))
    if in_tasks is not None and outside is not None and in_tasks < BUSY:
        said.append(
            f"{1 - in_tasks:.0%} of the threads' time was outside tasks, {duration(outside)} a "
            "task for starting, serialising, scheduling and idling"
        )
    elif in_tasks is not None:
        said.append(f"threads were in tasks {min(in_tasks, 1.0):.0%} of the time")
    if not said:
        cpu = known(seen.median(lambda s: over(s.task_cpu_s, s.makespan_s)))
        if cpu is None:
            return f"with {seen.label} ({where}): its tasks' clocks are not known"
        said.append(f"it used {three(cpu)} cores on average")
    return f"with {seen.label} ({where}): {'; '.join(said)}"
