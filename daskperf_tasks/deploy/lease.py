"""One run at a time on a lane: a lease that the lane's scheduler itself keeps.

Whoever would measure on a cluster has to reach its scheduler, by whatever name,
from whatever host and with whatever state folder; so that is the one place where
two runs are sure to meet. A lease that has expired, or whose owning process is
gone, is taken over; its fencing token goes up by one, and whoever held the old one
is told when it renews.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.reach import run_there
from daskperf_tasks.deploy import lease_slot
from daskperf_tasks.errors import ClusterError, LaneBusyError
from daskperf_tasks.model.facts import Lane

log = logging.getLogger("daskperf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of a run to use a lane."""

    run_id: str
    #: Goes up whenever the lane changes hands, as long as its scheduler runs.
    token: int
    #: ``host:pid`` of the process that took it.
    holder: str
    #: Tells apart hosts and containers of one name.
    machine: str
    #: Start of that process (psutil's ``create_time``) when the lease ends with it, else 0.
    owner_started: float
    #: Unix times of the scheduler's clock.
    acquired_at: float
    expires_at: float


def acquire(lane: Lane, run_id: str, ttl_s: float, *, while_alive: bool = False) -> Lease:
    """Take a lane for a run; taking it again for the same run prolongs it.

    Parameters
    ----------
    lane, run_id
        Which lane, for which run.
    ttl_s
        Seconds after which others may take it over.
    while_alive
        The lease ends with this process, should it die before it gives it back.

    Raises
    ------
    LaneBusyError
        When another run holds it.
    ClusterError
        When the scheduler does not answer.
    """
    asked = _asked(run_id, while_alive)
    answer = _there(lane, lease_slot.take, asked, ttl_s)
    held = Lease(**answer["held"])
    if not answer["ours"] and _owner_is_gone(held):
        log.warning("run %s died holding this lane: it is taken over", held.run_id)
        answer = _there(lane, lease_slot.take, asked, ttl_s, held.token)
        held = Lease(**answer["held"])
    if not answer["ours"]:
        raise _busy(lane, held, answer["now"])
    return held


def renew(lane: Lane, run_id: str, ttl_s: float) -> Lease:
    """Prolong the lease of a run, even a lapsed one that nobody took over.

    A scheduler that was started again in the meantime has forgotten the lease;
    it is told anew.

    Raises
    ------
    LaneBusyError
        When another run holds the lane, or held it in between.
    ClusterError
        When the scheduler does not answer.
    """
    answer = _there(lane, lease_slot.renew, _asked(run_id, while_alive=False), ttl_s)
    held = Lease(**answer["held"])
    if not answer["ours"]:
        raise _lost(lane, run_id, held, answer["now"])
    return held


def release(lane: Lane, run_id: str) -> bool:
    """Give a lane back; False when the run does not hold it (any more).

    Raises
    ------
    ClusterError
        When the scheduler does not answer; one that is gone keeps no lease.
    """
    return bool(_there(lane, lease_slot.give_back, run_id))


def holder(lane: Lane) -> Lease | None:
    """Return the lease that holds a lane now, or None.

    Raises
    ------
    ClusterError
        When the scheduler does not answer.
    """
    answer = _there(lane, lease_slot.look)
    held = answer["held"]
    return Lease(**held) if held and held["expires_at"] > answer["now"] else None


def renewer(
    lane: Lane, run_id: str, ttl_s: float, *, clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """Return what prolongs a lease taken just now, at most once in a third of its time.

    It may be called as often as one likes, also beside a measurement. A
    scheduler that does not answer is asked again with the next call: that is for
    the measurement to find out.
    """
    due = clock() + ttl_s / 3

    def tick() -> None:
        nonlocal due
        if clock() < due:
            return
        try:
            renew(lane, run_id, ttl_s)
        except LaneBusyError:
            raise
        except ClusterError as err:
            log.warning("the lease of the lane could not be renewed: %s", err.message)
            return
        due = clock() + ttl_s / 3

    return tick


def _there(lane: Lane, function: Any, *args: Any) -> Any:
    return run_there(lane.scheduler, Sent(function), *args, timeout_s=lane.timeout_s)


def _asked(run_id: str, while_alive: bool) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "holder": f"{socket.gethostname()}:{os.getpid()}",
        "machine": _machine(),
        "owner_started": _started(os.getpid()) if while_alive else 0.0,
    }


def _machine() -> str:
    """Return what this boot of this host, and this space of process ids, is known by."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _owner_is_gone(held: Lease) -> bool:
    """Whether the lease ends with a process of this host that is no more."""
    if not held.owner_started or held.machine != _machine():
        return False
    return abs(_started(int(held.holder.rpartition(":")[2])) - held.owner_started) > 1.0


def _started(pid: int) -> float:
    """Return when a process started (Unix time), 0 when there is none."""
    import psutil

    try:
        process = psutil.Process(pid)
        return 0.0 if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except psutil.Error:
        return 0.0


def _busy(lane: Lane, held: Lease, now: float) -> LaneBusyError:
    return LaneBusyError(
        f"another run uses the lane {lane.name}",
        where=f"lane {lane.name}, scheduler {lane.scheduler}",
        expected="a free lane",
        found=f"run {held.run_id} ({held.holder}) until {_time(held.expires_at)}, "
        f"{held.expires_at - now:.0f} s from now",
        todo="wait for that run to end; a lease whose run died is taken over when it expires",
    )


def _lost(lane: Lane, run_id: str, held: Lease, now: float) -> LaneBusyError:
    state = "holds it" if held.expires_at > now else "held it last"
    return LaneBusyError(
        f"run {run_id} does not hold the lane {lane.name} any more",
        where=f"lane {lane.name}, scheduler {lane.scheduler}",
        expected=f"the lease of run {run_id}",
        found=f"run {held.run_id} ({held.holder}) {state} (token {held.token})",
        todo="its lease expired and another run took the lane: start the run again",
    )


def _time(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="seconds")
