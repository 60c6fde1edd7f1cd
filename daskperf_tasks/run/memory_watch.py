"""How much memory the measuring process and all of its children hold, and how much they may.

Reads ``/proc`` alone, and of that only the family's own files: a look costs some ten
microseconds a process, so that it may be taken several times a second beside a measurement.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Share of the memory that is free when a measuring process starts that it may use.
SHARE = 0.8
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimit:
    """What a measuring process may hold together with its children."""

    limit_bytes: int
    #: Whose limit it is, for the reason.
    why: str

    def exceeded_by(self, used_bytes: int) -> str | None:
        """Return in words that so much is too much, or None.

        Examples
        --------
        >>> limit = MemoryLimit(limit_bytes=3 * 2**30, why="the round allows")
        >>> limit.exceeded_by(2**30) is None
        True
        >>> limit.exceeded_by(4 * 2**30)
        'used 4.00 GiB, more than the 3.00 GiB that the round allows'
        """
        if used_bytes <= self.limit_bytes:
            return None
        return f"used {_size(used_bytes)}, more than the {_size(self.limit_bytes)} that {self.why}"


def limit_now(given_bytes: int | None = None) -> MemoryLimit | None:
    """Return the limit of a measuring process that starts now.

    Parameters
    ----------
    given_bytes
        The round's; None: :data:`SHARE` of what is free on this host, or in this
        process's control group where that leaves less.

    Returns
    -------
    MemoryLimit or None
        None where the system does not tell what is free.
    """
    if given_bytes is not None:
        return MemoryLimit(limit_bytes=given_bytes, why="the round allows")
    free = free_bytes()
    if free is None:
        return None
    why = f"it may use: {SHARE:.0%} of what was free on this host when it started"
    return MemoryLimit(limit_bytes=int(SHARE * free), why=why)


def free_bytes() -> int | None:
    """Return how much memory new processes can take: of the host, or of the control group."""
    found = [n for n in (_free_on_host(), _free_in_group()) if n is not None]
    return min(found, default=None)


def _free_on_host() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _free_in_group() -> int | None:
    """Return what the closest limit of the control groups (version 2) above this process leaves."""
    left: list[int] = []
    with contextlib.suppress(OSError, IndexError):
        own = (_PROC / "self" / "cgroup").read_text().splitlines()[0].split("::")[1].strip("/")
        folder = _GROUPS / own
        while folder == _GROUPS or _GROUPS in folder.parents:
            with contextlib.suppress(OSError, ValueError):
                most = int((folder / "memory.max").read_text())
                used = int((folder / "memory.current").read_text()) - _cached_in(folder)
                left.append(max(0, most - used))
            folder = folder.parent
    return min(left, default=None)


def _cached_in(group: Path) -> int:
    """Return the file cache in a group that the kernel gives back when it must."""
    for line in (group / "memory.stat").read_text().splitlines():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def family_of(pid: int) -> list[int]:
    """Return a process and all that descend from it, as far as they are still its family."""
    found = [pid]
    for member in found:  # grows while it is walked
        for file in _PROC.glob(f"{member}/task/*/children"):
            with contextlib.suppress(OSError):
                found += map(int, file.read_text().split())
    return found


def used_bytes(pids: Iterable[int]) -> int:
    """Return what processes hold together; one that is gone holds nothing.

    Notes
    -----
    The sum of ``resident - shared`` of ``/proc/PID/statm``: anonymous memory, without
    pages of files and shared memory, which several processes may map.
    """
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (_PROC / str(pid) / "statm").read_text().split()
            total += max(0, int(fields[1]) - int(fields[2])) * _PAGE
    return total


def marked(variable: str, value: str) -> list[int]:
    """Return the processes of ours whose environment has ``variable=value``, wherever they went."""
    wanted = f"{variable}={value}".encode()
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def _size(amount: int) -> str:
    gib = amount / 2**30
    return f"{gib:.2f} GiB" if gib >= 1 else f"{amount / 2**20:.0f} MiB"
