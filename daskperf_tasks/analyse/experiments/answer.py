"""Every planned experiment's answer, whatever was measured of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from daskperf_tasks.analyse.experiments import (
    chunks,
    granularity,
    optimization,
    scheduler,
    task_size,
    workers,
)
from daskperf_tasks.analyse.experiments.context import (
    Environments,
    allocated_cores,
    context_rows,
    facts_of,
    side_of_points,
)
from daskperf_tasks.analyse.experiments.parts import Parts
from daskperf_tasks.analyse.experiments.prediction import judge
from daskperf_tasks.analyse.experiments.seen import Case, point_result, see
from daskperf_tasks.analyse.experiments.words import listed, sentence
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.experiment import ExperimentResult, Experiments, Kind, PlannedExperiment
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.plan import Plan

_KINDS: Mapping[Kind, Callable[[Case], Parts]] = {
    "task-size": task_size.answer,
    "workers": workers.answer,
    "scheduler": scheduler.answer,
    "chunks": chunks.answer,
    "granularity": granularity.answer,
    "optimization": optimization.answer,
}


def answer_experiments(
    plan: Plan,
    blocks: Sequence[BlockResult],
    preflight: Preflight | None,
    environments: Environments,
) -> Experiments:
    """Answer every experiment of a plan.

    Parameters
    ----------
    plan
        What was asked, with the predictions.
    blocks
        All attempts; those of tonight's wheel that count are read.
    preflight
        For the reasons of what is missing.
    environments
        ``environment.json`` of each side, for the context and the allocation.
    """
    return Experiments(
        run_id=plan.run_id,
        results=tuple(
            answer_one(planned, blocks, preflight, environments) for planned in plan.experiments
        ),
    )


def answer_one(
    planned: PlannedExperiment,
    blocks: Sequence[BlockResult],
    preflight: Preflight | None,
    environments: Environments,
) -> ExperimentResult:
    """Answer one experiment."""
    side = side_of_points([p.cell_id for p in planned.points])
    facts = facts_of(environments, side)
    case = see(planned, blocks, preflight=preflight, cores=allocated_cores(facts, side))
    parts = _KINDS[planned.kind](case)
    as_predicted, difference = judge(case)
    conclusion = [*parts.conclusion]
    lost = [f"{s.label} ({s.reason})" for s in case.seen if s.state != "measured"]
    if lost:
        conclusion.append(sentence(f"without figures: {listed(lost)}"))
    if case.measured and any(len(s.blocks) < 2 for s in case.measured):
        conclusion.append(
            "Some points have one block only: intervals then tell of repeats within one process, "
            "and points count as different only beyond a further factor of 1.3."
        )
    return ExperimentResult(
        name=planned.name,
        kind=planned.kind,
        model=parts.model,
        points=tuple(
            point_result(s, case.baseline_of(s), parts.more.get(s.label, {})) for s in case.seen
        ),
        fits=parts.fits,
        as_predicted=as_predicted,
        difference=difference,
        recommended=parts.recommended,
        conclusion=tuple(conclusion),
        context=context_rows(case, facts),
    )
