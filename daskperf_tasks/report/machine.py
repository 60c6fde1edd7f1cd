"""Whether the machine was fit for measuring, from preflight, calibration and host load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.disturbance import disturbance
from daskperf_tasks.report.inputs import ReportInputs

Fitness = Literal["fit", "disturbed", "not fit", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The answer to "was the machine fit?"."""

    state: Fitness
    #: What speaks for it, without a full stop.
    why: str

    @property
    def sentence(self) -> str:
        """State and reasons in one line."""
        return f"{self.state}: {self.why}"


def machine(inputs: ReportInputs) -> Machine:
    """Judge the machine: blocked, disturbed, unknown, or fit; always with the reasons."""
    load = disturbance(inputs.blocks)
    blocks, warnings = _findings(inputs, "block"), _findings(inputs, "warn")
    unstable = not isinstance(inputs.calibration, Missing) and not inputs.calibration.stable
    reasons = [f"preflight forbade measuring ({', '.join(blocks)})"] if blocks else []
    if load.blocks:
        reasons.append(load.sentence)
    if unstable:
        reasons.append("calibration was unstable")
    if warnings:
        reasons.append(f"preflight warned of {', '.join(warnings)}")
    if not load.blocks and not blocks:
        reasons.append("no block was measured")
    if isinstance(inputs.preflight, Missing):
        reasons.append(f"no preflight ({inputs.preflight.missing})")
    if blocks:
        state: Fitness = "not fit"
    elif load.disturbed or (unstable and load.blocks):
        state = "disturbed"
    elif not load.cores:
        state = "unknown"
    else:
        state = "fit"
    return Machine(state=state, why="; ".join(reasons))


def _findings(inputs: ReportInputs, level: str) -> list[str]:
    if isinstance(inputs.preflight, Missing):
        return []
    return list(dict.fromkeys(f.code for f in inputs.preflight.findings if f.level == level))
