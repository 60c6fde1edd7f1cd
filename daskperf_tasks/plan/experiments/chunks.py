"""``chunks``: column means of one array in small, middling and large chunks."""

from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import (
    ENVIRONMENT,
    WORKERS,
    Design,
    KindSpec,
    Wanted,
    one_number_of_workers,
)
from daskperf_tasks.plan.experiments.option import Chosen, Option, OptionError
from daskperf_tasks.plan.limits import Limits

_EDGE = Limits(low=1, high=100_000)
#: Bytes of a number of the array.
_ITEM = 8


def _design(chosen: Chosen, allocation: Allocation) -> Design:
    size = chosen.number("size") or 0
    env = chosen.environment("threads")
    workers = one_number_of_workers(chosen, env, allocation)
    points = []
    for chunk in sorted(chosen.numbers("chunk")):
        if chunk > size:
            raise OptionError("chunk", f"'chunk' is {chunk:,}: the array has only {size:,} a side")
        mib = chunk**2 * _ITEM / 2**20
        points.append(
            Wanted(
                label=f"{chunk} x {chunk}",
                settings=(("chunk", chunk), ("partitions", (-(-size // chunk)) ** 2)),
                x=mib,
                workload="chunked-means",
                params=(("chunk", chunk), ("size", size)),
                env=env,
                workers=workers,
            )
        )
    return Design(
        question="Which chunks give enough parallel work without a very large graph or too much "
        "memory?",
        axis="MiB a chunk",
        points=tuple(points),
        fixed=(
            ("size", size),
            ("array_mib", size**2 * _ITEM / 2**20),
            ("environment", env),
            ("workers", workers),
        ),
    )


CHUNKS = KindSpec(
    kind="chunks",
    about="Column means of one array in chunks of several sizes: graph, time and memory.",
    options=(
        Option(
            name="chunk",
            help="Edges of the square chunks to compare",
            limits=_EDGE,
            many=True,
            default=(250, 1000, 4000),
        ),
        Option(name="size", help="Edge of the square array", limits=_EDGE, default=(8000,)),
        replace(ENVIRONMENT, help="Where it runs", default=("threads",)),
        WORKERS,
    ),
    design=_design,
)
