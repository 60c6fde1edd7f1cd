"""Other values of the parameter ``n`` than a matrix has, within the workloads' own limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.plan.known import Registry
from daskperf_tasks.plan.limits import CELLS, shown
from daskperf_tasks.plan.matrix import WorkloadRow

_WHERE = "--n, or n in the form"


def with_n(
    rows: tuple[WorkloadRow, ...], n: Sequence[int], registry: Registry
) -> tuple[WorkloadRow, ...]:
    """Return the tables with ``n`` in those whose workload has such a parameter.

    Raises
    ------
    InputError
        When no workload has one, or a value is out of a workload's limits.
    """
    takes = [row for row in rows if "n" in registry[row.name].params]
    if not takes:
        raise InputError(
            "option n says nothing: no workload of this matrix has a parameter n",
            where=_WHERE,
            expected="a matrix with a workload that has it",
            found=f"workloads {', '.join(sorted({row.name for row in rows}))}"
            if rows
            else "experiments only",
            todo="leave it out, or choose another matrix",
        )
    if not 0 < len(n) <= CELLS:
        raise InputError(
            "option n is out of its limits",
            where=_WHERE,
            expected=f"1 to {CELLS:,} values",
            found=f"{len(n):,} values",
        )
    changed = []
    for row in rows:
        if row not in takes:
            changed.append(row)
            continue
        values = tuple(dict.fromkeys(_checked(row, v, registry) for v in n))
        twins = [r for r in takes if _alike(r, row)]
        mine = tuple(v for v in values if _nearest(v, twins, registry) is row)
        if mine:
            others = tuple(p for p in row.params if p[0] != "n")
            changed.append(replace(row, params=tuple(sorted((*others, ("n", mine))))))
    return tuple(changed)


def _checked(row: WorkloadRow, value: int, registry: Registry) -> Scalar:
    spec = registry[row.name].params["n"]
    try:
        return spec.check(value)
    except ValueError as err:
        raise InputError(
            f"option n is out of the limits of workload {row.name!r}: {err}",
            where=_WHERE,
            expected=spec.limits or None,
            found=shown(value),
        ) from err


def _alike(one: WorkloadRow, other: WorkloadRow) -> bool:
    """Whether two tables measure the same cells once their ``n`` is the same."""

    def rest(row: WorkloadRow) -> object:
        params = tuple(p for p in row.params if p[0] != "n")
        return row.name, params, frozenset(row.places())

    return rest(one) == rest(other)


def _nearest(value: Scalar, rows: Sequence[WorkloadRow], registry: Registry) -> WorkloadRow:
    """Return the table whose own ``n`` is nearest by ratio: its ``units`` fit best."""

    def distance(row: WorkloadRow) -> float:
        own = dict(row.params).get("n", (registry[row.name].params["n"].default,))
        return min((_apart(value, o) for o in own), default=math.inf)

    return min(rows, key=distance)


def _apart(one: Scalar, other: Scalar) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return 0.0 if one == other else 1.0
    if one <= 0 or other <= 0:
        return abs(one - other)
    return abs(math.log(one / other))
