"""What one process says about itself (sent by source).

``versions`` tells what runs: the version of the module that is loaded, else of
the distribution that would be. Where the two disagree both are shown, so that a
shadowed package cannot pass for the real one.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import socket
import sys
from pathlib import Path
from typing import Any

#: Distributions whose module is called otherwise.
_MODULES = {"daskperf": "daskperf_tasks"}

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def process_facts(
    distributions: list[str], located: list[str], libraries: list[str] | None = None
) -> dict[str, Any]:
    """Say what this process is.

    Parameters
    ----------
    distributions
        Names whose versions are wanted; what is not installed is ``missing``.
    located
        Names of which also the folder is wanted that they are imported from.
    libraries
        Import names of which is asked whether, and in which version, they can be
        imported. They are looked for, not imported.
    """
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in distributions},
        "locations": {name: _location(name) for name in located},
        "libraries": _libraries(libraries or []),
        "cpu_model": _cpu_model(),
        "cores": _cores(),
        "load_1min": os.getloadavg()[0],
        "thread_settings": {k: os.environ[k] for k in THREAD_VARIABLES if k in os.environ},
    }


def _version(name: str) -> str:
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        installed = ""
    module = _MODULES.get(name, name.replace("-", "_"))
    if not installed:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    loaded = _loaded_version(module)
    if installed and loaded and installed != loaded:
        return f"{loaded} (its metadata says {installed})"
    return loaded or installed or ("missing" if sys.modules.get(module) is None else "unknown")


def _loaded_version(module: str) -> str:
    found = sys.modules.get(module)
    value = getattr(found, "__version__", None) or getattr(found, "version", None)
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    return value if isinstance(value, str) else ""


def _location(name: str) -> str:
    try:
        return str(importlib.metadata.distribution(name).locate_file(""))
    except importlib.metadata.PackageNotFoundError:
        return ""


def _libraries(names: list[str]) -> dict[str, str]:
    owners: dict[str, list[str]] | None = None
    found = {}
    for name in names:
        if not _importable(name):
            found[name] = "missing"
            continue
        version = _distribution_version(name)
        if not version:
            # Reads the files of every distribution, so only when the names differ.
            if owners is None:
                owners = dict(importlib.metadata.packages_distributions())
            for owner in owners.get(name.partition(".")[0], []):
                version = version or _distribution_version(owner)
        found[name] = version or "unknown"
    return found


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        # No parent, a parent that is no package, or a stub put into sys.modules.
        return False


def _distribution_version(name: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError):
        return importlib.metadata.version(name)
    return ""


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "cpu model"):
                return value.strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    """Cores that this process may use: affinity and, by way of Dask, cgroup quota."""
    with contextlib.suppress(Exception):
        from dask.system import cpu_count

        return int(cpu_count())
    return len(os.sched_getaffinity(0))
