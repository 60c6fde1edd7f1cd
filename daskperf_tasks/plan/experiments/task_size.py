"""``task-size``: the same work in few large or many small tasks."""

from __future__ import annotations

from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import (
    ENVIRONMENT,
    WORKERS,
    Design,
    KindSpec,
    one_number_of_workers,
)
from daskperf_tasks.plan.experiments.integrals import (
    IMPLEMENTATIONS,
    TOTAL_STEPS,
    even_total,
    integral,
    usual_environment,
)
from daskperf_tasks.plan.experiments.option import Chosen, Option
from daskperf_tasks.plan.limits import UNITS


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    (implementation,) = chosen.words("implementation")
    env = chosen.environment(usual_environment(implementation))
    workers = one_number_of_workers(chosen, env, allocation)
    tasks = tuple(sorted(chosen.numbers("tasks")))
    total = even_total(chosen.number("total_steps") or 0, tasks)
    points = tuple(
        integral(
            _label(n),
            implementation=implementation,
            total=total,
            tasks=n,
            env=env,
            workers=workers,
            settings=(("tasks", n), ("steps", total // n)),
            x=float(n),
        )
        for n in tasks
    )
    return Design(
        question="Into how many tasks should the same work be cut, and where do smaller tasks "
        "stop helping?",
        axis="tasks",
        points=points,
        baseline=points[0].label,
        fixed=(
            ("total_steps", total),
            ("implementation", implementation),
            ("environment", env),
            ("workers", workers),
        ),
    )


def _label(tasks: int) -> str:
    return "1 task" if tasks == 1 else f"{tasks} tasks"


TASK_SIZE = KindSpec(
    kind="task-size",
    about="The same work in few large or many small tasks.",
    options=(
        Option(
            name="tasks",
            help="Numbers of tasks to compare",
            limits=UNITS,
            many=True,
            default=(2, 8, 32, 128),
        ),
        TOTAL_STEPS,
        Option(
            name="implementation",
            help="Implementation of the loop",
            choices=IMPLEMENTATIONS,
            default=("python",),
        ),
        ENVIRONMENT,
        WORKERS,
    ),
    design=_design,
)
