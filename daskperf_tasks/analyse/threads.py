"""How many threads a block had, raw and weighted by calibration.

The rule
--------
Calibration gives each worker an index (1 is the median worker) and, for the
local environments, the worth of the driver's host against the lane.

===================  =========================================================
environment          effective threads of a block with t threads
===================  =========================================================
remote               sum over workers of threads x index, times t / all threads
remote-threads       t x index of the worker that its tasks are bound to, the
                     first by name; where calibration does not know that worker,
                     as for remote
remote-processes     sum over workers of 1 x index, times t / number of workers
local, threads,      worth of the driver's host for all of the lane's threads,
processes            times t / all threads
===================  =========================================================
"""

from __future__ import annotations

from daskperf_tasks.model.block import BlockResult, Member
from daskperf_tasks.model.facts import Calibration
from daskperf_tasks.model.ids import parse_cell_id, side_of
from daskperf_tasks.model.measured import Measured, Missing


def effective_threads(block: BlockResult, calibration: Calibration | None) -> Measured:
    """Return the effective threads of a block, or why there is no figure.

    Parameters
    ----------
    block
        A block; its ``threads`` and ``processes`` are what it really had.
    calibration
        Of the run; None when it was not calibrated.
    """
    if calibration is None:
        return Missing(missing="the run has no calibration")
    if calibration.total_threads <= 0:
        return Missing(missing="calibration saw no worker threads")
    env = parse_cell_id(block.cell_id).env
    share = block.threads / calibration.total_threads
    if side_of(env) == "local":
        local = calibration.local_effective_threads
        return local if isinstance(local, Missing) else local * share
    if isinstance(calibration.effective_threads, Missing):
        return calibration.effective_threads
    if env == "remote-threads":
        index = _index_of_bound(block, calibration)
        if index is not None:
            return block.threads * index
    if env == "remote-processes" and calibration.workers:
        total = sum(w.index for w in calibration.workers)
        return total * block.threads / len(calibration.workers)
    return calibration.effective_threads * share


def bound_worker(block: BlockResult) -> Member | None:
    """Return the only worker that runs a ``remote-threads`` block: the first by name."""
    return min(block.members_before, key=lambda m: m.name, default=None)


def _index_of_bound(block: BlockResult, calibration: Calibration) -> float | None:
    member = bound_worker(block)
    if member is None:
        return None
    names = (member.name, member.worker_id)
    return next((w.index for w in calibration.workers if w.worker in names), None)
