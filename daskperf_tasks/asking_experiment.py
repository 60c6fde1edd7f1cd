"""One experiment, asked for by a command or a form, as a request to the chain."""

from __future__ import annotations

from collections.abc import Mapping

from daskperf_tasks.allocated import allocation_of
from daskperf_tasks.asking import Ask
from daskperf_tasks.model.experiment import Kind, PlannedExperiment
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.settings import Settings


def ask_experiment(
    settings: Settings,
    kind: Kind,
    given: Mapping[str, object],
    *,
    trigger: str,
    rounds: int | None = None,
    repeats: int | None = None,
    wheel: str | None = None,
    scheduler: str | None = None,
    allocation: Allocation | None = None,
) -> tuple[Ask, PlannedExperiment]:
    """Return the request for one experiment, and the experiment on paper.

    No second wheel is measured beside the subject: an experiment compares ways
    of computing, not wheels.

    Parameters
    ----------
    given
        Option -> value or values, as in a matrix file.
    allocation
        None asks the lane file, see :func:`allocation_of`.

    Raises
    ------
    InputError
        Naming each option that is wrong.
    """
    from daskperf_tasks.plan.build import planned
    from daskperf_tasks.plan.experiments.single import experiment_matrix
    from daskperf_tasks.workloads.registry import load_registry

    registry = load_registry()
    allocation = allocation or allocation_of(settings, scheduler=scheduler)
    matrix = experiment_matrix(
        kind, given, registry=registry, allocation=allocation, rounds=rounds, repeats=repeats
    )
    ask = Ask(
        matrix=matrix.name,
        matrix_text=matrix.text,
        trigger=trigger,
        wheel=wheel,
        against="none",
        scheduler=scheduler,
    )
    _, (experiment,) = planned(matrix, registry, allocation)
    return ask, experiment
