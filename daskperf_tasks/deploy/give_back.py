"""Giving a lane back at the end of a run: wheels off, lease released."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from daskperf_tasks.deploy import lease, switch
from daskperf_tasks.errors import ClusterError, InfraError, LaneBusyError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.subject import Deployment

log = logging.getLogger("daskperf")

#: Lease for the time of restoring, in seconds.
_LEASE_S = 900.0


def give_back(
    lane: Lane, run_id: str, deployment: Deployment | None, *, save: Callable[[Any], None]
) -> str:
    """Take the wheels off the lane and release it, also after a deploy that was cut off.

    A lane that another run has taken over meanwhile is left alone: that run
    took off what it found.

    Parameters
    ----------
    deployment
        The run's record; None when it got to none.
    save
        Is given what was done, before anything that is wrong with it is raised.

    Returns
    -------
    str
        Why the lane was left as it is; empty when it was restored.

    Raises
    ------
    ClusterError
        When the scheduler of a deployed lane does not answer, or a worker does
        not come back or is gone; the lease is released all the same.
    """
    try:
        lease.acquire(lane, run_id, _LEASE_S, while_alive=True)
    except LaneBusyError as err:
        log.warning("the lane is left as it is: %s", err)
        return err.message
    except ClusterError as err:
        if deployment is not None and deployment.state == "deployed":
            raise
        log.info("nothing was deployed, and there is no lease to release: %s", err.message)
        return err.message
    record = deployment or switch.nothing(lane.scheduler)
    try:
        done = switch.restore(lane.scheduler, record, lane=lane)
        save(done)
    finally:
        _release(lane, run_id)
    missing = done["missing"]
    if missing:
        raise ClusterError(
            "workers of the lane are gone, so nobody knows what they would serve",
            where=", ".join(f"worker {name}" for name in missing),
            expected=f"the {len(record.previous)} workers that the wheel was deployed on",
            found=f"{len(missing)} of them do not answer, nor do their nannies",
            todo="start them again, or take them out of lane.toml",
        )
    return ""


def _release(lane: Lane, run_id: str) -> None:
    try:
        lease.release(lane, run_id)
    except InfraError as err:
        # A scheduler that is gone keeps no lease.
        log.warning("the lease was not released: %s", err.message)
