"""All of analyse in one call: raw results in, the four derived documents out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.analyse.diagnose import diagnose
from daskperf_tasks.analyse.sides import compare_sides
from daskperf_tasks.analyse.summarise import summaries
from daskperf_tasks.analyse.verdicts import decide
from daskperf_tasks.analyse.wheels import compare_paired, compare_previous
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.facts import Calibration, Preflight
from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Comparison, Diagnosis, Summary, Verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The run that tonight is compared with."""

    run_id: str
    blocks: tuple[BlockResult, ...]
    #: Whether it measured the same wheel.
    same_subject: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What analyse makes of a night."""

    summaries: dict[Side, Summary]
    comparison: Comparison
    verdicts: Verdicts
    diagnosis: Diagnosis


def analyse_night(
    plan: Plan,
    blocks: Sequence[BlockResult],
    *,
    calibration: Calibration | None,
    preflight: Preflight | None,
    previous: Previous | Missing,
    reference: str | Missing,
    streams: Mapping[str, Any] | None = None,
) -> Analysis:
    """Summarise, compare, judge and diagnose one run.

    Parameters
    ----------
    plan, blocks, calibration, preflight
        The run's raw artifacts.
    previous
        The previous accepted run, or why there is none.
    reference
        Name and version of the wheel measured in the same night, or why there is none.
    streams
        Task streams by cell id.
    """
    both = summaries(plan, blocks, calibration, preflight)
    comparison = Comparison(
        run_id=plan.run_id,
        sides=compare_sides(plan, both, blocks, calibration),
        previous_run=previous if isinstance(previous, Missing) else previous.run_id,
        same_subject=None if isinstance(previous, Missing) else previous.same_subject,
        previous=()
        if isinstance(previous, Missing)
        else compare_previous(plan, blocks, previous.blocks, same_subject=previous.same_subject),
        reference=reference,
        paired=compare_paired(plan, blocks),
    )
    return Analysis(
        summaries=both,
        comparison=comparison,
        verdicts=decide(comparison),
        diagnosis=diagnose(plan, blocks, both, calibration, preflight, streams),
    )
