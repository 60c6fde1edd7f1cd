"""The first thing that a reader sees: green, red or incomplete, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import WheelPair
from daskperf_tasks.report.coverage import coverage, is_open, labelled, summarised
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import brief, counted, one_line

Colour = Literal["green", "red", "amber"]
State = Literal["complete", "partial", "failed", "in progress or abandoned"]
#: Reasons that are shown where there is little room.
FEW = 6
#: Letters of a reason that are kept in full.
_WHOLE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """Colour, one sentence, and the reasons for anything but green."""

    colour: Colour
    state: State
    title: str
    #: In full, each on one line.
    reasons: tuple[str, ...]

    def few(self, count: int = FEW) -> tuple[str, ...]:
        """Return the first reasons cut to a line, then how many more there are."""
        rest = len(self.reasons) - count
        more = (f"and {counted(rest, 'more reason')}",) if rest > 0 else ()
        return (*(brief(r) for r in self.reasons[:count]), *more)

    @property
    def cut(self) -> bool:
        """Whether :meth:`few` leaves anything out."""
        return self.few() != self.reasons


def headline(inputs: ReportInputs) -> Headline:
    """Say how the night went, from the stage's decision or from the documents."""
    if is_open(inputs):
        return _open(inputs)
    derived = _derived(inputs)
    if inputs.state is None or inputs.green is None:
        return derived
    return Headline(
        colour="green" if inputs.green else "red",
        state=inputs.state,
        title=_title(inputs, inputs.green, inputs.state),
        reasons=tuple(one_line(r, _WHOLE) for r in inputs.reasons),
    )


def slower(inputs: ReportInputs) -> tuple[WheelPair, ...]:
    """Return the cells that make a night red: slower in a same-night comparison."""
    if isinstance(inputs.verdicts, Missing) or inputs.verdicts.basis != "paired":
        return ()
    return tuple(v for v in inputs.verdicts.verdicts if v.verdict == "slower")


def _open(inputs: ReportInputs) -> Headline:
    cover = coverage(inputs)
    return Headline(
        colour="amber",
        state="in progress or abandoned",
        title=f"In progress or abandoned: {counted(cover.blocks_valid, 'valid block')} so far; "
        f"`daskperf rebuild {inputs.run_id}` closes it",
        reasons=tuple(_troubles(inputs)),
    )


def _troubles(inputs: ReportInputs) -> list[str]:
    reasons = [
        one_line(f"{s.name} failed ({s.fault}): {s.error}", _WHOLE)
        for s in inputs.stages
        if s.outcome == "failed"
    ]
    if not isinstance(inputs.preflight, Missing):
        blocking = (f for f in inputs.preflight.findings if f.level == "block")
        reasons += [one_line(str(f), _WHOLE) for f in blocking]
    return reasons


def _derived(inputs: ReportInputs) -> Headline:
    reasons = _troubles(inputs)
    required = [c for c in summarised(inputs) if c.required and c.state != "measured"]
    reasons += [
        one_line(f"{labelled(c)}, {c.arm}: {c.state}: {c.reason}", _WHOLE) for c in required
    ]
    if not isinstance(inputs.diagnosis, Missing):
        reasons += [
            f"{c.label}: wrong or lost results"
            for c in inputs.diagnosis.cells
            if c.primary == "correctness"
        ]
    refused = False
    if not isinstance(inputs.validation, Missing) and not inputs.validation.success:
        refused = True
        bad = [c for c in inputs.validation.checks if not c.success]
        reasons += [
            one_line(f"validation: {c.name}: expected {c.expected}, found {c.found}", _WHOLE)
            for c in bad
        ] or ["validation failed"]
    cover = coverage(inputs)
    if cover.measured == 0 and not reasons:
        reasons.append("nothing was summarised" if cover.samples else "nothing was measured")
    state: Literal["complete", "partial", "failed"] = "partial" if reasons else "complete"
    if cover.measured == 0 or refused:
        state = "failed"
    reasons += [one_line(f"slower: {v.label}: {v.why}", _WHOLE) for v in slower(inputs)]
    return Headline(
        colour="red" if reasons else "green",
        state=state,
        title=_title(inputs, not reasons, state),
        reasons=tuple(reasons),
    )


def _title(inputs: ReportInputs, green: bool, state: str) -> str:
    cover = coverage(inputs)
    if green:
        return f"Green: all {counted(cover.planned, 'cell')} measured and validated"
    if cover.unknown or not (cover.measured or cover.samples):
        return "Red: nothing was measured"
    if not cover.measured:
        blocks = counted(cover.blocks_valid, "valid block")
        return f"Red: {blocks}, but nothing was summarised"
    slow = slower(inputs)
    if slow and state == "complete":
        return f"Red: {counted(len(slow), 'cell')} slower than the reference"
    what = "must not be believed" if state == "failed" else "incomplete"
    return f"Red: {what}, {cover.measured} of {counted(cover.planned, 'cell')} measured"
