"""What planning must know of workloads; the registry's workloads fit it."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Protocol

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.plan import limits


class KnownParam(Protocol):
    """A parameter that a workload takes."""

    def check(self, value: object) -> Scalar:
        """Return the value as the workload takes it, or raise ``ValueError`` in words."""
        ...

    @property
    def default(self) -> Scalar:
        """Taken when a matrix does not give it."""
        ...

    @property
    def limits(self) -> str:
        """The limits of a number in words; empty when it has none."""
        ...


class KnownWorkload(Protocol):
    """A workload as far as a plan needs it."""

    @property
    def name(self) -> str:
        """Name in matrix files and cell ids."""
        ...

    @property
    def version(self) -> int:
        """A changed workload starts a new series."""
        ...

    @property
    def params(self) -> Mapping[str, KnownParam]:
        """The parameters it takes."""
        ...

    def unit_cost_s(self, params: Mapping[str, Scalar]) -> float:
        """Return roughly the CPU seconds of one unit, for estimates only."""
        ...


def own_units(workload: KnownWorkload, params: Mapping[str, Scalar]) -> int | None:
    """Return how many units the parameters make; None when the matrix has to say it.

    Parameters
    ----------
    workload
        May have a method ``own_units(params)``.
    params
        As the matrix gives them; the workload fills in its defaults.

    Raises
    ------
    InputError
        When they do not fit together, or the workload counts to no whole number.
    """
    counting = getattr(workload, "own_units", None)
    if counting is None:
        return None
    counted = counting(params)
    try:
        units = 0 if isinstance(counted, bool) else operator.index(counted)
    except TypeError:
        units = 0
    if not 0 < units <= _MOST_UNITS:
        raise InputError(
            f"own_units of workload {workload.name!r} counts no units",
            expected="a whole number from 1 to 10^18",
            found=limits.shown(counted),
        )
    return units


def unit_cost_s(workload: KnownWorkload, params: Mapping[str, Scalar]) -> float:
    """Return a workload's own guess of the CPU seconds of a unit.

    Raises
    ------
    InputError
        When it is no number of seconds.
    """
    cost: object = workload.unit_cost_s(params)
    seconds = isinstance(cost, int | float) and not isinstance(cost, bool)
    if not seconds or not 0 <= cost < math.inf:  # type: ignore[operator]  # a number by then
        raise InputError(
            f"unit_cost_s of workload {workload.name!r} is no time",
            expected="seconds, 0 or more",
            found=limits.shown(cost),
        )
    return float(cost)  # type: ignore[arg-type]


#: What a column of whole numbers can hold, rounded down.
_MOST_UNITS = 10**18
Registry = Mapping[str, KnownWorkload]
