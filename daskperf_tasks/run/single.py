"""Dask's single-machine schedulers with pools of our own: warm, and as large as the lane's."""

from __future__ import annotations

import importlib
import os
import socket
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from daskperf_tasks.collect.host_load import processes_cpu_s
from daskperf_tasks.collect.workers import pool_worker
from daskperf_tasks.errors import DeployError, HarnessError
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.run.look import MIB, Look
from daskperf_tasks.run.pools import TimedProcessPool, TimedThreadPool
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.workloads.protocol import Built

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
    try:
        module = importlib.import_module(spec.import_name)
    except ImportError as err:
        raise DeployError(
            f"{spec.import_name} cannot be imported on the driver's host",
            where=spec.wheel_folder or "the driver's environment",
            found=f"{type(err).__name__}: {err}",
        ) from err
    version = str(getattr(module, "__version__", "unknown"))
    file = Path(str(module.__file__)).resolve()
    inside = not spec.wheel_folder or Path(spec.wheel_folder).resolve() in file.parents
    if version != spec.subject_version or not inside:
        raise HarnessError(
            "the measuring process imports another wheel than it was told to measure",
            where=str(file),
            expected=f"{spec.import_name} {spec.subject_version} in {spec.wheel_folder}",
            found=f"{spec.import_name} {version}",
        )
    return version


class _SingleMachine:
    warnings: tuple[str, ...] = ()

    def begin(self) -> None:
        """Nothing to make ready."""

    def end(self) -> None:
        """Nothing to undo."""

    def lost(self) -> str | None:
        """Nothing can get lost unnoticed."""
        return None


class ThreadsEnvironment(_SingleMachine):
    """The threaded scheduler: one process, as many threads as a lane worker has."""

    def __init__(self, spec: RoundSpec) -> None:
        import dask.threaded

        self.threads = spec.layout.threads
        self.processes = 1
        self.subject_version = check_driver(spec)
        self._get = dask.threaded.get
        self._pool = TimedThreadPool(self.threads)

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
            rss_mib=psutil.Process().memory_info().rss / MIB,
            rows=rows,
            task_cpu_s=cpu,
            transfer_bytes=_NO_TRANSFER,
            fine=_NO_FINE,
        )

    def members(self) -> tuple[Member, ...]:
        """Return this process."""
        return (Member(name="driver", worker_id=str(os.getpid()), nthreads=self.threads),)

    def workers(self) -> list[dict[str, Any]]:
        """Return this process."""
        host = socket.gethostname()
        return [pool_worker("threads", "driver", os.getpid(), self.threads, host)]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class ProcessesEnvironment(_SingleMachine):
    """The multiprocessing scheduler: as many processes as the lane has workers, spawned, warm."""

    def __init__(self, spec: RoundSpec) -> None:
        import dask.multiprocessing

        self.threads = self.processes = spec.layout.workers
        self.subject_version = check_driver(spec)
        self._get = dask.multiprocessing.get
        self._pool = TimedProcessPool(self.processes)
        self._pool.warm_up()

    def compute(self, built: Built) -> tuple[Any, ...]:
        """Compute in the pool, one task a message."""
        import dask

        # The scheduler fuses by itself unless told not to, whatever compute is told.
        get = partial(self._get, optimize_graph=built.optimize_graph)
        result: tuple[Any, ...] = dask.compute(
            *built.collections,
            scheduler=get,
            pool=self._pool,
            chunksize=1,
            optimize_graph=built.optimize_graph,
            traverse=False,
        )
        return result

    def look(self) -> Look:
        """Read the processes' totals."""
        rows, cpu = self._pool.log.take()
        pids = self._pool.pids()
        return Look(
            members=self.members(),
            worker_cpu_s={str(pid): processes_cpu_s([pid]) for pid in pids},
            scheduler_cpu_s=_NO_SCHEDULER,
            rss_mib=_largest_rss(pids),
            rows=rows,
            task_cpu_s=cpu,
            transfer_bytes=_NO_TRANSFER,
            fine=_NO_FINE,
        )

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

    def close(self) -> None:
        """End the processes, whatever they are at."""
        self._pool.kill()


def _largest_rss(pids: tuple[int, ...]) -> float | Missing:
    sizes = []
    for pid in pids:
        try:
            sizes.append(psutil.Process(pid).memory_info().rss / MIB)
        except psutil.Error:
            continue
    return max(sizes) if sizes else Missing(missing="no process of the pool is left")
