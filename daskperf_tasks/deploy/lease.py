"""One run at a time on a lane: a lease in the state folder.

``<home>/leases/<lane>.json`` names the run that holds the lane and until when.
Reading and writing it happens under a lock of the operating system, so that of
two processes that ask at once one gets it. A lease that has expired, or whose owning process
is gone, is taken over; its fencing token goes up by one, and whoever held the
old one is told when it renews.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from daskperf_tasks.errors import InfraError, LaneBusyError
from daskperf_tasks.model.ids import check_name

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of a run to use a lane."""

    lane: str
    run_id: str
    #: Goes up whenever the lane changes hands.
    token: int
    #: ``host:pid`` of the process that took it.
    holder: str
    #: Start of that process (psutil's ``create_time``) when the lease ends with it, else 0.
    owner_started: float = 0.0
    #: The run that held the lane before and never gave it back, or empty.
    taken_over: str = ""
    #: Unix times.
    acquired_at: float
    expires_at: float


def acquire(
    home: Path,
    lane_name: str,
    run_id: str,
    ttl_s: float,
    *,
    while_alive: bool = False,
    clock: Clock = time.time,
) -> Lease:
    """Take a lane for a run; taking it again for the same run prolongs it.

    Parameters
    ----------
    home
        The state folder.
    lane_name, run_id
        Which lane, for which run.
    ttl_s
        Seconds after which others may take it over.
    while_alive
        The lease ends with this process, should it die before it gives it back.
    clock
        Gives the Unix time.

    Raises
    ------
    LaneBusyError
        When another run holds it.
    """
    with _locked(home, lane_name) as path:
        now = clock()
        held = _read(path)
        same = held is not None and held.run_id == run_id
        taken_over = held.taken_over if held is not None and same else ""
        if held is not None and not same:
            if held.expires_at > now and not _owner_is_gone(held):
                raise _busy(held, now)
            if held.expires_at != 0.0:
                taken_over = held.run_id
        token = (held.token if held else 0) + (0 if same else 1)
        lease = Lease(
            lane=lane_name,
            run_id=run_id,
            token=token,
            holder=f"{socket.gethostname()}:{os.getpid()}",
            owner_started=_started(os.getpid()) if while_alive else 0.0,
            taken_over=taken_over,
            acquired_at=held.acquired_at if held and same else now,
            expires_at=now + ttl_s,
        )
        _write(path, lease)
        return lease


def renew(
    home: Path, lane_name: str, run_id: str, ttl_s: float, *, clock: Clock = time.time
) -> Lease:
    """Prolong the lease of a run, even a lapsed one that nobody took over.

    Raises
    ------
    LaneBusyError
        When the run does not hold the lane (any more).
    """
    with _locked(home, lane_name) as path:
        now = clock()
        held = _read(path)
        if held is None or held.run_id != run_id:
            raise _lost(lane_name, run_id, held, now)
        lease = Lease(**{**asdict(held), "expires_at": now + ttl_s})
        _write(path, lease)
        return lease


def release(home: Path, lane_name: str, run_id: str) -> bool:
    """Give a lane back; False when the run does not hold it (any more)."""
    with _locked(home, lane_name) as path:
        held = _read(path)
        if held is None or held.run_id != run_id or held.expires_at == 0.0:
            return False
        # The file stays: it keeps the token growing.
        _write(path, Lease(**{**asdict(held), "expires_at": 0.0}))
        return True


def holder(home: Path, lane_name: str, *, clock: Clock = time.time) -> Lease | None:
    """Return the lease that holds a lane now, or None."""
    with _locked(home, lane_name) as path:
        held = _read(path)
        return held if held is not None and held.expires_at > clock() else None


def _owner_is_gone(held: Lease) -> bool:
    """Whether the lease ends with a process of this host that is no more."""
    host, _, pid = held.holder.rpartition(":")
    if not held.owner_started or host != socket.gethostname():
        return False
    return abs(_started(int(pid)) - held.owner_started) > 1.0


def _started(pid: int) -> float:
    """Return when a process started (Unix time), 0 when there is none."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


@contextlib.contextmanager
def _locked(home: Path, lane_name: str) -> Iterator[Path]:
    folder = home / "leases"
    path = folder / f"{check_name(lane_name, 'lane')}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.with_suffix(".lock").open("a")
    except OSError as err:
        raise InfraError(
            "the lane's lease cannot be written",
            where=str(folder),
            found=str(err),
            todo="make the state folder (DASKPERF_HOME) writable",
        ) from err
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path


def _read(path: Path) -> Lease | None:
    try:
        return Lease(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as err:
        raise InfraError(
            "the lane's lease cannot be read",
            where=str(path),
            found=str(err),
            todo="make sure that no run uses the lane, then remove the file",
        ) from err


def _write(path: Path, lease: Lease) -> None:
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(asdict(lease), indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)


def _busy(held: Lease, now: float) -> LaneBusyError:
    return LaneBusyError(
        f"another run uses the lane {held.lane}",
        where=f"lane {held.lane}",
        expected="a free lane",
        found=f"run {held.run_id} ({held.holder}) until {_time(held.expires_at)}, "
        f"{held.expires_at - now:.0f} s from now",
        todo="wait for that run to end; a lease whose run died is taken over when it expires",
    )


def _lost(lane: str, run_id: str, held: Lease | None, now: float) -> LaneBusyError:
    found = "no lease"
    if held is not None:
        state = "holds it" if held.expires_at > now else "held it last"
        found = f"run {held.run_id} {state} (token {held.token})"
    return LaneBusyError(
        f"run {run_id} does not hold the lane {lane}",
        where=f"lane {lane}",
        expected=f"the lease of run {run_id}",
        found=found,
        todo="its lease expired and another run took the lane: start the run again",
    )


def _time(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="seconds")
