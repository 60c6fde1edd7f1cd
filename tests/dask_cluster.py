"""A real Dask scheduler and real workers with nannies, as processes on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from daskperf_tasks.model.facts import Lane, LaneWorker

CHECKOUT = Path(__file__).resolve().parent.parent
_START_S = 60.0


@dataclass
class Cluster:
    """A running cluster; ``stop`` ends all its processes."""

    address: str
    folder: Path
    nthreads: int
    scheduler: subprocess.Popen[bytes]
    #: Worker name -> the process of its nanny.
    nannies: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def workers(self) -> tuple[str, ...]:
        return tuple(sorted(self.nannies))

    def lane(self, *, timeout_s: float = 30.0, name: str = "test", stated: bool = True) -> Lane:
        """The lane that this cluster is; ``stated`` says whether it lists its workers."""
        workers = tuple(
            LaneWorker(name=w, host="127.0.0.1", nthreads=self.nthreads, memory_gib=1.0)
            for w in self.workers
        )
        return Lane(
            name=name,
            scheduler=self.address,
            workers=workers if stated else (),
            kind="loopback",
            timeout_s=timeout_s,
        )

    def log(self, name: str) -> str:
        """What a worker's nanny, or ``scheduler``, wrote so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def worker_pid(self, name: str) -> int:
        """Pid of the process that runs a worker's tasks now."""
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            # The worker's title may have been set by Dask; multiprocessing's helper keeps its own.
            for child in psutil.Process(self.nannies[name].pid).children():
                with contextlib.suppress(psutil.Error):
                    words = " ".join(child.cmdline())
                    if words and "resource_tracker" not in words:
                        return int(child.pid)
            time.sleep(0.05)
        raise AssertionError(f"no worker process under the nanny of {name}:\n{self.log(name)}")

    def kill_worker(self, name: str) -> int:
        """Kill the process that runs a worker's tasks (its nanny starts another); its pid."""
        pid = self.worker_pid(name)
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_nanny(self, name: str) -> None:
        """Kill a nanny with its worker process; the worker is gone for good."""
        process = self.nannies.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def add_worker(
        self, name: str, *, env: Mapping[str, str] | None = None, nanny: bool = True
    ) -> None:
        """Start one more worker; ``wait`` tells when it is there."""
        scratch = self.folder / "scratch" / name
        scratch.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        command += ["--name", name, "--nthreads", str(self.nthreads), "--memory-limit", "1GiB"]
        command += ["--host", "127.0.0.1", "--local-directory", str(scratch), "--no-dashboard"]
        command += ["--death-timeout", "60", "--nanny" if nanny else "--no-nanny"]
        self.nannies[name] = _start(command, self.folder / f"{name}.log", env)

    def wait(self, names: tuple[str, ...] | None = None) -> None:
        """Return when these workers (default: all) are registered."""
        from distributed import Client

        wanted = set(names or self.workers)
        deadline = time.monotonic() + _START_S
        with Client(self.address, set_as_default=False, timeout=_START_S) as client:
            while time.monotonic() < deadline:
                info = client.scheduler_info(n_workers=-1)["workers"].values()
                if wanted <= {w["name"] for w in info}:
                    return
                for name in wanted:
                    if self.nannies[name].poll() is not None:
                        raise AssertionError(f"worker {name} ended:\n{self.log(name)}")
                time.sleep(0.05)
        logs = "\n".join(self.log(name) for name in wanted)
        raise AssertionError(f"workers {wanted} did not come:\n{logs}")

    def pause_scheduler(self) -> None:
        """Stop the scheduler's process in its tracks: it accepts and stays silent."""
        os.kill(self.scheduler.pid, signal.SIGSTOP)

    def resume_scheduler(self) -> None:
        os.kill(self.scheduler.pid, signal.SIGCONT)

    def stop(self) -> None:
        """End all processes; safe to call twice."""
        processes = [*self.nannies.values(), self.scheduler]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()


def start_cluster(
    tmp_path: Path,
    *,
    workers: int = 2,
    nthreads: int = 2,
    env: Mapping[str, str] | None = None,
    worker_env: Mapping[str, Mapping[str, str]] | None = None,
    nanny: bool = True,
) -> Cluster:
    """Start a scheduler and workers ``lane-a``, ``lane-b``, ... and wait for them.

    Parameters
    ----------
    tmp_path
        Folder of logs and scratch space.
    env
        Environment variables of all processes, over those of this one. ``PYTHONPATH``
        is put before the checkout, which is always on it.
    worker_env
        Worker name -> environment variables of that worker alone.
    """
    folder = tmp_path / "dask"
    folder.mkdir(parents=True, exist_ok=True)
    scheduler_file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    command += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(scheduler_file)]
    command += ["--idle-timeout", "900s"]
    scheduler = _start(command, folder / "scheduler.log", env)
    cluster = Cluster(address="", folder=folder, nthreads=nthreads, scheduler=scheduler)
    try:
        cluster.address = _address(scheduler, scheduler_file)
        for i in range(workers):
            name = f"lane-{chr(ord('a') + i)}"
            own = dict(env or {}) | dict((worker_env or {}).get(name, {}))
            cluster.add_worker(name, env=own, nanny=nanny)
        if workers:
            cluster.wait()
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _start(command: list[str], log: Path, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    own = dict(env or {})
    path = [own.pop("PYTHONPATH", ""), str(CHECKOUT)]
    full = {k: v for k, v in os.environ.items() if not k.startswith(("DASK_", "DASKPERF_"))}
    full |= own | {"PYTHONPATH": os.pathsep.join(p for p in path if p)}
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=full,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            start_new_session=True,
        )


def _address(scheduler: subprocess.Popen[bytes], scheduler_file: Path) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, KeyError):
            return str(json.loads(scheduler_file.read_text())["address"])
        if scheduler.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError("the scheduler did not start")
