"""Putting a wheel's files on the import path of a running scheduler (sent by source).

A scheduler cannot be restarted between two wheels as workers are: what it imported of the
one has to be forgotten before it imports the other.
"""

from __future__ import annotations

import importlib
import io
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

#: Beginning of the names of the folders that hold a wheel for a scheduler.
PREFIX = "daskperf-scheduler-"


def put_on_path(archive: bytes) -> str:
    """Unpack a tar archive into a folder of its own and put that first on the path.

    What was put there before is taken off. Modules of the same top-level names are
    forgotten, wherever they came from, so that the next import finds these.

    Returns
    -------
    str
        The folder.
    """
    take_off_path()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    tops = {p.name.split(".")[0] for p in folder.iterdir() if not p.name.endswith(".dist-info")}
    _forget(tops)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return str(folder)


def take_off_path() -> None:
    """Take such folders off the path, forget what was imported from them and delete them."""
    ours = [p for p in sys.path if Path(p).name.startswith(PREFIX)]
    for place in ours:
        sys.path.remove(place)
        inside = {
            name.split(".")[0]
            for name, module in list(sys.modules.items())
            if str(getattr(module, "__file__", None) or "").startswith(place + "/")
        }
        _forget(inside)
        shutil.rmtree(place, ignore_errors=True)
    importlib.invalidate_caches()


def _forget(tops: set[str]) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] in tops]:
        del sys.modules[name]
