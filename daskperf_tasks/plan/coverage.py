"""What of a round is still to be measured, from the blocks alone."""

from __future__ import annotations

from collections.abc import Iterable

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.plan import Plan, Round


def pending_cells(
    plan: Plan, round_: Round, blocks: Iterable[BlockResult]
) -> tuple[tuple[str, int], ...]:
    """Return the cells of a round that still need a block, with the attempt that is next.

    A cell is pending while it has no valid block in this round and attempts
    are left; the order is the round's.
    """
    tried: dict[str, int] = {}
    done: set[str] = set()
    for block in blocks:
        if block.round == round_.index and block.arm == round_.arm:
            tried[block.cell_id] = max(tried.get(block.cell_id, 0), block.attempt)
            if block.valid:
                done.add(block.cell_id)
    return tuple(
        (cell_id, tried.get(cell_id, 0) + 1)
        for cell_id in round_.order
        if cell_id not in done and tried.get(cell_id, 0) < plan.max_attempts
    )
