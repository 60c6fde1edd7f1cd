"""What of a round the ledger holds already."""

from __future__ import annotations

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import loads
from daskperf_tasks.model.ids import Side, scheduler_of, side_of
from daskperf_tasks.model.plan import PlannedCell
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.store.keys import block_file, run_key
from daskperf_tasks.store.protocol import ArtifactStore


def read_block(
    spec: RoundSpec, store: ArtifactStore, cell_id: str, attempt: int
) -> BlockResult | None:
    """Return what an attempt at a cell's block left, or None."""
    key = block_file(spec.run_id, cell_id, spec.arm, spec.round.index, attempt)
    return loads(store.get(key), BlockResult, where=key) if store.exists(key) else None


def last_block(spec: RoundSpec, store: ArtifactStore, cell_id: str) -> BlockResult | None:
    """Return the valid attempt at a cell's block, else the last one."""
    found = None
    for attempt in range(1, spec.max_attempts + 1):
        block = read_block(spec, store, cell_id, attempt)
        if block is not None:
            found = block
            if block.valid:
                break
    return found


def report_key(spec: RoundSpec, side: Side) -> str:
    """Return the key of a side's performance report."""
    return run_key(spec.run_id, side, "performance_report.html")


def unprofiled(spec: RoundSpec, store: ArtifactStore) -> tuple[PlannedCell, ...]:
    """Return the cells that the profiled pass is still to run.

    These are the distributed cells of a round that is to be profiled which have
    a valid block, on the sides that have no performance report yet.
    """
    if not spec.round.profile:
        return ()
    cells = []
    for planned in spec.cells:
        env = planned.cell.env
        if scheduler_of(env) == "none" or store.exists(report_key(spec, side_of(env))):
            continue
        block = last_block(spec, store, planned.cell_id)
        if block is not None and block.valid:
            cells.append(planned)
    return tuple(cells)
