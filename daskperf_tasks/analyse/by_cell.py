"""Blocks grouped by cell and wheel, and what became of each group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from daskperf_tasks.model.block import BlockResult, Failure, Timeout
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.results import CellState

Groups = dict[tuple[str, Arm], tuple[BlockResult, ...]]


def group(blocks: Iterable[BlockResult]) -> Groups:
    """Return blocks by (cell id, arm), in the order of rounds and attempts."""
    found: dict[tuple[str, Arm], list[BlockResult]] = defaultdict(list)
    for block in blocks:
        found[block.cell_id, block.arm].append(block)
    return {k: tuple(sorted(v, key=lambda b: (b.round, b.attempt))) for k, v in found.items()}


def counted(blocks: Sequence[BlockResult]) -> tuple[BlockResult, ...]:
    """Return the blocks that count: valid, with samples, the first valid attempt of each round."""
    seen: dict[int, BlockResult] = {}
    for block in blocks:
        if block.valid and block.measured:
            seen.setdefault(block.round, block)
    return tuple(seen[r] for r in sorted(seen))


def makespans(blocks: Sequence[BlockResult]) -> list[list[float]]:
    """Return the makespans (s) that count, by block; zero and negative ones do not."""
    rows = [[s.makespan_s for s in b.measured if s.makespan_s > 0] for b in counted(blocks)]
    return [r for r in rows if r]


def throughputs(blocks: Sequence[BlockResult]) -> list[list[float]]:
    """Return units / makespan (1/s) of the repeats that :func:`makespans` counts, by block."""
    rows = [
        [s.units / s.makespan_s for s in b.measured if s.makespan_s > 0] for b in counted(blocks)
    ]
    return [r for r in rows if r]


def state_of(
    blocks: Sequence[BlockResult], preflight: Preflight | None
) -> tuple[CellState, str | None]:
    """Return what became of a cell under a wheel, and why when it was not measured."""
    if counted(blocks):
        return "measured", None
    if not blocks:
        if preflight is not None and preflight.blocked:
            first = next(f for f in preflight.findings if f.level == "block")
            return "missing", f"preflight forbade measuring ({first.code} on {first.host})"
        return "missing", "no block of it was run"
    return "failed", "; ".join(dict.fromkeys(why_not(b) for b in blocks))


def why_not(block: BlockResult) -> str:
    """Say in one line why a block does not count."""
    outcome = block.outcome
    if isinstance(outcome, Timeout):
        return f"ended at its limit after {outcome.after_s:.0f} s"
    if isinstance(outcome, Failure):
        first = outcome.message.strip().splitlines()[0] if outcome.message.strip() else ""
        return f"{outcome.fault}: {outcome.error_type}: {first}".rstrip(": ")
    if block.invalid_reason is not None:
        return f"invalid: {block.invalid_reason}"
    if not block.measured:
        return "it left no measured sample"
    return "valid"
