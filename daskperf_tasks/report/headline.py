"""The first thing that a reader sees: green, red or incomplete, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import WheelPair
from daskperf_tasks.report.coverage import coverage, labelled, summarised
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import counted, one_line

Colour = Literal["green", "red"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """Colour, one sentence, and the reasons for anything but green."""

    colour: Colour
    state: Literal["complete", "partial", "failed"]
    title: str
    reasons: tuple[str, ...]


def headline(inputs: ReportInputs) -> Headline:
    """Say how the night went, from the stage's decision or from the documents."""
    derived = _derived(inputs)
    if inputs.state is None or inputs.green is None:
        return derived
    return Headline(
        colour="green" if inputs.green else "red",
        state=inputs.state,
        title=_title(inputs, inputs.green, inputs.state),
        reasons=tuple(one_line(r) for r in inputs.reasons),
    )


def slower(inputs: ReportInputs) -> tuple[WheelPair, ...]:
    """Return the cells that make a night red: slower in a same-night comparison."""
    if isinstance(inputs.verdicts, Missing) or inputs.verdicts.basis != "paired":
        return ()
    return tuple(v for v in inputs.verdicts.verdicts if v.verdict == "slower")


def _derived(inputs: ReportInputs) -> Headline:
    reasons = [
        one_line(f"{s.name} failed ({s.fault}): {s.error}")
        for s in inputs.stages
        if s.outcome == "failed"
    ]
    if not isinstance(inputs.preflight, Missing):
        reasons += [one_line(str(f)) for f in inputs.preflight.findings if f.level == "block"]
    required = [c for c in summarised(inputs) if c.required and c.state != "measured"]
    reasons += [one_line(f"{labelled(c)}, {c.arm}: {c.state}: {c.reason}") for c in required]
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
            one_line(f"validation: {c.name}: expected {c.expected}, found {c.found}") for c in bad
        ] or ["validation failed"]
    cover = coverage(inputs)
    if cover.measured == 0 and not reasons:
        reasons.append("nothing was measured")
    state: Literal["complete", "partial", "failed"] = "partial" if reasons else "complete"
    if cover.measured == 0 or refused:
        state = "failed"
    reasons += [one_line(f"slower: {v.label}: {v.why}") for v in slower(inputs)]
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
    if cover.unknown or cover.measured == 0:
        return "Red: nothing was measured"
    slow = slower(inputs)
    if slow and state == "complete":
        return f"Red: {counted(len(slow), 'cell')} slower than the reference"
    what = "must not be believed" if state == "failed" else "incomplete"
    return f"Red: {what}, {cover.measured} of {counted(cover.planned, 'cell')} measured"
