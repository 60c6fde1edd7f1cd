"""The figures that diagnosis reads from one cell, each a number or the reason for none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daskperf_tasks.analyse.by_cell import counted
from daskperf_tasks.analyse.metrics_of import MIB, first_reason, numbers, over, times
from daskperf_tasks.analyse.stream import StreamFacts
from daskperf_tasks.analyse.threads import bound_worker
from daskperf_tasks.model.block import BlockResult, Sample
from daskperf_tasks.model.facts import Calibration, Preflight
from daskperf_tasks.model.ids import parse_cell_id, side_of
from daskperf_tasks.model.measured import Measured, Missing, known

#: Words in Dask's fine metrics that are communication. ``context/activity/unit``.
_COMMUNICATION = ("network", "serialize", "deserialize", "compress", "decompress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Medians over the samples of one cell that count."""

    makespan_s: float
    threads: int
    processes: int
    tasks: float
    #: Cores of the hosts that the cell's workers ran on.
    cores: Measured
    #: Cores that the cell's threads could use: min(threads, cores), less what others used
    #: of the driver's host where the cell ran there.
    usable: float
    #: CPU cores that were used on average.
    cores_used: Measured
    #: Whether one interpreter's lock is what limits the threads, 0 to 1.
    gil: Measured
    busy_fraction: Measured
    cpu_per_wall: Measured
    task_ms: Measured
    #: Thread time neither in tasks nor in transfers, by task.
    overhead_ms: Measured
    scheduler_share: Measured
    transfer_share: Measured
    transfer_per_task: Measured
    #: MiB moved for each CPU second of tasks.
    transfer_rate: Measured
    communication: Measured
    slowest_index: Measured
    stream: StreamFacts | None


def figures_of(
    blocks: Sequence[BlockResult],
    *,
    calibration: Calibration | None,
    preflight: Preflight | None,
    stream: StreamFacts | None,
) -> Figures | None:
    """Return the figures of one cell under one wheel, or None when no block counts."""
    use = counted(blocks)
    if not use:
        return None
    samples = [s for b in use for s in b.measured if s.makespan_s > 0]
    if not samples:
        return None
    last = use[-1]
    threads = max(1, last.threads)
    remote = side_of(parse_cell_id(last.cell_id).env) == "remote"
    cores = _cores(last, preflight, remote)
    here = not remote or (preflight is not None and all(w.loopback for w in preflight.workers))
    usable = _usable(threads, cores, use if here else ())

    def capacity(s: Sample) -> float:
        return threads * s.makespan_s

    cores_used = _cores_used(samples)
    cpu_per_wall = _median(samples, lambda s: over(s.task_cpu_s, s.task_wall_s))
    return Figures(
        makespan_s=float(np.median([s.makespan_s for s in samples])),
        threads=threads,
        processes=max(1, last.processes),
        tasks=float(np.median([s.tasks for s in samples])),
        cores=cores,
        usable=usable,
        cores_used=cores_used,
        gil=_gil(usable, max(1, last.processes), threads, cores_used, cpu_per_wall),
        busy_fraction=_median(samples, lambda s: over(s.task_wall_s, capacity(s))),
        cpu_per_wall=cpu_per_wall,
        task_ms=_median(samples, lambda s: times(over(s.task_wall_s, float(s.tasks)), 1e3)),
        overhead_ms=_median(samples, lambda s: _overhead(s, threads)),
        scheduler_share=_median(samples, lambda s: over(s.scheduler_cpu_s, s.makespan_s)),
        transfer_share=_median(samples, lambda s: over(s.transfer_s, capacity(s))),
        transfer_per_task=_median(samples, lambda s: over(s.transfer_s, s.task_wall_s)),
        transfer_rate=_median(samples, lambda s: over(over(s.transfer_bytes, MIB), s.task_cpu_s)),
        communication=_communication(use),
        slowest_index=_slowest(calibration, remote, last),
        stream=stream,
    )


def _median(samples: Sequence[Sample], of: Callable[[Sample], Measured]) -> Measured:
    values = [of(s) for s in samples]
    found = numbers(values)
    if found:
        return float(np.median(found))
    return Missing(missing=first_reason(values, "no sample has it"))


def _overhead(sample: Sample, threads: int) -> Measured:
    if isinstance(sample.task_wall_s, Missing):
        return sample.task_wall_s
    if sample.tasks <= 0:
        return Missing(missing="the graph had no tasks")
    moved = known(sample.transfer_s) or 0.0
    rest = threads * sample.makespan_s - sample.task_wall_s - moved
    return max(rest, 0.0) / sample.tasks * 1e3


def _cores_used(samples: Sequence[Sample]) -> Measured:
    """CPU cores by worker processes where known, else by the tasks' own clocks."""
    by_process = _median(samples, lambda s: over(s.worker_cpu_s, s.makespan_s))
    if not isinstance(by_process, Missing):
        return by_process
    return _median(samples, lambda s: over(s.task_cpu_s, s.makespan_s))


def _usable(threads: int, cores: Measured, here: Sequence[BlockResult]) -> float:
    """Cores that the threads could use; half a core is always left to them."""
    there = known(cores)
    if there is None:
        return float(threads)
    others = numbers([b.host_load.foreign_cpu_cores for b in here])
    foreign = float(np.median(others)) if others else 0.0
    return min(float(threads), max(there - foreign, 0.5))


def _cores(block: BlockResult, preflight: Preflight | None, remote: bool) -> Measured:
    if preflight is None:
        return Missing(missing="no preflight facts tell the cores")
    if not remote:
        client = next((f for f in preflight.facts if f.role == "client"), None)
        if client is None:
            return Missing(missing="preflight has no facts of the client's host")
        return float(client.cores)
    members = block.members_before
    only = bound_worker(block)
    if parse_cell_id(block.cell_id).env == "remote-threads" and only is not None:
        members = (only,)
    names = {m.name for m in members} | {m.worker_id for m in members}
    workers = [w for w in preflight.workers if w.name in names or w.address in names]
    by_host = {w.host: w.cores for w in workers or preflight.workers}
    if not by_host:
        return Missing(missing="preflight saw no worker")
    return float(sum(by_host.values()))


def _gil(
    usable: float, processes: int, threads: int, cores_used: Measured, cpu_per_wall: Measured
) -> Measured:
    """How well the cell fits threads that take turns under one lock a process.

    Then each process uses just about one core, and the CPU / wall of a task is
    processes / threads, although cores are free.
    """
    if threads <= processes or usable <= processes:
        return Missing(missing="the threads have no more cores than processes")
    if isinstance(cores_used, Missing):
        return cores_used
    if isinstance(cpu_per_wall, Missing):
        return cpu_per_wall
    one_core = 1.0 - abs(cores_used / processes - 1.0) / 0.30
    turns = 1.0 - abs(cpu_per_wall * threads / processes - 1.0) / 0.40
    return float(max(0.0, min(1.0, one_core * 1.5, turns * 1.5)))


def _communication(blocks: Sequence[BlockResult]) -> Measured:
    told = 0.0
    moved = 0.0
    reason = "Dask's fine metrics hold no seconds"
    for block in blocks:
        if isinstance(block.fine_metrics, Missing):
            reason = block.fine_metrics.missing
            continue
        for key, value in block.fine_metrics.items():
            parts = key.split("/")
            if parts[-1] != "seconds" or len(parts) < 2 or "idle" in parts[-2]:
                continue
            told += value
            if any(word in part for word in _COMMUNICATION for part in parts[:-1]):
                moved += value
    return moved / told if told > 0 else Missing(missing=reason)


def _slowest(calibration: Calibration | None, remote: bool, block: BlockResult) -> Measured:
    if not remote:
        return Missing(missing="calibration compares workers of the lane only")
    if calibration is None or not calibration.workers:
        return Missing(missing="the run has no calibration")
    if not calibration.stable:
        return Missing(missing="calibration is not stable")
    if block.processes < 2:
        return Missing(missing="one worker process only")
    return min(w.index for w in calibration.workers)
