"""Which wheel folders come first on the import path (sent by source).

A nanny starts its worker by multiprocessing's spawn, which hands the nanny's own
``sys.path`` to the child: ``PYTHONPATH`` alone would not reach the worker. It is
set all the same, for programs that a worker starts.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.tree import is_wheel_folder


def wheel_paths() -> list[str]:
    """Return the wheel folders of ours on this process's import path, in order."""
    return [p for p in sys.path if is_wheel_folder(p)]


def set_wheel_paths(folders: list[str], dask_worker: Any = None) -> list[str]:
    """Make ``folders`` the only wheel folders of ours that the next worker process gets.

    Runs in the nanny's process; doing it again changes nothing. Folders that
    are gone are left out.

    Returns
    -------
    list
        The wheel folders on the path now.
    """
    there = [f for f in folders if Path(f).is_dir()]
    sys.path[:] = there + [p for p in sys.path if not is_wheel_folder(p)]
    outer = _strip(os.environ.get("PYTHONPATH", ""))
    nanny = dask_worker
    process = getattr(nanny, "process", None)
    places = [getattr(nanny, "env", None), getattr(nanny, "pre_spawn_env", None)]
    places += [getattr(process, "env", None), getattr(process, "pre_spawn_env", None)]
    for place in [os.environ, *(p for p in places if p is not None)]:
        rest = _strip(place["PYTHONPATH"]) if "PYTHONPATH" in place else outer
        value = os.pathsep.join([*there, *rest])
        if value:
            place["PYTHONPATH"] = value
        else:
            place.pop("PYTHONPATH", None)
    return wheel_paths()


def _strip(value: str) -> list[str]:
    return [p for p in value.split(os.pathsep) if p and not is_wheel_folder(p)]
