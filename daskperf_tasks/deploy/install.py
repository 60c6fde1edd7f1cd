"""What a nanny does for a wheel: look, receive, install, try (sent by source).

Each function runs in the nanny's process. Long work goes to a thread, so that
the nanny goes on watching its worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.paths import wheel_paths
from daskperf_tasks.deploy.tree import base_folder, is_wheel_folder, standing
from daskperf_tasks.deploy.unpack import install_wheel

#: Distributions whose modules a worker needs to live; a wheel that brings one of
#: these has to start them too.
_VITAL = ("dask", "distributed", "tornado", "msgpack", "cloudpickle", "toolz", "yaml", "zict")

_TRIAL = """
import importlib, json, sys
sys.path[:] = json.loads(sys.argv[1])
for name in json.loads(sys.argv[2]):
    importlib.import_module(name)
"""


async def survey(sha256s: list[str], dask_worker: Any = None) -> dict[str, Any]:
    """Say where wheels stand on this host and which of the given ones are there.

    Returns
    -------
    dict
        ``host``; ``base``; ``place``, equal for nannies that share the folder;
        ``paths``, the wheel folders on the nanny's import path; ``standing``,
        sha256 of a wheel -> hash over its files, or None.
    """
    base = base_folder(scratch_of(dask_worker))
    seen = Path(base).stat()
    have = {s: await asyncio.to_thread(standing, base, s) for s in sha256s}
    host = socket.gethostname()
    return {
        "host": host,
        "base": base,
        "place": f"{host}|{base}|{seen.st_dev}|{seen.st_ino}",
        "paths": wheel_paths(),
        "standing": have,
    }


def receive(sha256: str, token: str, offset: int, chunk: bytes, dask_worker: Any = None) -> int:
    """Write a part of a wheel's bytes at its place; return the size so far."""
    path = _part(sha256, token, dask_worker)
    with path.open("wb" if offset == 0 else "r+b") as file:
        file.seek(offset)
        file.write(chunk)
    return offset + len(chunk)


async def install(
    sha256: str, token: str, file_name: str, dask_worker: Any = None
) -> dict[str, Any]:
    """Install the received bytes; see :func:`daskperf_tasks.deploy.unpack.install_wheel`."""
    base = base_folder(scratch_of(dask_worker))
    path = _part(sha256, token, dask_worker)
    try:
        return await asyncio.to_thread(install_wheel, str(path), file_name, sha256, base)
    finally:
        path.unlink(missing_ok=True)


async def try_import(
    folder: str, import_name: str, limit_s: float, dask_worker: Any = None
) -> str | None:
    """Import the wheel in a process of its own with the import path of a future worker.

    Catches a wheel that cannot be imported before any worker is touched.

    Returns
    -------
    str or None
        None when it went well, else the end of what the process said.
    """
    path = [folder, *(p for p in sys.path if not is_wheel_folder(p))]
    brings = {entry.name for entry in Path(folder).iterdir()}
    vital = [name for name in _VITAL if name in brings or f"{name}.py" in brings]
    names = [import_name, *(["distributed.nanny"] if vital else [])]
    env = dict(os.environ)
    rest = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p and not is_wheel_folder(p)]
    env["PYTHONPATH"] = os.pathsep.join([folder, *rest])
    command = [sys.executable, "-c", _TRIAL, json.dumps(path), json.dumps(names)]

    def run() -> str | None:
        try:
            done = subprocess.run(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"importing {', '.join(names)} did not end within {limit_s:g} s"
        if done.returncode == 0:
            return None
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        return tail or f"the process ended with status {done.returncode}"

    return await asyncio.to_thread(run)


async def kick(dask_worker: Any = None) -> bool:
    """Kill the worker process that a nanny has, started or half started; it starts another.

    Returns
    -------
    bool
        Whether there was a process to kill.
    """
    process = getattr(getattr(dask_worker, "process", None), "process", None)
    if process is None:
        return False
    try:
        await process.kill()
    except ValueError:  # it has just ended by itself
        return False
    return True


def scratch_of(nanny: Any) -> str | None:
    """Return a nanny's scratch folder, or None."""
    value = getattr(nanny, "local_directory", None)
    return str(value) if value else None


def _part(sha256: str, token: str, nanny: Any) -> Path:
    if set(sha256 + token) - set("0123456789abcdef"):
        raise ValueError("not a sha256")
    return Path(base_folder(scratch_of(nanny))) / f".part-{sha256}-{token}"
