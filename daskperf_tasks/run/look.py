"""Running totals at a moment, and what lies between two moments. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from daskperf_tasks.collect import fine_metrics
from daskperf_tasks.collect.task_stream import TaskRow
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.measured import Measured, Missing

MIB = 2.0**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the processes of an environment had used up at a moment."""

    members: tuple[Member, ...]
    #: Worker id -> CPU seconds of the process.
    worker_cpu_s: Mapping[str, float]
    scheduler_cpu_s: Measured
    #: Largest resident set that a worker process had since the look before.
    peak_rss_mib: Measured
    #: Tasks since the look before, or why they are not known.
    rows: tuple[TaskRow, ...] | Missing
    #: CPU seconds of these tasks where a pool noted them; None: see ``fine``.
    task_cpu_s: Measured | None = None
    #: Bytes moved between workers since the look before.
    transfer_bytes: Measured
    #: Worker id -> fine metrics, or why there are none.
    fine: Mapping[str, Mapping[str, float]] | Missing
    #: CPU seconds of processes on this host that are neither the driver nor its children.
    others_cpu_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What one repeat used."""

    task_wall_s: Measured
    task_cpu_s: Measured
    transfer_bytes: Measured
    transfer_s: Measured
    worker_cpu_s: Measured
    scheduler_cpu_s: Measured
    peak_rss_mib: Measured
    fine: dict[str, float] | Missing = field(default_factory=dict)


def between(before: Look, after: Look) -> Between:
    """Return what was used between two looks."""
    fine: dict[str, float] | Missing
    if isinstance(after.fine, Missing) or isinstance(before.fine, Missing):
        fine = after.fine if isinstance(after.fine, Missing) else Missing(missing="no first look")
    else:
        fine = fine_metrics.difference(before.fine, after.fine)
    wall: Measured
    waited: Measured
    if isinstance(after.rows, Missing):
        wall = waited = after.rows
    else:
        wall = sum((row.seconds("compute") for row in after.rows), 0.0)
        waited = sum((row.seconds("transfer") for row in after.rows), 0.0)
    moved = after.transfer_bytes
    if isinstance(moved, Missing) and isinstance(fine, Missing):
        waited = moved  # an environment that moves nothing waits for nothing
    return Between(
        task_wall_s=wall,
        task_cpu_s=_task_cpu(after, fine),
        transfer_bytes=moved,
        transfer_s=waited,
        worker_cpu_s=_worker_cpu(before, after),
        scheduler_cpu_s=_difference(before.scheduler_cpu_s, after.scheduler_cpu_s),
        peak_rss_mib=after.peak_rss_mib,
        fine=fine,
    )


def _task_cpu(after: Look, fine: dict[str, float] | Missing) -> Measured:
    if after.task_cpu_s is not None:
        return after.task_cpu_s
    if isinstance(fine, Missing):
        return fine
    cpu = fine.get("execute/thread-cpu/seconds")
    return Missing(missing="the workers metered no CPU time of tasks") if cpu is None else cpu


def _worker_cpu(before: Look, after: Look) -> Measured:
    if not after.worker_cpu_s:
        return Missing(missing="no worker process answered")
    if before.worker_cpu_s.keys() != after.worker_cpu_s.keys():
        return Missing(missing="workers came or went during the repeat")
    return sum(cpu - before.worker_cpu_s[w] for w, cpu in after.worker_cpu_s.items())


def _difference(before: Measured, after: Measured) -> Measured:
    if isinstance(after, Missing):
        return after
    if isinstance(before, Missing):
        return before
    return after - before
