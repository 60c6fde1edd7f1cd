"""What is asked of workers and scheduler between repeats; runs in their processes.

Sent by reference: daskperf's bare install is on every worker.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from daskperf_tasks.collect import fine_metrics, memory
from daskperf_tasks.collect.host_load import machine_id
from daskperf_tasks.run.identity import Found, find_subject

#: Name of the worker resource that stands for one task at a time in a process.
SLOT = "daskperf-slot"
#: Seconds for the scheduler to forget the last repeat's tasks.
_SETTLE_S = 5.0

_last_transfer: dict[str, Any] | None = None


def worker_look(dask_worker: Any) -> dict[str, Any]:
    """Return this worker process's running totals."""
    return {
        "id": dask_worker.id,
        "pid": os.getpid(),
        "machine": machine_id(),
        "cpu_s": time.process_time(),
        "peak_rss": _new_peak_rss(),
        "fine": fine_metrics.flatten(dask_worker.digests_total),
        "transfer_bytes": _new_transfers(dask_worker),
        "executing": len(dask_worker.state.executing),
    }


def _new_peak_rss() -> int:
    """Return the largest resident set since the last look, in bytes."""
    peak = memory.peak_rss_bytes()
    memory.reset_peak_rss()
    return peak


def _new_transfers(dask_worker: Any) -> int | None:
    """Return the bytes received since the last look; None when the log lost some of them."""
    global _last_transfer
    log = dask_worker.transfer_incoming_log
    found = _last_transfer is None and len(log) < (log.maxlen or len(log) + 1)
    received = 0
    for entry in reversed(log):
        if entry is _last_transfer:
            found = True
            break
        received += entry["total"]
    if log:
        _last_transfer = log[-1]
    return received if found or not log else None


def worker_subject(dask_worker: Any, import_name: str, sha256: str) -> Found:
    """Import the subject here; return what came."""
    return find_subject(import_name, sha256)


async def scheduler_look(dask_scheduler: Any, client_id: str, since: int | None) -> dict[str, Any]:
    """Wait until a client's tasks are forgotten, then return totals and new task rows.

    Parameters
    ----------
    client_id
        Its futures must have been released.
    since
        Index of the first task row wanted; None: none.
    """
    from distributed.diagnostics.task_stream import TaskStreamPlugin

    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        client = dask_scheduler.clients.get(client_id)
        if client is None or not (client.wants_what or dask_scheduler.tasks):
            break
        await asyncio.sleep(0.002)
    if TaskStreamPlugin.name not in dask_scheduler.plugins:
        dask_scheduler.add_plugin(TaskStreamPlugin(dask_scheduler))
    plugin = dask_scheduler.plugins[TaskStreamPlugin.name]
    new = [] if since is None else plugin.collect(start_index=since)
    members = [
        (str(ws.name), ws.server_id, ws.nthreads, ws.address)
        for ws in dask_scheduler.workers.values()
    ]
    return {
        "pid": os.getpid(),
        "machine": machine_id(),
        "cpu_s": time.process_time(),
        "index": plugin.index,
        "lost": 0 if since is None else plugin.index - since - len(new),
        "rows": [_plain(row) for row in new],
        "members": members,
        "busy": len(dask_scheduler.tasks),
    }


def _plain(row: dict[str, Any]) -> tuple[Any, ...]:
    from dask.utils import key_split

    spans = [(s["action"], s["start"], s["stop"]) for s in row["startstops"]]
    thread = row.get("thread")
    key = row["key"]
    return (
        str(key),
        str(key_split(key)),
        row["worker"],
        thread if isinstance(thread, int) else 0,
        row.get("nbytes"),
        spans,
    )


async def add_slots(dask_worker: Any, slots: int) -> None:
    """Let this worker run so many tasks of those that ask for a slot at a time."""
    await dask_worker.set_resources(**{SLOT: slots})


def drop_slot(dask_worker: Any) -> None:
    """Forget the slot on this worker."""
    dask_worker.state.total_resources.pop(SLOT, None)
    dask_worker.state.available_resources.pop(SLOT, None)


def drop_slots(dask_scheduler: Any) -> None:
    """Forget the slots on the scheduler."""
    for ws in dask_scheduler.workers.values():
        ws.resources.pop(SLOT, None)
        ws.used_resources.pop(SLOT, None)
    dask_scheduler.resources.pop(SLOT, None)
