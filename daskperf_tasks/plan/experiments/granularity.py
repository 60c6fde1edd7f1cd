"""``granularity``: how small may tasks be that keep half of the peak throughput?"""

from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import (
    ENVIRONMENT,
    WORKERS,
    Design,
    KindSpec,
    Wanted,
    within,
)
from daskperf_tasks.plan.experiments.option import Chosen, Option
from daskperf_tasks.plan.limits import Limits

_WIDTH = Limits(low=1, high=100_000)
_GRAIN = Limits(low=1, high=1_000_000)


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    patterns = chosen.words("pattern")
    (kernel,) = chosen.words("kernel")
    env = chosen.environment("local")
    # Without a wish all workers, whatever their number: the cells then do without it in
    # their ids, as those of other matrices do.
    given = chosen.number("workers")
    workers = None if given is None else within(given, env, allocation)
    width, steps = chosen.number("width") or 0, chosen.number("steps") or 0
    several = len(patterns) > 1
    fixed: list[tuple[str, Scalar]] = [("kernel", kernel), ("width", width), ("steps", steps)]
    fixed += [] if several else [("pattern", patterns[0])]
    fixed += [("environment", env), ("workers", "all" if workers is None else workers)]
    return Design(
        question="How small may tasks be that still keep half of the peak throughput?",
        axis="iterations a task",
        points=tuple(
            Wanted(
                label=f"{pattern}, grain {grain}" if several else f"grain {grain}",
                settings=(
                    ("pattern", pattern),
                    ("kernel", kernel),
                    ("width", width),
                    ("steps", steps),
                    ("grain", grain),
                ),
                x=float(grain),
                series=pattern if several else "",
                workload="pattern",
                params=(
                    ("grain", grain),
                    ("kernel", kernel),
                    ("pattern", pattern),
                    ("steps", steps),
                    ("width", width),
                ),
                env=env,
                workers=workers,
            )
            for pattern in patterns
            for grain in sorted(chosen.numbers("grain"))
        ),
        fixed=tuple(fixed),
    )


GRANULARITY = KindSpec(
    kind="granularity",
    about="A sweep over the size of tasks: the minimum effective task granularity.",
    options=(
        Option(
            name="pattern",
            help="Dependence patterns, a curve each",
            many=True,
            default=("stencil",),
        ),
        Option(name="kernel", help="What a task does", default=("compute",)),
        Option(
            name="grain",
            help="Iterations of the kernel in a task, to compare",
            limits=_GRAIN,
            many=True,
            default=(16, 64, 256, 512, 1024, 2048, 4096, 8192),
        ),
        Option(name="width", help="Tasks of a step", limits=_WIDTH, default=(8,)),
        Option(name="steps", help="Steps of the graph", limits=_WIDTH, default=(12,)),
        replace(ENVIRONMENT, help="Where it runs", default=("local",)),
        WORKERS,
    ),
    design=_design,
)
