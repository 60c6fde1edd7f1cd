"""The signals of each bottleneck class: thresholds, weights, reasons.

A signal's strength rises from 0 at ``zero`` to 1 at ``full``; linearly, or by
the logarithm where a scale spans decades. ``zero`` above ``full`` means that
small values speak for the class.

A class's score is the weighted mean of the strengths of the signals that could
be taken. A class with fewer than :data:`MIN_SIGNALS` signals is never named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from daskperf_tasks.model.results import BottleneckClass

#: Seed protocol: a class is justified by at least three independent signals.
MIN_SIGNALS = 3
#: A class whose score is below this is not named: more speaks against it than for it.
NAMED = 0.45
#: A second class is mentioned from this score on.
MENTIONED = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How one figure speaks for one class."""

    name: str
    cls: BottleneckClass
    unit: str
    zero: float
    full: float
    weight: float
    #: Where the thresholds come from.
    reason: str
    #: What would have said the opposite.
    opposite: str
    log: bool = False

    def strength(self, value: float) -> float:
        """Return how strongly a value speaks for the class, 0 to 1."""
        a, b, x = self.zero, self.full, value
        if self.log:
            a, b, x = math.log(a), math.log(b), math.log(max(value, 1e-12))
        return min(1.0, max(0.0, (x - a) / (b - a)))


def _rule(
    cls: BottleneckClass,
    name: str,
    unit: str,
    zero: float,
    full: float,
    weight: float,
    reason: str,
    opposite: str,
    *,
    log: bool = False,
) -> Rule:
    return Rule(
        name=name,
        cls=cls,
        unit=unit,
        zero=zero,
        full=full,
        weight=weight,
        reason=reason,
        opposite=opposite,
        log=log,
    )


# fmt: off
RULES: tuple[Rule, ...] = (
    _rule("compute-bound", "busy fraction", "1", 0.45, 0.85, 1.0,
          "below half, threads idle more than they work; near 0.85 only start and end are left",
          "threads idle most of the time"),
    _rule("compute-bound", "CPU cores used / usable", "1", 0.40, 0.85, 1.0,
          "measured by process, so independent of the task clock; cores shared with the "
          "scheduler and client seldom leave more than 0.9",
          "cores stand idle"),
    _rule("compute-bound", "CPU / wall of tasks", "1", 0.40, 0.85, 1.0,
          "a task that computes has CPU time near its wall time; one that waits has not",
          "tasks wait instead of computing"),
    _rule("compute-bound", "task time against overhead", "1", 1.0, 10.0, 0.5,
          "ten times more thread time in tasks than between them leaves 9 % to gain elsewhere",
          "as much thread time between tasks as in them", log=True),

    _rule("scheduler-bound", "task duration", "ms", 30.0, 1.5, 1.0,
          "stock distributed spends 0.3 to 1.2 ms a task and a worker about as much, so "
          "overhead is 1-4 % of a 30 ms task and about half of one of 1.5 ms",
          "tasks of 30 ms or more", log=True),
    _rule("scheduler-bound", "overhead per task / task duration", "1", 0.15, 1.0, 1.0,
          "thread time neither in tasks nor in transfers, by task; at 1 it doubles the makespan",
          "overhead below 15 % of the task's time"),
    _rule("scheduler-bound", "scheduler CPU / makespan", "1", 0.15, 0.60, 1.0,
          "the scheduler is one thread: from 0.6 on messages queue in front of it",
          "a scheduler that is idle most of the time"),
    _rule("scheduler-bound", "gaps between tasks", "1", 0.15, 0.60, 0.75,
          "share of thread time between two tasks of a thread with no transfer going on",
          "tasks follow one another without a gap"),

    _rule("transfer-bound", "thread time in transfers", "1", 0.05, 0.40, 1.0,
          "Dask's own report calls 10 % worth a look; at 40 % it is the largest part",
          "no thread time goes to transfers"),
    _rule("transfer-bound", "transfer time / task time", "1", 0.10, 1.0, 1.0,
          "at 1 data takes as long to arrive as to be used",
          "transfers take less than a tenth of the task time"),
    _rule("transfer-bound", "bytes moved per task CPU second", "MiB/s", 10.0, 100.0, 1.0,
          "a gigabit link moves 110 MiB/s: above that rate computing cannot hide the link",
          "less than 10 MiB moved for a second of computing", log=True),
    _rule("transfer-bound", "idle while awaiting payloads", "1", 0.05, 0.35, 1.0,
          "task stream: threads idle while their worker is receiving data",
          "threads work while data arrives"),
    _rule("transfer-bound", "communication share of fine metrics", "1", 0.10, 0.50, 0.75,
          "Dask's own accounting of network, serialising and compressing seconds",
          "Dask accounts less than a tenth to communication"),

    _rule("straggler-bound", "finish lag of the last worker", "1", 0.10, 0.40, 1.0,
          "share of the makespan in which the last worker works alone; tasks of a tenth of "
          "the makespan explain the first 0.1",
          "all workers finish together"),
    _rule("straggler-bound", "slowest worker / median worker", "1", 1.15, 1.80, 1.0,
          "same task names on both, so a true difference in speed; shared machines vary by 15 %",
          "the same task takes as long on every worker"),
    _rule("straggler-bound", "idle tail", "1", 0.08, 0.35, 1.0,
          "share of thread time after a thread's last task, when others still work",
          "no thread runs out of work before the end"),
    _rule("straggler-bound", "slowest calibration index", "1", 0.85, 0.55, 1.0,
          "measured apart from the workload, before it; below 0.85 is more than noise",
          "all workers are calibrated alike"),
)
# fmt: on

CLASSES: tuple[BottleneckClass, ...] = (
    "compute-bound",
    "scheduler-bound",
    "transfer-bound",
    "straggler-bound",
)


def rule(cls: BottleneckClass, name: str) -> Rule:
    """Return a rule of the table (KeyError when there is none)."""
    for found in RULES:
        if found.cls == cls and found.name == name:
            return found
    raise KeyError((cls, name))
