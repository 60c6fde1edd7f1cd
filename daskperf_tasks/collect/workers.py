"""Worker metadata as JSON: who measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def workers_document(side: str, topology: str, workers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the content of ``workers.json``."""
    return {
        "schema": "daskperf.workers",
        "version": 1,
        "side": side,
        "topology": topology,
        "workers": sorted(workers, key=lambda w: str(w["name"])),
    }


def cluster_workers(environment: str, info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the workers of a ``Client.scheduler_info(n_workers=-1)``."""
    return [
        {
            "environment": environment,
            "name": str(worker["name"]),
            "address": address,
            "host": worker.get("host", ""),
            "worker_id": worker.get("id", ""),
            "nthreads": worker["nthreads"],
            "memory_limit_bytes": worker.get("memory_limit") or 0,
            "nanny": worker.get("nanny") or "",
            "local_directory": worker.get("local_directory", ""),
            "resources": dict(worker.get("resources") or {}),
        }
        for address, worker in info["workers"].items()
    ]


def pool_worker(environment: str, name: str, pid: int, nthreads: int, host: str) -> dict[str, Any]:
    """Return a worker of the same form for a pool on this host."""
    return {
        "environment": environment,
        "name": name,
        "address": f"pid {pid}",
        "host": host,
        "worker_id": str(pid),
        "nthreads": nthreads,
        "memory_limit_bytes": 0,
        "nanny": "",
        "local_directory": "",
        "resources": {},
    }
