"""Start processes, tell ours from other people's, and end ours whole.

A pid says little: the kernel gives it to somebody else once its owner is gone.
A process counts as ours when three things agree: its pid, the tick at which the
kernel started it (with the boot it belongs to), and a marker in its environment.
Children inherit the marker, so orphans of a killed service are found as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

STACK_MARKER = "DASKPERF_STACK"
SERVICE_MARKER = "DASKPERF_SERVICE"

#: Children of this process, so that they can be reaped when they end.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A process that cannot be mistaken for a later one with the same pid."""

    pid: int
    #: Start in clock ticks since boot; immune to changes of the wall clock.
    start_ticks: int
    boot_id: str


Owner = Literal["ours", "foreign", "gone"]


def start(
    command: Sequence[str], *, environment: Mapping[str, str], log: Path, cwd: Path
) -> Identity:
    """Start a command in a session of its own, its output appended to a log.

    Raises
    ------
    OSError
        The program does not exist or cannot be run.
    """
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    _CHILDREN[process.pid] = process
    ticks = _start_ticks(process.pid)
    return Identity(pid=process.pid, start_ticks=ticks or 0, boot_id=_boot_id())


def exit_code(pid: int) -> int | None:
    """The exit code of a child of ours that has ended; None for all others."""
    process = _CHILDREN.get(pid)
    return None if process is None else process.poll()


def owner(identity: Identity, stack_id: str) -> Owner:
    """Whose process has this pid now?"""
    exit_code(identity.pid)
    ticks = _start_ticks(identity.pid)
    if ticks is None:
        return "gone"
    if ticks != identity.start_ticks or _boot_id() != identity.boot_id:
        return "foreign"
    return "ours" if _marker(identity.pid, STACK_MARKER) == stack_id else "foreign"


def members(stack_id: str, service: str | None = None) -> tuple[int, ...]:
    """Living processes that carry the stack's marker, this one and its parents excepted."""
    spared = _own_line()
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) in spared:
            continue
        pid = int(entry.name)
        if _marker(pid, STACK_MARKER) != stack_id:
            continue
        if service is not None and _marker(pid, SERVICE_MARKER) != service:
            continue
        exit_code(pid)
        if _start_ticks(pid) is not None:
            found.append(pid)
    return tuple(sorted(found))


def service_of(pid: int) -> str | None:
    """The service that a marked process belongs to."""
    return _marker(pid, SERVICE_MARKER)


def end(stack_id: str, services: Iterable[str] | None = None, *, grace_s: float) -> int:
    """End all processes of some services at once: asked first, made to after a grace.

    Parameters
    ----------
    stack_id
        Only processes with this marker are touched.
    services
        Names; None for the whole stack and whatever else carries its marker.
    grace_s
        Seconds between SIGTERM and SIGKILL.

    Returns
    -------
    int
        How many processes there were at first.
    """
    names = None if services is None else frozenset(services)

    def living() -> tuple[int, ...]:
        pids = members(stack_id)
        return pids if names is None else tuple(p for p in pids if service_of(p) in names)

    first = living()
    _signal(first, signal.SIGTERM)
    # A stopped process hears SIGTERM only when it goes on.
    _signal(first, signal.SIGCONT)
    until = time.monotonic() + grace_s
    left = first
    while left and time.monotonic() < until:
        time.sleep(0.05)
        left = living()
    while left:
        _signal(left, signal.SIGKILL)
        time.sleep(0.02)
        left = living()
    return len(first)


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    """Signal processes, by group where the whole group is among them."""
    chosen = set(pids)
    for pid in pids:
        try:
            if os.getpgid(pid) in chosen and os.getpgid(pid) != pid:
                continue
            if os.getpgid(pid) == pid:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)
        except ProcessLookupError:
            continue


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log file, at most 8 KiB of it."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 8192))
            text = file.read().decode("utf-8", errors="replace")
    except OSError as error:
        return f"(no log: {error})"
    lines = [line for line in text.splitlines() if line.strip()][-count:]
    return "\n".join(lines) or "(the log is empty)"


def rss_mib(pids: Iterable[int]) -> float:
    """Resident memory of some processes together; pages that they share count in each."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        except (OSError, IndexError, ValueError):
            continue
    return total / 2**20


def _own_line() -> frozenset[int]:
    line = {os.getpid()}
    pid = os.getppid()
    while pid > 1 and pid not in line:
        line.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return frozenset(line)


def _stat(pid: int) -> list[str] | None:
    """Fields of ``/proc/PID/stat`` after the name (which may hold blanks)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _start_ticks(pid: int) -> int | None:
    """Start of a process, None when it has ended (a zombie has)."""
    fields = _stat(pid)
    if not fields or fields[0] in "ZX":
        return None
    return int(fields[19])


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _marker(pid: int, variable: str) -> str | None:
    try:
        content = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    prefix = variable.encode() + b"="
    for entry in content.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode("utf-8", errors="replace")
    return None
