"""What a worker process really imports (sent by source)."""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.paths import wheel_paths
from daskperf_tasks.deploy.tree import files_sha256


def process_id(dask_worker: Any = None) -> list[Any]:
    """Return what tells one worker process from the next: its id and its pid."""
    return [getattr(dask_worker, "id", ""), os.getpid()]


async def check_import(
    import_name: str, distribution: str, folder: str, limit_s: float
) -> dict[str, Any]:
    """Import the wheel under test and say what came.

    Returns
    -------
    dict
        ``pid``, ``version``, ``location``, ``files_sha256``; ``error`` is None
        or the end of the traceback.
    """
    try:
        return await asyncio.wait_for(
            asyncio.to_thread(_check, import_name, distribution, folder), limit_s
        )
    except TimeoutError:
        return _answer(error=f"importing {import_name} did not end within {limit_s:g} s")


def serving(import_name: str, distribution: str) -> dict[str, Any]:
    """Say, without importing it, what an import of the subject would give now.

    Returns
    -------
    dict
        ``pid``; ``paths``, the wheel folders of ours on the import path;
        ``location`` and ``version``, empty when it is not installed.
    """
    try:
        spec = importlib.util.find_spec(import_name) if import_name else None
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or []) if spec else []
    location = (spec.origin if spec else None) or (places[0] if places else "")
    return {
        "pid": os.getpid(),
        "paths": wheel_paths(),
        "location": location,
        "version": _version(distribution) if distribution else "",
    }


def _check(import_name: str, distribution: str, folder: str) -> dict[str, Any]:
    try:
        importlib.invalidate_caches()
        module = importlib.import_module(import_name)
    except (Exception, SystemExit) as err:
        text = "".join(traceback.format_exception(err)).strip().splitlines()[-15:]
        return _answer(error="\n".join(text))
    location = getattr(module, "__file__", None) or next(iter(module.__path__), "")
    return _answer(
        version=_version(distribution),
        location=str(location),
        files=files_sha256(folder) if Path(folder).is_dir() else "",
    )


def _answer(
    *, version: str = "", location: str = "", files: str = "", error: str | None = None
) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "version": version,
        "location": location,
        "files_sha256": files,
        "error": error,
        "python": sys.version.split()[0],
    }


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
