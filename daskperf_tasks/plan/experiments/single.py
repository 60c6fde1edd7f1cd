"""The matrix of one experiment, as a command or a form asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.experiment import Kind
from daskperf_tasks.model.plan import Warmup
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.expand import expand
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.known import Registry
from daskperf_tasks.plan.limits import REPEATS, ROUNDS, Limits, shown
from daskperf_tasks.plan.matrix import ExperimentRow, Matrix
from daskperf_tasks.plan.matrix_text import render

#: Half a minute of measuring on two cores, with the default options.
USUAL_ROUNDS = 4
USUAL_REPEATS = 3
_SEED = 20260701
_TIMEOUT_S = 120.0
_WARMUP = Warmup(min_repeats=1, max_repeats=2, tolerance=0.2)


def matrix_name(kind: str) -> str:
    """Return the name of the matrix of one experiment.

    Examples
    --------
    >>> matrix_name("task-size")
    'experiment-task-size'
    """
    return f"experiment-{kind}"


def experiment_matrix(
    kind: Kind,
    given: Mapping[str, object],
    *,
    registry: Registry,
    allocation: Allocation,
    rounds: int | None = None,
    repeats: int | None = None,
) -> Matrix:
    """Return a matrix of nothing but one experiment.

    Parameters
    ----------
    kind
        Kind of experiment.
    given
        Option -> value or values; None and empty ones are left out.
    registry, allocation
        Workloads by name, and how many workers there are.
    rounds, repeats
        None for :data:`USUAL_ROUNDS` and :data:`USUAL_REPEATS`.

    Raises
    ------
    InputError
        Naming each option that is wrong.
    """
    spec = KINDS[kind]
    known = {o.name: o for o in spec.options}
    values = {name: value for name, value in given.items() if value not in (None, (), [])}
    faults = [f"option {name!r} is not one of {kind!r}" for name in values if name not in known]
    for name, value in values.items():
        faults += [text for _, text in known[name].faults(value)] if name in known else []
    wanted: tuple[tuple[str, int | None, Limits], ...] = (
        ("rounds", rounds, ROUNDS),
        ("repeats", repeats, REPEATS),
    )
    for name, number, limits in wanted:
        if number is not None and number not in limits:
            faults.append(f"{name!r} must be {limits.text}, not {shown(number)}")
    if faults:
        raise InputError(
            f"experiment {kind!r}: {'; '.join(faults)}",
            expected=", ".join(known),
            todo=f"`daskperf experiment {kind} --help` shows the options",
        )
    options = tuple(sorted((n, known[n].values(v)) for n, v in values.items()))
    row = ExperimentRow(kind=kind, name=kind, options=options)
    matrix = Matrix(
        name=matrix_name(kind),
        seed=_SEED,
        rounds=USUAL_ROUNDS if rounds is None else rounds,
        repeats=USUAL_REPEATS if repeats is None else repeats,
        max_attempts=2,
        timeout_s=_TIMEOUT_S,
        warmup=_WARMUP,
        workloads=(),
        experiments=(row,),
        text="",
    )
    expand(row, matrix, registry=registry, allocation=allocation)
    return replace(matrix, text=render(matrix))
