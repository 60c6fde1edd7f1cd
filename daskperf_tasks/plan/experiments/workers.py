"""``workers``: the same work on one worker, two, four and so on."""

from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.ids import Environment
from daskperf_tasks.plan.experiments.allocation import Allocation, doubling
from daskperf_tasks.plan.experiments.design import (
    ENVIRONMENT,
    WORKERS,
    Design,
    KindSpec,
    Wanted,
    within,
    workers_word,
)
from daskperf_tasks.plan.experiments.integrals import (
    CYTHON_STEPS,
    IMPLEMENTATIONS,
    PYTHON_STEPS,
    TASKS,
    TOTAL_STEPS,
    even_total,
    integral,
    usual_environment,
)
from daskperf_tasks.plan.experiments.option import Chosen, Option


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    implementations = chosen.words("implementation")
    several = len(implementations) > 1
    points: list[Wanted] = []
    fixed: list[tuple[str, int | str]] = []
    words = []
    for implementation in implementations:
        env = chosen.environment(usual_environment(implementation))
        counts = _counts(chosen, env, allocation)
        tasks = chosen.number("tasks") or 4 * max(counts)
        total = even_total(_total(chosen, implementation), (tasks,))
        series = f"{implementation} in {env}" if several else ""
        fixed += [(f"total_steps of {series}" if several else "total_steps", total)]
        fixed += [(f"tasks of {series}" if several else "tasks", tasks)]
        words.append(workers_word(env))
        points += [
            integral(
                f"{series + ', ' if several else ''}{count} worker{'s' if count > 1 else ''}",
                implementation=implementation,
                total=total,
                tasks=tasks,
                env=env,
                workers=count,
                settings=(
                    ("implementation", implementation),
                    ("environment", env),
                    ("workers", count),
                ),
                x=float(count),
                series=series,
            )
            for count in counts
        ]
    return Design(
        question="How much faster is the same work on more workers, and what holds it back?",
        axis=" or ".join(dict.fromkeys(words)),
        points=tuple(points),
        # Each series has its own: its point of fewest workers.
        baseline=None if several else points[0].label,
        fixed=tuple(fixed),
    )


def _total(chosen: Chosen, implementation: str) -> int:
    usual = PYTHON_STEPS if implementation == "python" else CYTHON_STEPS
    return chosen.number("total_steps") or usual


def _counts(chosen: Chosen, env: Environment, allocation: Allocation) -> tuple[int, ...]:
    given = chosen.numbers("workers")
    return tuple(
        within(w, env, allocation) for w in sorted(given) or doubling(allocation.usual(env))
    )


WORKERS_KIND = KindSpec(
    kind="workers",
    about="The same work on one worker, two, four and so on within the allocation.",
    options=(
        replace(
            WORKERS,
            help="Numbers of workers to compare, by default 1, 2, 4 and so on up to all",
            many=True,
        ),
        Option(
            name="implementation",
            help="Implementations of the loop, a curve each",
            choices=IMPLEMENTATIONS,
            many=True,
            default=IMPLEMENTATIONS,
        ),
        replace(
            TOTAL_STEPS,
            help=f"{TOTAL_STEPS.help}, by default {PYTHON_STEPS:,} in Python and "
            f"{CYTHON_STEPS:,} in Cython",
            default=(),
        ),
        replace(TASKS, help="Tasks, by default four for each of the most workers"),
        ENVIRONMENT,
    ),
    design=_design,
)
