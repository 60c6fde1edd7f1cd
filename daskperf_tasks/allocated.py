"""How many cores and workers a driver may plan with, asked without touching a cluster."""

from __future__ import annotations

import os

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.settings import Settings


def allocation_of(settings: Settings, *, scheduler: str | None) -> Allocation:
    """Return the cores of this process, and the workers that the lane file names.

    Parameters
    ----------
    settings
        Where the lane file is.
    scheduler
        Address given by hand. The workers behind one that is not the file's are unknown.
    """
    from daskperf_tasks.deploy.lane_file import load_lane

    cores = len(os.sched_getaffinity(0))
    try:
        lane = load_lane(settings.lane, scheduler=scheduler)
    except InputError:
        # Whoever needs the lane says what is wrong with it; a plan can do without.
        return Allocation(cores=cores)
    return with_lane(cores, lane)


def with_lane(cores: int, lane: Lane) -> Allocation:
    """Return an allocation with a lane's workers, as far as it names them.

    Examples
    --------
    >>> with_lane(4, Lane(name="x", scheduler="tcp://h:1")).workers is None
    True
    """
    threads = [w.nthreads for w in lane.workers if w.nthreads is not None]
    return Allocation(
        cores=cores,
        workers=len(lane.workers) or None,
        threads=min(threads) if threads else None,
    )
