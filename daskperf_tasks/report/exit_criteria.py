"""The four exit criteria of a profiling pass, each ticked or not with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import counted

MIN_SIGNALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One criterion."""

    text: str
    met: bool
    reason: str


def exit_criteria(inputs: ReportInputs) -> tuple[Criterion, ...]:
    """Judge the four criteria; what cannot be judged is not met."""
    return (
        _criterion("Local and remote runs used identical benchmark inputs", _inputs(inputs)),
        _criterion("Artifacts are saved and readable", _artifacts(inputs)),
        _criterion(
            "Bottleneck classification is justified by at least 3 independent signals",
            _signals(inputs),
        ),
        _criterion("Next optimization action is explicit and testable", _action(inputs)),
    )


def _criterion(text: str, judged: tuple[bool, str]) -> Criterion:
    return Criterion(text=text, met=judged[0], reason=judged[1])


def _inputs(inputs: ReportInputs) -> tuple[bool, str]:
    if isinstance(inputs.comparison, Missing):
        return False, f"no comparison: {inputs.comparison.missing}"
    pairs = inputs.comparison.sides
    if not pairs:
        return False, "the plan pairs no local cell with a remote one"
    if isinstance(inputs.local, Missing) or isinstance(inputs.remote, Missing):
        return False, "one of the sides was not summarised"
    ran = {c.cell_id for s in (inputs.local, inputs.remote) for c in s.cells if c.samples}
    both = [p for p in pairs if p.local_cell in ran and p.remote_cell in ran]
    other = [p.label for p in both if not p.same_inputs]
    if other:
        return False, f"requests differ in {', '.join(other)}"
    if len(both) < len(pairs):
        return False, f"only {len(both)} of {counted(len(pairs), 'pair')} ran on both sides"
    return True, f"equal request hashes in all {counted(len(pairs), 'pair')}"


def _artifacts(inputs: ReportInputs) -> tuple[bool, str]:
    if not inputs.artifacts:
        return False, "no artifact is listed"
    if isinstance(inputs.validation, Missing):
        return False, f"not validated: {inputs.validation.missing}"
    if not inputs.validation.success:
        return False, "validation failed"
    return True, f"{counted(len(inputs.artifacts), 'file')} with sha256, validation passed"


def _signals(inputs: ReportInputs) -> tuple[bool, str]:
    if isinstance(inputs.diagnosis, Missing):
        return False, f"no diagnosis: {inputs.diagnosis.missing}"
    primary = inputs.diagnosis.primary
    if primary == "undetermined":
        return False, "the bottleneck is undetermined"
    most = max(
        (
            sum(s.speaks_for == primary and not isinstance(s.value, Missing) for s in c.signals)
            for c in inputs.diagnosis.cells
            if c.primary == primary
        ),
        default=0,
    )
    return most >= MIN_SIGNALS, f"{counted(most, 'signal')} taken for {primary}"


def _action(inputs: ReportInputs) -> tuple[bool, str]:
    if isinstance(inputs.diagnosis, Missing):
        return False, f"no diagnosis: {inputs.diagnosis.missing}"
    actions = inputs.diagnosis.actions
    if not actions or not actions[0].change or not actions[0].test:
        return False, "no action with a change and a test"
    if isinstance(actions[0].expected_ratio, Missing) and actions[0].title.startswith("Measuring"):
        return False, "only measuring actions: the evidence supports no optimisation yet"
    return True, actions[0].title
