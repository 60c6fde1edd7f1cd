"""What was measured, what failed and what is missing: never silent about a cell."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import CellState, CellSummary
from daskperf_tasks.report.artifacts import MANIFEST
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import counted, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """One planned cell under one wheel that was not measured."""

    label: str
    arm: str
    state: CellState
    reason: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Counts over cells and wheels, and the rows that are not measured."""

    planned: int
    measured: int
    failed: int
    missing: int
    blocks_valid: int
    blocks_invalid: int
    samples: int
    gaps: tuple[CoverageRow, ...]
    #: Why nothing can be said; empty when it can.
    unknown: str = ""
    #: Whether the run is in progress, or was abandoned: nothing of it was summarised yet.
    open: bool = False

    @property
    def sentence(self) -> str:
        """The counts in one sentence."""
        if self.unknown:
            return f"Nothing is known of the cells: {self.unknown}."
        if self.open:
            return (
                f"{counted(self.planned, 'cell')} planned, {self.missing} of them without a valid "
                f"block so far; {self.blocks_valid} valid and {self.blocks_invalid} not valid "
                f"blocks, {self.samples} samples, none summarised yet."
            )
        return (
            f"{self.measured} of {self.planned} cells measured, {self.failed} failed, "
            f"{self.missing} missing; {self.blocks_valid} valid and {self.blocks_invalid} "
            f"not valid blocks, {self.samples} samples."
        )


def coverage(inputs: ReportInputs) -> Coverage:
    """Count the cells of the plan; without summaries they all are missing."""
    cells = summarised(inputs)
    if not cells and isinstance(inputs.plan, Missing):
        return _empty(unknown=f"there is no plan ({inputs.plan.missing})")
    if not cells and not isinstance(inputs.plan, Missing):
        return _unsummarised(inputs, inputs.plan)
    states = [c.state for c in cells]
    return Coverage(
        planned=len(cells),
        measured=states.count("measured"),
        failed=states.count("failed"),
        missing=states.count("missing"),
        blocks_valid=sum(c.blocks_valid for c in cells),
        blocks_invalid=sum(c.blocks_invalid for c in cells),
        samples=sum(c.samples for c in cells),
        gaps=tuple(
            CoverageRow(
                label=labelled(c),
                arm=c.arm,
                state=c.state,
                reason=one_line(c.reason or "no reason was recorded", 2000),
                required=c.required,
            )
            for c in cells
            if c.state != "measured"
        ),
    )


def _unsummarised(inputs: ReportInputs, plan: Plan) -> Coverage:
    """Count the blocks themselves; figures there are none."""
    going = is_open(inputs)
    valid = [b for b in inputs.blocks if b.valid]
    begun = {(b.cell_id, b.arm) for b in valid if b.measured} if going else set()
    why = "not measured yet" if going else _reason(inputs)
    rows = tuple(
        CoverageRow(
            label=f"{p.cell.label} ({p.cell.env})",
            arm=arm,
            state="missing",
            reason=why,
            required=p.required,
        )
        for p in plan.cells
        for arm in plan.arms
        if (p.cell_id, arm) not in begun
    )
    return Coverage(
        planned=len(plan.cells) * len(plan.arms),
        measured=0,
        failed=0,
        missing=len(rows),
        blocks_valid=len(valid),
        blocks_invalid=len(inputs.blocks) - len(valid),
        samples=sum(len(b.measured) for b in valid),
        gaps=rows,
        open=going,
    )


def is_open(inputs: ReportInputs) -> bool:
    """Whether a run was neither summarised nor closed: in progress, or abandoned."""
    if isinstance(inputs.plan, Missing) or summarised(inputs):
        return False
    closing = ("analyse", "validate", "report", "publish", "notify")
    if any(s.name in closing for s in inputs.stages):
        return False
    return all(entry.key != MANIFEST for entry in inputs.artifacts)


def summarised(inputs: ReportInputs) -> tuple[CellSummary, ...]:
    """Return the summaries of all cells of both sides."""
    both = (inputs.local, inputs.remote)
    return tuple(c for s in both if not isinstance(s, Missing) for c in s.cells)


def labelled(cell: CellSummary) -> str:
    """Name a cell with its environment."""
    return f"{cell.label} ({parse_cell_id(cell.cell_id).env})"


def _reason(inputs: ReportInputs) -> str:
    if not isinstance(inputs.preflight, Missing) and inputs.preflight.blocked:
        return "preflight forbade measuring"
    failed = [s for s in inputs.stages if s.outcome == "failed"]
    if failed:
        return one_line(f"{failed[0].name} failed: {failed[0].error}", 2000)
    if inputs.blocks:
        return "the raw results were not summarised"
    return "planned only: nothing was measured"


def _empty(*, unknown: str) -> Coverage:
    return Coverage(
        planned=0,
        measured=0,
        failed=0,
        missing=0,
        blocks_valid=0,
        blocks_invalid=0,
        samples=0,
        gaps=(),
        unknown=unknown,
    )
