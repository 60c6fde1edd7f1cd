"""The place on a scheduler where the lease of its lane is kept (sent by source).

All functions run in the scheduler's event loop, one after the other, so of two
runs that ask at once one gets the lane. Times are those of the scheduler's clock.
A lease that ran out or was given back stays in its place: it keeps the token
growing, and tells a run that lost the lane who had it in between.
"""

from __future__ import annotations

import time
from typing import Any

#: Name of the attribute of the scheduler.
PLACE = "daskperf_lease"

Slot = dict[str, Any]


def take(
    asked: Slot, ttl_s: float, over: int | None = None, dask_scheduler: Any = None
) -> dict[str, Any]:
    """Take the lane when it is free, held by the same run, or held with the token ``over``."""
    now, held = time.time(), look(dask_scheduler)["held"]
    if not may_take(held, asked, over, now):
        return {"now": now, "held": held, "ours": False}
    return _put(taken(held, asked, ttl_s, now), now, dask_scheduler)


def renew(asked: Slot, ttl_s: float, dask_scheduler: Any = None) -> dict[str, Any]:
    """Prolong the lease of a run that was the last one to hold the lane.

    A scheduler that was started again knows of none: then the run takes it.
    """
    now, held = time.time(), look(dask_scheduler)["held"]
    if held is None:
        return _put(taken(None, asked, ttl_s, now), now, dask_scheduler)
    if held["run_id"] != asked["run_id"]:
        return {"now": now, "held": held, "ours": False}
    return _put({**held, "expires_at": now + ttl_s}, now, dask_scheduler)


def give_back(run_id: str, dask_scheduler: Any = None) -> bool:
    """End the lease of a run; False when it holds none."""
    held = look(dask_scheduler)["held"]
    if held is None or held["run_id"] != run_id or held["expires_at"] == 0.0:
        return False
    _put({**held, "expires_at": 0.0}, 0.0, dask_scheduler)
    return True


def look(dask_scheduler: Any = None) -> dict[str, Any]:
    """Return the lease as it stands, valid or not."""
    return {"now": time.time(), "held": getattr(dask_scheduler, PLACE, None)}


def may_take(held: Slot | None, asked: Slot, over: int | None, now: float) -> bool:
    """Whether a run gets the lane."""
    return (
        held is None
        or held["run_id"] == asked["run_id"]
        or held["expires_at"] <= now
        or held["token"] == over
    )


def taken(held: Slot | None, asked: Slot, ttl_s: float, now: float) -> Slot:
    """Return the lease that follows; the token grows when the lane changes hands."""
    same = held is not None and held["run_id"] == asked["run_id"]
    return {
        **asked,
        "token": (held["token"] if held else 0) + (0 if same else 1),
        "acquired_at": held["acquired_at"] if held and same and held["expires_at"] else now,
        "expires_at": now + ttl_s,
    }


def _put(slot: Slot, now: float, dask_scheduler: Any) -> dict[str, Any]:
    setattr(dask_scheduler, PLACE, slot)
    return {"now": now, "held": slot, "ours": True}
