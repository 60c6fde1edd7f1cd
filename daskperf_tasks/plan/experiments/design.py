"""What a kind of experiment is, and what it makes of its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from daskperf_tasks.model.experiment import Kind, Prediction
from daskperf_tasks.model.ids import ENVIRONMENTS, Environment, Scalar
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.option import Chosen, Option, OptionError
from daskperf_tasks.plan.limits import NUMBER_OF_WORKERS

Settings = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One point, and the work that its cell does."""

    #: As in :class:`daskperf_tasks.model.experiment.Point`.
    label: str
    settings: Settings
    x: float | None = None
    series: str = ""
    workload: str
    #: Sorted by name.
    params: Settings
    #: None: the workload counts them by its parameters.
    units: int | None = None
    env: Environment
    workers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A question and the points that are to answer it."""

    question: str
    axis: str
    points: tuple[Wanted, ...]
    baseline: str | None = None
    prediction: Prediction | None = None
    fixed: Settings = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """A kind of experiment."""

    kind: Kind
    #: In one line, for the command line.
    about: str
    options: tuple[Option, ...]
    #: Raises :class:`OptionError`.
    design: Callable[[Chosen, Allocation], Design]


WORKERS = Option(
    name="workers",
    help="Workers to use (threads, processes or workers of a cluster), all there are by default",
    limits=NUMBER_OF_WORKERS,
)
ENVIRONMENT = Option(
    name="environment",
    help="Where it runs, by default where the implementation does best",
    choices=ENVIRONMENTS,
)


def workers_word(env: Environment) -> str:
    """Return what a worker of an environment is.

    Examples
    --------
    >>> workers_word("threads"), workers_word("local")
    ('threads', 'worker processes')
    """
    return "threads" if env.endswith("threads") else "worker processes"


def within(workers: int, env: Environment, allocation: Allocation) -> int:
    """Return a number of workers that an environment has.

    Raises
    ------
    OptionError
        When there are fewer.
    """
    most = allocation.most(env)
    if most is not None and workers > most:
        raise OptionError(
            "workers",
            f"'workers' is {workers:,}, and {env!r} has {most:,} within this allocation",
        )
    return workers


def one_number_of_workers(chosen: Chosen, env: Environment, allocation: Allocation) -> int:
    """Return the option ``workers``, or all that there are."""
    return within(chosen.number("workers") or allocation.usual(env), env, allocation)
