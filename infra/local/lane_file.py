"""The lane that the stack's own workers make up, written as ``lane.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .ports import LOOPBACK
from .state import Layout, write_private

WORKERS = ("lane-a", "lane-b")

#: Share of the memory that all workers of the stack may use together.
_MEMORY_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSize:
    """What each worker of the stack gets."""

    nthreads: int
    memory_gib: float


def worker_size() -> WorkerSize:
    """Half the cores a worker, two threads at least; half the memory for all of them."""
    cores = len(os.sched_getaffinity(0))
    each = _memory_gib() * _MEMORY_SHARE / len(WORKERS)
    return WorkerSize(nthreads=max(2, cores // 2), memory_gib=max(0.5, int(each * 10) / 10))


def _memory_gib() -> float:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            total = min(total, int((Path("/sys/fs/cgroup") / limit).read_text()))
        except (OSError, ValueError):
            continue
    return total / 2**30


def write_lane(layout: Layout, scheduler: str, size: WorkerSize) -> None:
    """Write the lane file when there is none; follow a scheduler that moved.

    A file that says ``managed = false`` is somebody's own and stays as it is.
    """
    path = layout.lane_file
    if not path.exists():
        write_private(path, lane_text(scheduler, size))
        return
    text = path.read_text(encoding="utf-8")
    try:
        lane = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # whoever loads it says what is wrong with it, and where
    if lane.get("managed") is True and lane.get("scheduler") != scheduler:
        line = f'scheduler = "{scheduler}"'
        write_private(path, re.sub(r"(?m)^scheduler\s*=.*$", line, text, count=1))


def lane_text(scheduler: str, size: WorkerSize) -> str:
    """Content of the lane file."""
    head = (
        "# The embedded stack's own workers. With managed = true the scheduler's\n"
        "# address is kept up to date; say false to keep your own.\n"
        'name = "embedded"\n'
        'kind = "loopback"\n'
        "managed = true\n"
        f'scheduler = "{scheduler}"\n'
    )
    workers = (
        f'\n[[workers]]\nname = "{name}"\nhost = "{LOOPBACK}"\n'
        f"nthreads = {size.nthreads}\nmemory_gib = {size.memory_gib}\n"
        for name in WORKERS
    )
    return head + "".join(workers)
