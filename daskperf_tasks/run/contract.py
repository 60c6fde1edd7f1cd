"""What a workload gives back, held against the protocol: no nonsense reaches a sample."""

from __future__ import annotations

import operator
from typing import Any

from daskperf_tasks.errors import ProductError
from daskperf_tasks.model.plan import Request
from daskperf_tasks.workloads.protocol import Built, Checked, Workload

_SHOWN = 200
_TEXT = 2000


def built_by(workload: Workload, request: Request) -> Built:
    """Let a workload build the work of one repeat.

    Raises
    ------
    ProductError
        When what it returns cannot be computed.
    """
    from dask.base import is_dask_collection

    built: Any = workload.build(dict(request.params), units=request.units, seed=request.seed)
    if not isinstance(built, Built):
        raise _broken(workload, "build", "Built(collections=...)", _shown(built))
    if not isinstance(built.collections, tuple) or not built.collections:
        expected = "Built with a tuple of at least one collection"
        raise _broken(workload, "build", expected, f"collections = {_shown(built.collections)}")
    for i, one in enumerate(built.collections):
        if not is_dask_collection(one):
            found = f"collections[{i}] is {_shown(one)}"
            raise _broken(workload, "build", "Dask collections", found)
    return built


def checked_by(workload: Workload, results: tuple[Any, ...], request: Request) -> Checked:
    """Let a workload check the results of one repeat.

    Raises
    ------
    ProductError
        When it does not say how many of the units are right.
    CorrectnessError
        From the workload: the result is wrong.
    """
    checked: Any = workload.check(
        results, dict(request.params), units=request.units, seed=request.seed
    )
    if not isinstance(checked, Checked) or not isinstance(checked.text, str):
        expected = "Checked(right_units=..., text='...')"
        raise _broken(workload, "check", expected, _shown(checked))
    try:
        right = operator.index(checked.right_units)
    except TypeError:
        right = -1
    if not 0 <= right <= request.units:
        raise _broken(
            workload,
            "check",
            f"right_units as a whole number from 0 to {request.units}, the units of the request",
            _shown(checked.right_units),
        )
    return Checked(right_units=right, text=checked.text[:_TEXT])


def _broken(workload: Workload, method: str, expected: str, found: str) -> ProductError:
    return ProductError(
        f"{method} of workload {workload.name!r} returned something else than it must",
        expected=expected,
        found=found,
        todo="docs/workloads.md states what a workload returns",
    )


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as err:
        text = f"a {type(value).__name__} whose repr raises {type(err).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
