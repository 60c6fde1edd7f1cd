from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from daskperf_infra.local import processes
from daskperf_infra.local.state import find_layout, load_state


def until(condition: Callable[[], object], *, deadline_s: float = 20.0) -> None:
    """Wait for something to become true, and fail when it does not."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.05)


def stack_members(home: Path) -> tuple[int, ...]:
    """All living processes of the stack in a folder."""
    return processes.members(load_state(find_layout(home)).stack_id)


def listening_addresses(pids: tuple[int, ...]) -> set[str]:
    """Addresses that some processes listen on."""
    found = set()
    for pid in pids:
        try:
            connections = psutil.Process(pid).net_connections(kind="inet")
        except psutil.NoSuchProcess:
            continue
        found |= {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
    return found
