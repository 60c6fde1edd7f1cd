"""``optimization``: serial or parallel, Python or Cython, for the same work."""

from __future__ import annotations

from daskperf_tasks.model.ids import Environment
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import (
    WORKERS,
    Design,
    KindSpec,
    Wanted,
    one_number_of_workers,
)
from daskperf_tasks.plan.experiments.integrals import (
    TASKS,
    TOLERANCE,
    TOTAL_STEPS,
    even_total,
    integral,
)
from daskperf_tasks.plan.experiments.option import Chosen

BASELINE = "serial Python"


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    workers = one_number_of_workers(chosen, "processes", allocation)
    one_number_of_workers(chosen, "threads", allocation)
    tasks = chosen.number("tasks") or 4 * workers
    total = even_total(chosen.number("total_steps") or 0, (tasks,))

    def point(
        label: str, implementation: str, env: Environment, tasks: int, workers: int
    ) -> Wanted:
        return integral(
            label,
            implementation=implementation,
            total=total,
            tasks=tasks,
            env=env,
            workers=workers,
            settings=(
                ("implementation", implementation),
                ("scheduler", env),
                ("workers", workers),
                ("tasks", tasks),
                ("steps", total // tasks),
            ),
        )

    return Design(
        question="Which version should do this work, and what limits it next?",
        axis="version",
        points=(
            point(BASELINE, "python", "threads", 1, 1),
            point("serial Cython", "cython", "threads", 1, 1),
            point("parallel Python, processes", "python", "processes", tasks, workers),
            point("parallel Cython, threads", "cython", "threads", tasks, workers),
        ),
        baseline=BASELINE,
        fixed=(
            ("total_steps", total),
            ("workers", workers),
            ("tasks", tasks),
            ("tolerance", TOLERANCE),
        ),
    )


OPTIMIZATION = KindSpec(
    kind="optimization",
    about="Serial and parallel, Python and Cython, for the same work: one recommended version.",
    options=(TOTAL_STEPS, TASKS, WORKERS),
    design=_design,
)
