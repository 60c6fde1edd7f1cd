"""What a process runs on and with: for telling later why two nights differ."""

from __future__ import annotations

import gc
import os
import platform
import sys
from importlib import metadata
from typing import Any

import psutil

from daskperf_tasks.collect.host_load import cpu_model

#: Settings that steer native threads, memory or hashing; everything else stays private.
SETTINGS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
)


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
        "memory_bytes": psutil.virtual_memory().total,
        "gc_enabled": gc.isenabled(),
        "gc_threshold": list(gc.get_threshold()),
        "switch_interval_s": sys.getswitchinterval(),
        "settings": {name: os.environ[name] for name in SETTINGS if name in os.environ},
        "distributions": distributions(),
    }


def distributions() -> dict[str, str]:
    """Return the version of every installed distribution, the first on the path winning."""
    found: dict[str, str] = {}
    for dist in metadata.distributions():
        name = dist.name
        if name:
            found.setdefault(name.lower().replace("_", "-"), dist.version)
    return dict(sorted(found.items()))
