"""A line for people about a block. Pure."""

from __future__ import annotations

import statistics

from daskperf_tasks.model.block import BlockResult, Failure, Timeout
from daskperf_tasks.run.spec import RoundSpec, Turn


def block_line(spec: RoundSpec, turn: Turn, result: BlockResult, *, unit: str = "unit") -> str:
    """Return what a block came to: repeats, median makespan and throughput, or why not."""
    cell = turn.planned.cell
    head = f"round {spec.round.index + 1}/{spec.rounds_total} {spec.arm}  {cell.label} {cell.env}"
    if turn.attempt > 1:
        head += f" (attempt {turn.attempt})"
    return f"{head}: {_what(result, unit)}"


def _what(result: BlockResult, unit: str) -> str:
    outcome = result.outcome
    if isinstance(outcome, Timeout):
        return f"timeout after {outcome.after_s:.1f} s"
    if isinstance(outcome, Failure):
        lines = outcome.message.splitlines()
        first = lines[0] if lines else "no message"
        return f"{outcome.fault} failure, {outcome.error_type}: {first[:160]}"
    makespans = [s.makespan_s for s in result.measured]
    median = statistics.median(makespans)
    rate = statistics.median(s.units / s.makespan_s for s in result.measured)
    text = f"{len(makespans)} repeats, median {median:.3f} s, {_spell(rate)} {unit}s/s"
    return text if result.invalid_reason is None else f"{text}; INVALID: {result.invalid_reason}"


def _spell(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"
