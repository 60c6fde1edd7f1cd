"""Dask's single-machine schedulers with pools of our own: warm, and as large as the lane's."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from daskperf_tasks.collect import memory
from daskperf_tasks.collect.host_load import processes_cpu_s
from daskperf_tasks.collect.workers import pool_worker
from daskperf_tasks.errors import ClusterError, DeployError, HarnessError
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.run.deaths import killed_from_outside
from daskperf_tasks.run.identity import find_subject, same_version, versions_in
from daskperf_tasks.run.layout import check_enough
from daskperf_tasks.run.look import MIB, Look
from daskperf_tasks.run.pools import TimedProcessPool, TimedThreadPool
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.run.traces import State, look
from daskperf_tasks.workloads.protocol import Built

#: Seconds that tasks may still run after their block.
_IDLE_S = 1.0
_NO_SCHEDULER = Missing(missing="Dask's single-machine schedulers run inside the client")
_NO_TRANSFER = Missing(missing="Dask's single-machine schedulers move nothing between workers")
_NO_FINE = Missing(missing="Dask's single-machine schedulers keep no fine performance metrics")


def check_driver(spec: RoundSpec) -> str:
    """Import the subject in this process; return its version.

    Raises
    ------
    DeployError
        When it cannot be imported.
    HarnessError
        When it is another one than was to be measured.
    """
    if not spec.import_name:
        return spec.subject_version
    found = find_subject(spec.import_name, Path(spec.wheel_folder).name)
    if found.error is not None:
        raise DeployError(
            f"{spec.import_name} cannot be imported on the driver's host",
            where=spec.wheel_folder or "the driver's environment",
            found=found.error,
        )
    file = Path(found.location).resolve()
    inside = not spec.wheel_folder or Path(spec.wheel_folder).resolve() in file.parents
    versions = versions_in(spec.wheel_folder) if spec.wheel_folder and inside else found.versions
    if not inside or not any(same_version(v, spec.subject_version) for v in versions):
        raise HarnessError(
            "the measuring process imports another wheel than it was told to measure",
            where=str(file),
            expected=f"{spec.import_name} {spec.subject_version} in "
            f"{spec.wheel_folder or 'its environment'}",
            found=f"{spec.import_name} {' or '.join(versions) or 'of no known version'}",
        )
    return spec.subject_version


class _SingleMachine:
    warnings: tuple[str, ...] = ()

    def current(self) -> AbstractContextManager[Any]:
        """There is no cluster to see."""
        return nullcontext()

    def end(self) -> None:
        """Nothing to undo."""

    def lost(self) -> str | None:
        """Nothing can get lost unnoticed."""
        return None

    def make_ready(self, patience_s: float) -> None:
        """Nobody to wait for."""

    def memory_kills(self) -> str | None:
        """Nobody watches them one by one; the supervisor watches them together."""
        return None

    def states(self) -> dict[str, State]:
        """Look at this process."""
        return {"driver": look()}

    def renew(self, names: Collection[str]) -> None:
        """All of them end with the measuring process."""


class ThreadsEnvironment(_SingleMachine):
    """The threaded scheduler: one process, as many threads as a lane worker has."""

    def __init__(self, spec: RoundSpec) -> None:
        import dask.threaded

        self._usual = spec.layout.threads
        self.threads = self._usual
        self.subject_version = check_driver(spec)
        self._get = dask.threaded.get
        self._pool = TimedThreadPool(self.threads)

    def begin(self, workers: int | None) -> None:
        """Take a pool of so many threads, at most those of the allocation."""
        check_enough("threads", workers, max(self._usual, allocated_cores()))
        wanted = workers or self._usual
        if wanted != self.threads:
            self.close()
            self.threads, self._pool = wanted, TimedThreadPool(wanted)

    def compute(self, built: Built) -> tuple[Any, ...]:
        """Compute in the pool."""
        import dask

        result: tuple[Any, ...] = dask.compute(
            *built.collections,
            scheduler=self._get,
            pool=self._pool,
            optimize_graph=built.optimize_graph,
            traverse=False,
        )
        return result

    def look(self) -> Look:
        """Read this process's totals."""
        rows, cpu = self._pool.log.take()
        return Look(
            members=self.members(),
            worker_cpu_s={str(os.getpid()): time.process_time()},
            scheduler_cpu_s=_NO_SCHEDULER,
            peak_rss_mib=_largest_rss((os.getpid(),)),
            rows=rows,
            task_cpu_s=cpu,
            transfer_bytes=_NO_TRANSFER,
            fine=_NO_FINE,
        )

    def shape(self, members: Sequence[Member]) -> tuple[int, int]:
        """Return the pool's threads, in this process."""
        return self.threads, 1

    def layout_fault(self, members: Sequence[Member]) -> str | None:
        """A pool of threads is whole as long as its process lives."""
        return None

    def members(self) -> tuple[Member, ...]:
        """Return this process."""
        return (Member(name="driver", worker_id=str(os.getpid()), nthreads=self.threads),)

    def workers(self) -> list[dict[str, Any]]:
        """Return this process."""
        host = socket.gethostname()
        return [pool_worker("threads", "driver", os.getpid(), self.threads, host)]

    def idle(self) -> bool:
        """Wait a moment for the pool's tasks; one that failed may leave others running."""
        return self._pool.in_flight.all_ended(_IDLE_S)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class ProcessesEnvironment(_SingleMachine):
    """The multiprocessing scheduler: as many processes as the lane has workers, spawned, warm."""

    def __init__(self, spec: RoundSpec) -> None:
        import dask.multiprocessing

        self._usual = spec.layout.workers
        self.processes = self._usual
        self.subject_version = check_driver(spec)
        self._get = dask.multiprocessing.get
        self._pool = TimedProcessPool(self.processes)
        self._pool.warm_up()

    def begin(self, workers: int | None) -> None:
        """Take a pool of so many processes, at most the cores of the allocation."""
        check_enough("processes", workers, max(self._usual, allocated_cores()))
        wanted = workers or self._usual
        if wanted != self.processes:
            self.close()
            self.processes, self._pool = wanted, TimedProcessPool(wanted)
            self._pool.warm_up()

    def compute(self, built: Built) -> tuple[Any, ...]:
        """Compute in the pool, one task a message."""
        import dask

        # The scheduler fuses by itself unless told not to, whatever compute is told.
        get = partial(self._get, optimize_graph=built.optimize_graph)
        try:
            result: tuple[Any, ...] = dask.compute(
                *built.collections,
                scheduler=get,
                pool=self._pool,
                chunksize=1,
                optimize_graph=built.optimize_graph,
                traverse=False,
            )
        except BrokenProcessPool as err:
            how = killed_from_outside(self._pool.ended_with())
            if how is None:
                raise
            raise ClusterError(f"a process of the pool was {how}") from err
        return result

    def look(self) -> Look:
        """Read the processes' totals."""
        rows, cpu = self._pool.log.take()
        pids = self._pool.pids()
        return Look(
            members=self.members(),
            worker_cpu_s={str(pid): processes_cpu_s([pid]) for pid in pids},
            scheduler_cpu_s=_NO_SCHEDULER,
            peak_rss_mib=_largest_rss(pids),
            rows=rows,
            task_cpu_s=cpu,
            transfer_bytes=_NO_TRANSFER,
            fine=_NO_FINE,
        )

    def shape(self, members: Sequence[Member]) -> tuple[int, int]:
        """Return the processes that are there, a thread each."""
        return len(members), len(members)

    def layout_fault(self, members: Sequence[Member]) -> str | None:
        """Say that processes of the pool are missing."""
        if len(members) == self.processes:
            return None
        return f"the pool has {len(members)} of {self.processes} processes"

    def members(self) -> tuple[Member, ...]:
        """Return the processes."""
        return tuple(
            Member(name=f"process-{i}", worker_id=str(pid), nthreads=1)
            for i, pid in enumerate(self._pool.pids())
        )

    def workers(self) -> list[dict[str, Any]]:
        """Return the processes."""
        host = socket.gethostname()
        return [pool_worker("processes", m.name, int(m.worker_id), 1, host) for m in self.members()]

    def states(self) -> dict[str, State]:
        """Look at this process and at those of the pool."""
        found = {f"process {pid}": state for pid, state in self._pool.everywhere(look).items()}
        return {"driver": look()} | found

    def idle(self) -> bool:
        """Wait a moment for the pool's tasks; one that failed may leave others running."""
        return self._pool.in_flight.all_ended(_IDLE_S)

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._pool.kill()


def allocated_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0))


def _largest_rss(pids: tuple[int, ...]) -> float | Missing:
    """Return the peak of the largest process in MiB, and let all peaks begin anew."""
    sizes = []
    for pid in pids:
        try:
            sizes.append(memory.peak_rss_bytes(pid) / MIB)
        except OSError:
            continue
        memory.reset_peak_rss(pid)
    return max(sizes) if sizes else Missing(missing="no process of the pool is left")
