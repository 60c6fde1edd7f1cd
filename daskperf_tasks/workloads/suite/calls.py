"""Graphs of single calls: as ``dask.delayed`` makes them, or as one layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.protocol import Built, in_one_layer

#: The most calls that are made through ``dask.delayed``. Each is a layer of its own, and
#: to cull the graph Dask walks all wanted keys once a layer: 0.2 ms a task at 2,000 tasks,
#: 1.5 ms at 16,000 and ever more.
MOST_DELAYED = 20_000


def check_calls(workload: str, tasks: int, form: str) -> int:
    """Return the number of tasks if this form of the graph can hold them.

    Raises
    ------
    InputError
        When ``dask.delayed`` would take minutes to submit them.
    """
    if form == "optimized" and tasks > MOST_DELAYED:
        raise InputError(
            f"workload {workload!r}: too many calls for dask.delayed",
            expected=f'at most {MOST_DELAYED:,} tasks with graph = "optimized"',
            found=f"{tasks:,}",
            todo='say graph = "low-level", one layer without optimization as the paper had it',
        )
    return tasks


def times_ten(x: int) -> int:
    """Return ``10 x``: a task that does next to nothing."""
    return x * 10


def total(*numbers: int) -> int:
    """Return the sum."""
    return sum(numbers)


def merged(
    name: str, function: Callable[..., int], arguments: Sequence[tuple[Any, ...]], form: str
) -> Built:
    """Return one call of ``function`` for each tuple of arguments, and the sum of their results.

    The graph has n + 1 tasks and n arcs in both forms.
    """
    if form == "optimized":
        from dask import delayed

        call = delayed(function, pure=True)
        calls = [call(*args) for args in arguments]
        return Built(collections=(delayed(total, pure=True)(*calls),))
    from dask.base import tokenize

    layer = f"{name}-{tokenize(name, arguments)}"
    keys = [(layer, i) for i in range(len(arguments))]
    tasks: dict[Any, tuple[Any, ...]] = {
        key: (function, *args) for key, args in zip(keys, arguments, strict=True)
    }
    last = (f"total-{layer}", 0)
    tasks[last] = (total, *keys)
    return in_one_layer(layer, tasks, last)
