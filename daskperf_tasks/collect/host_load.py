"""How busy this host is with others' work, from ``/proc`` (Linux) through psutil."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from daskperf_tasks.model.block import HostLoad
from daskperf_tasks.model.measured import Measured, Missing

#: Below this a host's CPU counters (10 ms steps) say nothing.
_SHORTEST_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLook:
    """The host's counters at a moment."""

    #: Unix time.
    at: float
    load_1min: float
    #: CPU seconds since boot, all cores: of processes, stolen, and altogether.
    busy_s: float
    steal_s: float
    all_s: float
    #: CPU seconds of the run's own processes on this host.
    own_s: float


def look(at: float, own_s: float) -> HostLook:
    """Read the counters of this host."""
    times = psutil.cpu_times()
    steal = getattr(times, "steal", 0.0)
    idle = times.idle + getattr(times, "iowait", 0.0)
    # guest time is part of user time already
    busy = times.user + times.nice + times.system + getattr(times, "irq", 0.0)
    busy += getattr(times, "softirq", 0.0)
    return HostLook(
        at=at,
        load_1min=os.getloadavg()[0],
        busy_s=busy,
        steal_s=steal,
        all_s=busy + idle + steal,
        own_s=own_s,
    )


def host_load(before: HostLook, after: HostLook) -> HostLoad:
    """Return what the host did between two looks beside the run's own work.

    Examples
    --------
    >>> a = HostLook(at=0, load_1min=0, busy_s=0, steal_s=0, all_s=0, own_s=0)
    >>> b = HostLook(at=10, load_1min=1, busy_s=16, steal_s=2, all_s=20, own_s=15)
    >>> load = host_load(a, b)
    >>> load.foreign_cpu_cores, load.steal_fraction
    (0.1, 0.1)
    """
    seconds = after.at - before.at
    everything = after.all_s - before.all_s
    foreign: Measured
    steal: Measured
    if seconds < _SHORTEST_S or everything <= 0:
        foreign = steal = Missing(missing=f"the block took {seconds:.2f} s, too short to tell")
    else:
        others = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
        foreign = max(0.0, others) / seconds
        steal = max(0.0, after.steal_s - before.steal_s) / everything
    return HostLoad(
        load_1min_before=before.load_1min,
        load_1min_after=after.load_1min,
        foreign_cpu_cores=foreign,
        steal_fraction=steal,
        cpu_model=cpu_model(),
    )


def processes_cpu_s(pids: Iterable[int]) -> float:
    """Return the CPU seconds that these processes have used; ended ones count nothing."""
    seconds = 0.0
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            continue
        seconds += times.user + times.system
    return seconds


def family_pids(pid: int) -> tuple[int, ...]:
    """Return a process and all its descendants."""
    try:
        process = psutil.Process(pid)
        return (pid, *(child.pid for child in process.children(recursive=True)))
    except psutil.Error:
        return (pid,)


@cache
def cpu_model() -> str:
    """Return the name of this host's processor, or ``unknown``."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return "unknown"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Hardware", "cpu"):
            return value.strip()
    return "unknown"


@cache
def machine_id() -> str:
    """Return an id that all processes on this host share until it boots again."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.uname().nodename
