"""The calibration kernel (sent by source): numpy loops that hold no lock.

It is daskperf's own work, the same in every version of it, and never the
subject's: a faster wheel must not look like a faster host. The arrays fit into
a core's own cache, and numpy's loops release the GIL, as the kernels of a
numeric workload do.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import threading
import time
from typing import Any

#: Name and version of the kernel; figures of different kernels are never compared.
KERNEL = "sine-32768x40/v1"


def run_once() -> float:
    """Run the kernel and return its wall time in seconds."""
    import numpy as np

    x = np.linspace(0.0, 1.0, 32_768)
    y = np.empty_like(x)
    started = time.perf_counter()
    for _ in range(40):
        np.sin(x, out=y)
        np.multiply(y, 0.5, out=x)
        np.add(x, 0.25, out=x)
    return time.perf_counter() - started


def run_threads(nthreads: int, runs: int) -> list[float]:
    """Run the kernel ``runs`` times on each of ``nthreads`` threads at once.

    The first run of every thread warms up and is thrown away.

    Returns
    -------
    list
        Seconds of each run, the mean over the threads.
    """
    times: list[list[float]] = [[] for _ in range(nthreads)]
    gate = threading.Barrier(nthreads)

    def work(mine: list[float]) -> None:
        run_once()
        gate.wait()
        mine.extend(run_once() for _ in range(runs))

    threads = [threading.Thread(target=work, args=(mine,), daemon=True) for mine in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [statistics.fmean(run) for run in zip(*times, strict=True)]


async def calibrate_worker(runs: int, dask_worker: Any = None) -> list[float]:
    """Do the same on all threads of a worker, without holding its event loop."""
    return await asyncio.to_thread(run_threads, int(dask_worker.state.nthreads), runs)


def main() -> None:
    """Calibrate this process: arguments threads and runs; starts on a line of input."""
    nthreads, runs = map(int, sys.argv[1:3])
    run_once()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    json.dump(run_threads(nthreads, runs), sys.stdout)


if __name__ == "__main__":
    main()
