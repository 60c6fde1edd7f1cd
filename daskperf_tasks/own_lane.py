"""A private lane for the time of one command: a scheduler, and workers with nannies.

Who has neither a cluster nor the embedded stack can measure all the same. Both
processes listen on loopback only. Each reads its standard input, which the
command holds open: when the command ends, in whatever way, the pipe closes and
they end; their worker processes end with them.

::

    daskperf experiment ...
      ├── python -m daskperf_tasks.own_lane scheduler FOLDER
      └── python -m daskperf_tasks.own_lane workers FOLDER ADDRESS
            ├── worker-0
            └── worker-1
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import ClusterError
from daskperf_tasks.plan.experiments.allocation import Allocation

_HOST = "127.0.0.1"
_START_S = 60.0
#: Seconds to end in peace.
_END_S = 8.0
_CLOSE_S = 4.0
_TICK_S = 0.05
#: Share of the memory that all workers may use together, as on the embedded stack.
_MEMORY_SHARE = 0.5
_ADDRESS = "scheduler.address"
_READY = "workers.ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSize:
    """How many workers a lane of one's own has, and how large they are."""

    workers: int
    threads: int
    memory_bytes: int


def lane_size(cores: int, memory_bytes: int) -> LaneSize:
    """Return a worker for each core, two at least, with two threads each.

    Two workers of two threads are what the embedded stack has on two cores; with
    fewer there would be no threads, or no processes, to compare.

    Examples
    --------
    >>> lane_size(2, 8 * 2**30)
    LaneSize(workers=2, threads=2, memory_bytes=2147483648)
    """
    workers = max(2, cores)
    each = max(2**29, int(memory_bytes * _MEMORY_SHARE / workers))
    return LaneSize(workers=workers, threads=2, memory_bytes=each)


def own_allocation() -> Allocation:
    """Return what an experiment on a lane of its own may plan with."""
    cores = len(os.sched_getaffinity(0))
    size = lane_size(cores, 0)
    return Allocation(cores=cores, workers=size.workers, threads=size.threads)


def this_size() -> LaneSize:
    """Return the size of a lane on this machine, within what its cgroup allows."""
    from distributed.system import MEMORY_LIMIT

    return lane_size(len(os.sched_getaffinity(0)), int(MEMORY_LIMIT))


@contextmanager
def own_lane() -> Iterator[str]:
    """Start a private lane; yield its scheduler's address; end it whatever happens.

    Raises
    ------
    ClusterError
        When it does not come up; the message has the end of its log.
    """
    folder = Path(tempfile.mkdtemp(prefix="daskperf-lane-"))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_start(folder, "scheduler"))
        address = _wait(folder, _ADDRESS, processes)
        processes.append(_start(folder, "workers", address))
        _wait(folder, _READY, processes)
        yield address
    finally:
        _end(processes)
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("DASK_", "DASKPERF_STORE", "DASKPERF_NOTIFY", "AWS_"))
    }
    root = str(Path(__file__).resolve().parent.parent)
    path = [root, *env.get("PYTHONPATH", "").split(os.pathsep)]
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(p for p in path if p))
    with (folder / f"{words[0]}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", __name__, words[0], str(folder), *words[1:]],
            env=env,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            # Ctrl-C is for the command, which still has to give its lane back.
            start_new_session=True,
        )


def _wait(folder: Path, name: str, processes: Sequence[subprocess.Popen[bytes]]) -> str:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and all(p.poll() is None for p in processes):
        with contextlib.suppress(FileNotFoundError):
            return (folder / name).read_text()
        time.sleep(_TICK_S)
    ended = [p.returncode for p in processes if p.poll() is not None]
    tails = [log.read_text(errors="replace")[-1500:] for log in sorted(folder.glob("*.log"))]
    raise ClusterError(
        "a lane for this command did not come up",
        where="this machine",
        expected=f"a scheduler and its workers within {_START_S:.0f} s",
        found=f"a process ended with code {ended[0]}" if ended else "no answer",
        todo="`daskperf lane up` starts one that stays; or pass --scheduler ADDR. "
        "The end of the log:\n" + "\n".join(t for t in tails if t.strip()),
    )


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End the workers before the scheduler, in peace if they do, and leave none."""
    for process in reversed(processes):
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# --- the processes of the lane -----------------------------------------------


async def _scheduler(folder: Path) -> None:
    from distributed import Scheduler

    async with Scheduler(host=_HOST, port=0, dashboard=False) as scheduler:
        _say(folder, _ADDRESS, scheduler.address)
        await _command_gone()


async def _workers(folder: Path, address: str) -> None:
    from distributed import Nanny

    size = this_size()
    async with contextlib.AsyncExitStack() as stack:
        nannies = [
            Nanny(
                address,
                name=f"worker-{i}",
                nthreads=size.threads,
                memory_limit=size.memory_bytes,
                host=_HOST,
                dashboard=False,
                local_directory=str(folder),
            )
            for i in range(size.workers)
        ]
        await asyncio.gather(*(stack.enter_async_context(nanny) for nanny in nannies))
        _say(folder, _READY, "")
        await _command_gone()


def _say(folder: Path, name: str, text: str) -> None:
    """Write a file that is there whole, or not at all."""
    part = folder / f"{name}.part"
    part.write_text(text)
    part.rename(folder / name)


async def _command_gone() -> None:
    """Return when the command has ended or wants its lane to end."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()

    def watch() -> None:
        os.read(0, 1)
        # From now on it ends within a limit, whatever its parts think.
        threading.Timer(_CLOSE_S, _give_up).start()
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(gone.set)

    threading.Thread(target=watch, daemon=True).start()
    await gone.wait()


def _give_up() -> None:
    os._exit(0)


def main(argv: Sequence[str]) -> int:
    """Be one of the lane's processes until standard input closes."""
    role, folder, *rest = argv
    body: Any = _scheduler(Path(folder)) if role == "scheduler" else _workers(Path(folder), *rest)
    asyncio.run(body)
    # After a command that was killed nobody else does it.
    shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
