"""Points whose work is a fixed number of integration steps, cut into equal tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from daskperf_tasks.model.ids import Environment
from daskperf_tasks.plan.experiments.design import Settings, Wanted
from daskperf_tasks.plan.experiments.option import Option, OptionError
from daskperf_tasks.plan.limits import UNITS, Limits

IMPLEMENTATIONS = ("python", "cython")
#: Both divide evenly by every power of two that is used as a number of tasks. In plain
#: Python 2^22 steps take about a second of one core, in Cython 2^28 do.
PYTHON_STEPS = 2**22
CYTHON_STEPS = 2**28
#: Of every integral against pi; :mod:`daskperf_tasks.workloads.integrate` checks it.
TOLERANCE = 1e-9
#: The total may grow by this fraction so that it divides evenly.
_SLACK = 0.05

TOTAL_STEPS = Option(
    name="total_steps",
    help="Integration steps of all tasks together, rounded up to a multiple of the tasks",
    limits=Limits(low=64, high=10**12),
    default=(PYTHON_STEPS,),
)
TASKS = Option(name="tasks", help="Tasks, by default four a worker", limits=UNITS)


def usual_environment(implementation: str) -> Environment:
    """Return where an implementation runs in parallel: the loop in Python holds the GIL."""
    return "processes" if implementation == "python" else "threads"


def even_total(total: int, tasks: Sequence[int]) -> int:
    """Return the least total of at least ``total`` that every number of tasks divides.

    Raises
    ------
    OptionError
        When that is much more than was asked for.

    Examples
    --------
    >>> even_total(1000, [2, 8, 32]), even_total(1000, [1])
    (1024, 1000)
    """
    step = math.lcm(*tasks)
    even = -(-total // step) * step
    # A total below the number of tasks is too small anyway, which the number of steps tells.
    if even > total * (1 + _SLACK) and even > 64 * max(tasks):
        raise OptionError(
            "total_steps",
            f"'total_steps' is {total:,}: no number near it is a multiple of all numbers of "
            f"tasks ({', '.join(f'{n:,}' for n in tasks)}); the next is {even:,}",
        )
    return even


def integral(
    label: str,
    *,
    implementation: str,
    total: int,
    tasks: int,
    env: Environment,
    workers: int,
    settings: Settings,
    x: float | None = None,
    series: str = "",
) -> Wanted:
    """Return a point that integrates ``total`` steps in ``tasks`` equal tasks."""
    return Wanted(
        label=label,
        settings=settings,
        x=x,
        series=series,
        workload="integrate",
        params=(("implementation", implementation), ("steps", total // tasks)),
        units=tasks,
        env=env,
        workers=workers,
    )
