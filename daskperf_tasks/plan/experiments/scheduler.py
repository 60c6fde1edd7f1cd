"""``scheduler``: threads or processes, for a loop that holds the GIL and one that does not."""

from __future__ import annotations

from daskperf_tasks.model.experiment import Prediction
from daskperf_tasks.model.ids import Environment
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import (
    WORKERS,
    Design,
    KindSpec,
    one_number_of_workers,
)
from daskperf_tasks.plan.experiments.integrals import (
    IMPLEMENTATIONS,
    TASKS,
    TOTAL_STEPS,
    even_total,
    integral,
)
from daskperf_tasks.plan.experiments.option import Chosen

_SCHEDULERS: tuple[Environment, ...] = ("threads", "processes")
#: Why the fastest should be the fastest, and so on.
_WHY = (
    "The Cython loop is faster step by step and runs without the GIL, so threads compute it side "
    "by side and share memory; processes compute it side by side too and pay for sending every "
    "task and result. The Python loop holds the GIL: processes run it in parallel, threads one "
    "after the other, so they come last."
)
_ALONE = (
    "With one worker nothing runs in parallel, and the GIL costs nothing: threads need not send "
    "tasks and results, so they come before processes for both loops."
)


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    # Threads and processes alike have the cores of this process.
    workers = one_number_of_workers(chosen, "processes", allocation)
    one_number_of_workers(chosen, "threads", allocation)
    tasks = chosen.number("tasks") or 4 * workers
    total = even_total(chosen.number("total_steps") or 0, (tasks,))
    order = (
        ("cython", "threads"),
        ("cython", "processes"),
        ("python", "processes"),
        ("python", "threads"),
    )
    if workers == 1:
        order = (*order[:2], *order[:1:-1])
    return Design(
        question="Which scheduler suits a loop that holds the GIL, and which one that does not?",
        axis="implementation and scheduler",
        points=tuple(
            integral(
                _label(implementation, env),
                implementation=implementation,
                total=total,
                tasks=tasks,
                env=env,
                workers=workers,
                settings=(("implementation", implementation), ("scheduler", env)),
            )
            for implementation in IMPLEMENTATIONS
            for env in _SCHEDULERS
        ),
        baseline=_label("python", "threads"),
        prediction=Prediction(
            order=tuple(_label(*pair) for pair in order), text=_ALONE if workers == 1 else _WHY
        ),
        fixed=(
            ("total_steps", total),
            ("tasks", tasks),
            ("steps", total // tasks),
            ("workers", workers),
        ),
    )


def _label(implementation: str, env: str) -> str:
    return f"{implementation}, {env}"


SCHEDULER = KindSpec(
    kind="scheduler",
    about="Python and Cython on threads and on processes, predicted and measured.",
    options=(TOTAL_STEPS, TASKS, WORKERS),
    design=_design,
)
