"""Midpoint integrals whose result is pi: a pure, even load for threads and processes.

With ``implementation="cython"`` the loop runs without the GIL, with
``"python"`` it holds it: threads against processes shows the difference.

Version 2: the kernel adds in eight lanes, which more than halves its time and
moves the last bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec, TaskList
from daskperf_tasks.workloads.protocol import with_defaults as _full

_TOLERANCE = 1e-9
_PARAMS: Mapping[str, ParamSpec] = {
    "implementation": ParamSpec(kind=str, default="cython", choices=("cython", "python")),
    "steps": ParamSpec(kind=int, default=100_000, minimum=64, maximum=1_000_000_000),
}


def one_integral(steps: int, phase: float, implementation: str) -> float:
    """Return the integral over one period from ``phase`` on; runs where the task runs."""
    from daskperf_kernels import integrate

    return float(integrate(steps, phase, implementation))


@dataclass(frozen=True, slots=True)
class Integrate:
    """``units`` integrals with phases i / units, ``steps`` points each."""

    name: str = "integrate"
    version: int = 2
    unit: str = "integral"
    requires: tuple[str, ...] = ("daskperf_kernels",)

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Points of one integral, and the implementation of the loop."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 300 ns (Python) or 1.5 ns (Cython) a point."""
        full = _full(self, params)
        return float(full["steps"]) * (3e-7 if full["implementation"] == "python" else 1.5e-9)

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return one task a unit. The seed changes nothing: the phases are the inputs."""
        full = _full(self, params)
        arguments = tuple((full["steps"], i / units, full["implementation"]) for i in range(units))
        return TaskList(name="integrate", function=one_integral, arguments=arguments).built()

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare every integral with pi."""
        if len(results) != units:
            raise CorrectnessError(
                "integrate: a result is missing or one too many",
                expected=f"{units} integrals",
                found=str(len(results)),
            )
        for i, value in enumerate(results):
            if not isinstance(value, float) or not abs(value - math.pi) <= _TOLERANCE:
                raise CorrectnessError(
                    "integrate: an integral is not pi",
                    where=f"unit {i}, {dict(params)}",
                    expected=f"{math.pi!r} within {_TOLERANCE:g}",
                    found=repr(value),
                    todo="compare the two implementations of daskperf_kernels.integrate",
                )
        return Checked(right_units=units, text=f"every one of {units} results is pi within 1e-9")


INTEGRATE = Integrate()
