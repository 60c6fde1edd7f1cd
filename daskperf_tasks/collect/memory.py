"""Peak resident memory of processes, since a moment that can be set."""

from __future__ import annotations

import os
from pathlib import Path

#: ``/proc/PID/clear_refs``: resets the peak to what is resident now (proc(5), Linux 4.0).
_RESET_PEAK = "5"


def peak_rss_bytes(pid: int | None = None) -> int:
    """Return the largest resident set of a process since its peak was reset, or since it began.

    Parameters
    ----------
    pid
        The process; None for this one.

    Raises
    ------
    OSError
        When there is no such process.

    Notes
    -----
    ``VmHWM`` of Linux's ``/proc/PID/status``. Where there is no such file, what is
    resident now.
    """
    pid = os.getpid() if pid is None else pid
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return _resident_now(pid)
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return _resident_now(pid)  # a process that has ended and was not waited for


def reset_peak_rss(pid: int | None = None) -> bool:
    """Let the peak of a process begin anew; False where the system does not allow it."""
    pid = os.getpid() if pid is None else pid
    try:
        Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return False
    return True


def _resident_now(pid: int) -> int:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error as err:
        raise ProcessLookupError(f"no process {pid}") from err
