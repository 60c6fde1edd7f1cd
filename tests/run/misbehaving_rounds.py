"""Rounds in which each misbehaving cell is followed by a good one, and what became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from daskperf_tasks.model.block import BlockResult, Failure, Timeout
from daskperf_tasks.run.done import read_block
from daskperf_tasks.run.spec import Layout, RoundSpec
from daskperf_tasks.run.supervise import run_round
from daskperf_tasks.store.filesystem import FilesystemStore

from .misbehaving_workloads import SPEC
from .rounds import plan_of_text, small_spec

Cells = Sequence[tuple[str, str]]


def misbehaving_spec(
    cells: Cells,
    ledger: FilesystemStore,
    *,
    scheduler: str = "",
    timeout_s: float = 1.0,
    timeouts: Mapping[str, float] | None = None,
    grace_s: float = 1.0,
    memory_limit_bytes: int | None = None,
) -> RoundSpec:
    """A round of ``cells`` (workload, environment), each followed by a good one there."""
    own = timeouts or {}
    text = '[matrix]\nname = "bad"\nrounds = 1\nrepeats = 1\nmax_attempts = 1\n'
    text += "warmup = { min_repeats = 0, max_repeats = 0 }\n"
    for k, (name, env) in enumerate(cells):
        for workload, limit_s in ((name, own.get(name, timeout_s)), ("good", 30.0)):
            text += f'[[workload]]\nname = "{workload}"\nunits = 3\nenvironments = ["{env}"]\n'
            text += f"params = {{ k = {k} }}\ntimeout_s = {limit_s}\n"
    plan = plan_of_text(text, SPEC)
    spec = small_spec(plan, ledger.root, scheduler=scheduler, layout=Layout(workers=2, threads=2))
    by_id = {turn.planned.cell_id: turn for turn in spec.turns}
    return replace(
        spec,
        turns=tuple(by_id[cell.cell_id] for cell in plan.cells),  # in the order written here
        round=replace(spec.round, profile=False),
        grace_s=grace_s,
        memory_limit_bytes=memory_limit_bytes,
    )


def measured(
    spec: RoundSpec, ledger: FilesystemStore, cells: Cells, lines: list[str] | None = None
) -> dict[str, str]:
    """Measure; return what each misbehaving cell came to: ``workload env`` -> in words.

    Every good cell must have been measured in its first attempt, and stand right
    after the bad one. ``lines`` takes what people are told.
    """
    lines = [] if lines is None else lines
    run_round(spec, store=ledger, log=lines.append)
    blocks = [read_block(spec, ledger, turn.planned.cell_id, 1) for turn in spec.turns]
    found = {}
    for (name, env), bad, good in zip(cells, blocks[::2], blocks[1::2], strict=True):
        assert good is not None and good.valid, (name, env, good, lines)
        found[f"{name} {env}"] = in_words(bad)
    return found


def in_words(block: BlockResult | None) -> str:
    assert block is not None
    outcome = block.outcome
    if isinstance(outcome, Timeout):
        return f"timeout after {outcome.after_s:.1f} s"
    if isinstance(outcome, Failure):
        return f"{outcome.fault} {outcome.error_type}: {outcome.message}"
    return "measured" if block.valid else f"invalid: {block.invalid_reason}"
