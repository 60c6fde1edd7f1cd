"""The driver's host run through the calibration kernel, laid out like the lane."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.preflight import kernel


def calibrate_here(
    layout: Sequence[int], *, runs: int, timeout_s: float
) -> tuple[tuple[float, ...], ...] | Missing:
    """Run the kernel in one process for each worker of the lane, all at once.

    Parameters
    ----------
    layout
        Threads of each process.
    runs
        Kernel runs of each thread.
    timeout_s
        Limit for all of it.

    Returns
    -------
    tuple of tuple or Missing
        Seconds of each run, by process, or why there are none.
    """
    processes: list[subprocess.Popen[str]] = []
    # Reading from a process that hangs ends when the process does.
    watchdog = threading.Timer(timeout_s, _end, (processes,))
    watchdog.start()
    try:
        for nthreads in layout:
            command = [sys.executable, "-P", str(kernel.__file__), str(nthreads), str(runs)]
            processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
            )
        for process in processes:
            if process.stdout is None or process.stdout.readline() != "ready\n":
                return Missing(missing="a calibration process on the driver's host did not start")
        for process in processes:
            if process.stdin is not None:
                process.stdin.write("go\n")
                process.stdin.flush()
        texts = [process.communicate()[0] for process in processes]
        return tuple(tuple(float(v) for v in json.loads(text)) for text in texts)
    except (OSError, ValueError) as err:
        return Missing(missing=f"calibrating the driver's host failed: {err}")
    finally:
        watchdog.cancel()
        _end(processes)
        for process in processes:
            process.communicate()


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        with contextlib.suppress(OSError):
            process.kill()
