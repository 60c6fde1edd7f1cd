"""Whether a run may be believed, and whether the night is green; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.model.results import CellSummary, Validation, Verdicts, WheelPair
from daskperf_tasks.model.stage import StageRecord

#: Stages whose failure means that the figures must not be believed at all.
_FATAL = frozenset({"deploy", "preflight", "validate"})
#: Stages that come after the decision and are judged elsewhere.
_LATER = frozenset({"publish", "notify"})


#: More cells than this with one reason are told in one line.
_MANY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state that goes into the manifest."""

    state: Literal["complete", "partial", "failed"]
    green: bool
    reasons: tuple[str, ...]
    measured: int
    failed: int
    missing: int


def decide_outcome(
    cells: Sequence[CellSummary],
    validation: Validation | None,
    verdicts: Verdicts | None,
    stages: Sequence[StageRecord],
) -> Outcome:
    """Decide state and colour of a run.

    Parameters
    ----------
    cells
        All cells of both sides and all arms.
    validation
        None when validation did not run.
    verdicts
        None when there are none.
    stages
        The records of the stages so far.

    Notes
    -----
    *failed*: nothing was measured, the wheel could not be deployed, preflight
    blocked, or validation failed (which includes that a required cell is not
    complete). *partial*: all that is there holds, but another stage failed.
    *complete*: neither. Green is complete without a same-night verdict
    "slower": a comparison across nights alone never makes a night red.
    """
    reasons: list[str] = []
    for record in stages:
        # What validation found is listed below, check by check.
        if record.name == "validate" and validation is not None:
            continue
        if record.outcome == "failed" and record.name not in _LATER:
            first = (record.error or "no reason was recorded").splitlines()[0]
            reasons.append(f"{record.name} failed ({record.fault}): {first}")
    reasons += _cell_reasons(cells)
    if validation is None:
        reasons.append("the run was not validated")
    else:
        reasons += [
            f"validation: {c.name}: expected {c.expected}, found {c.found}"
            for c in validation.checks
            if not c.success
        ]
    measured = sum(c.state == "measured" for c in cells)
    failed_stages = {r.name for r in stages if r.outcome == "failed"}
    if measured == 0 or failed_stages & _FATAL or validation is None or not validation.success:
        state: Literal["complete", "partial", "failed"] = "failed"
    elif reasons:
        state = "partial"
    else:
        state = "complete"
    slower = []
    if verdicts is not None and verdicts.basis == "paired":
        slower = [v for v in verdicts.verdicts if v.verdict == "slower"]
    reasons += [f"slower: {_named(v)}: {v.why}" for v in slower]
    if measured == 0 and not reasons:
        reasons.append("nothing was measured")
    return Outcome(
        state=state,
        green=state == "complete" and not slower,
        reasons=tuple(reasons),
        measured=measured,
        failed=sum(c.state == "failed" for c in cells),
        missing=sum(c.state == "missing" for c in cells),
    )


def _cell_reasons(cells: Sequence[CellSummary]) -> list[str]:
    """Say what became of required cells; many with one reason are one line."""
    groups: dict[tuple[str, str | None], list[CellSummary]] = {}
    for cell in cells:
        if cell.required and cell.state != "measured":
            groups.setdefault((cell.state, cell.reason), []).append(cell)
    said = []
    for (state, reason), members in groups.items():
        if len(members) > _MANY:
            said.append(f"{len(members)} cells {state}: {reason}")
        else:
            said += [f"{_named(c)}, {c.arm}, {state}: {reason}" for c in members]
    return said


def _named(cell: CellSummary | WheelPair) -> str:
    return f"{cell.label} ({parse_cell_id(cell.cell_id).env})"
