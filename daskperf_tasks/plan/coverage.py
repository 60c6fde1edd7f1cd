"""What of a plan is measured, failed or missing, from the blocks alone."""

from __future__ import annotations

from collections.abc import Iterable

from daskperf_tasks.model.block import BlockResult, Failure, Timeout
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.plan import Plan, Round
from daskperf_tasks.model.results import CellState


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


def cell_states(
    plan: Plan, blocks: Iterable[BlockResult]
) -> dict[tuple[str, Arm], tuple[CellState, str | None]]:
    """Return for every planned cell and arm its state and, unless measured, why."""
    by_cell: dict[tuple[str, Arm], list[BlockResult]] = {}
    for block in blocks:
        by_cell.setdefault((block.cell_id, block.arm), []).append(block)
    states: dict[tuple[str, Arm], tuple[CellState, str | None]] = {}
    for planned in plan.cells:
        for arm in plan.arms:
            found = by_cell.get((planned.cell_id, arm), [])
            if any(b.valid and b.measured for b in found):
                states[planned.cell_id, arm] = ("measured", None)
            elif found:
                last = max(found, key=lambda b: (b.round, b.attempt))
                states[planned.cell_id, arm] = ("failed", why_not(last))
            else:
                states[planned.cell_id, arm] = (
                    "missing",
                    "no block of it was measured: the run ended before its turn",
                )
    return states


def why_not(block: BlockResult) -> str:
    """Return in one sentence why a block does not count."""
    place = f"round {block.round + 1}, attempt {block.attempt}"
    if isinstance(block.outcome, Timeout):
        return f"{place}: ended at its limit of {block.outcome.after_s:g} s"
    if isinstance(block.outcome, Failure):
        failure = block.outcome
        first = failure.message.splitlines()[0] if failure.message else "no message"
        return f"{place}: {failure.fault} failure, {failure.error_type}: {first}"
    if block.invalid_reason is not None:
        return f"{place}: {block.invalid_reason}"
    if not block.measured:
        return f"{place}: it ran but left no measured repeat"
    return f"{place}: it counts"
