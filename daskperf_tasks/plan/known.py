"""What planning must know of workloads; the registry's workloads fit it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from daskperf_tasks.model.ids import Scalar


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
    """
    counted = getattr(workload, "own_units", None)
    return None if counted is None else int(counted(params))


Registry = Mapping[str, KnownWorkload]
