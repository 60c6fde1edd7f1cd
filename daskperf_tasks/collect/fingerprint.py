"""What a process runs on and with: for telling later why two nights differ."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from daskperf_tasks.collect.host_load import cpu_model

#: Settings that steer native threads, memory or hashing; everything else stays private.
SETTINGS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
)


#: Part of a native library's file name -> functions that return its number of threads.
_THREAD_GETTERS = {
    "openblas": (
        "scipy_openblas_get_num_threads64_",
        "scipy_openblas_get_num_threads",
        "openblas_get_num_threads64_",
        "openblas_get_num_threads",
    ),
    "mkl_rt": ("MKL_Get_Max_Threads",),
    "blis": ("bli_thread_get_num_threads",),
    "gomp": ("omp_get_max_threads",),
    "libomp": ("omp_get_max_threads",),
    "iomp5": ("omp_get_max_threads",),
}
#: ``dlopen`` only what is loaded already.
_NO_LOAD = getattr(os, "RTLD_NOLOAD", 0) | os.RTLD_LAZY


def fingerprint() -> dict[str, Any]:
    """Return facts of this process and its host, as plain JSON values.

    Contains no environment variables but those of :data:`SETTINGS`.
    """
    return {
        "python": sys.version.split()[0],
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "executable": sys.executable,
        "kernel": platform.release(),
        "system": platform.system(),
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "host": platform.node(),
        "cpu_model": cpu_model(),
        "cores": os.cpu_count() or 0,
        "cores_allowed": len(os.sched_getaffinity(0)),
        "cores_quota": cores_quota(),
        "memory_bytes": psutil.virtual_memory().total,
        "gc_enabled": gc.isenabled(),
        "gc_threshold": list(gc.get_threshold()),
        "switch_interval_s": sys.getswitchinterval(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "native_threads": native_threads(),
        "distributions": distributions(),
    }


def cores_quota(root: Path = Path("/"), process: str = "self") -> float | None:
    """Return how many cores' time the control groups of a process allow; None for no limit.

    Parameters
    ----------
    root
        Where ``proc`` and ``sys`` are mounted.
    process
        Its number, or ``self``.

    Notes
    -----
    The smallest quota from the process's own group up to the root counts
    (version 2: ``cpu.max``; version 1: ``cpu.cfs_quota_us / cpu.cfs_period_us``).
    In a container the groups above its own cannot be seen, and its own is
    mounted as the root.
    """
    try:
        lines = (root / "proc" / process / "cgroup").read_text().splitlines()
    except OSError:
        return None
    mounts = root / "sys/fs/cgroup"
    found: list[float] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        bases = [mounts] if not controllers else [mounts / controllers, mounts / "cpu"]
        for base in bases:
            group = base / path.lstrip("/")
            found += [
                q for g in (group, *group.parents) if g.is_relative_to(base) for q in _quota(g)
            ]
    return min(found, default=None)


def _quota(group: Path) -> list[float]:
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            quota = (group / "cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu.cfs_period_us").read_text().strip()
        cores = float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
        return []
    return [cores] if cores > 0 else []


def native_threads() -> dict[str, int]:
    """Return the number of threads that each loaded native library would use, as it reports.

    Numpy is imported first: its linear algebra is what most tasks would call.
    """
    import numpy  # noqa: F401

    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return {}
    files = sorted({line.split(None, 5)[-1] for line in maps.splitlines() if ".so" in line})
    found: dict[str, int] = {}
    for file in files:
        name = Path(file).name
        for part, getters in _THREAD_GETTERS.items():
            threads = _ask(file, getters) if part in name else None
            if threads is not None:
                found[name.partition(".so")[0]] = threads
    return found


def _ask(file: str, getters: tuple[str, ...]) -> int | None:
    try:
        library = ctypes.CDLL(file, mode=_NO_LOAD)
    except OSError:
        return None
    for getter in getters:
        function = getattr(library, getter, None)
        if function is not None:
            function.restype = ctypes.c_int
            return int(function())
    return None


def distributions() -> dict[str, str]:
    """Return the version of every installed distribution, the first on the path winning."""
    found: dict[str, str] = {}
    for dist in metadata.distributions():
        name = dist.name
        if name:
            found.setdefault(name.lower().replace("_", "-"), dist.version)
    return dict(sorted(found.items()))
