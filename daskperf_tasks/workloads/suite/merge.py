"""``merge-n``: n independent trivial tasks into one; the scheduler's overhead and little else.

Böhm and Beránek 2020, Table I: n + 1 tasks, n arcs, longest path 1; both forms have just
that. The paper made the calls with ``dask.delayed``, as the form ``optimized`` does; to
optimize so many layers takes today's Dask time in the square of n, so that the paper's
sizes (to 100,000) need ``graph = "low-level"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.calls import check_calls, merged, times_ten

_PARAMS: Mapping[str, ParamSpec] = {
    "n": ParamSpec(kind=int, default=1_000, minimum=1, maximum=1_000_000),
    "graph": GRAPH_PARAM,
}


@dataclass(frozen=True, slots=True)
class Merge:
    """The sum of ten times seed, seed + 1, ..., seed + n - 1, a task each."""

    name: str = "merge"
    version: int = 1
    unit: str = "task"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Tasks before the sum, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time that Dask needs for a task; the task itself takes none."""
        return 3e-4

    def own_units(self, params: Params) -> int:
        """Return n."""
        full = _full(self, params)
        return check_calls(self.name, int(full["n"]), str(full["graph"]))

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the n tasks and their sum."""
        n = self.own_units(params)
        arguments = [(seed + i,) for i in range(n)]
        return merged(self.name, times_ten, arguments, str(_full(self, params)["graph"]))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sum with its closed form."""
        n = self.own_units(params)
        return check_sum(self.name, results, 10 * sum_from(seed, n), right_units=n)


def sum_from(first: int, count: int) -> int:
    """Return first + (first + 1) + ..., ``count`` terms.

    Examples
    --------
    >>> sum_from(3, 4)
    18
    """
    return count * first + count * (count - 1) // 2


def check_sum(name: str, results: tuple[Any, ...], expected: int, *, right_units: int) -> Checked:
    """Compare the only result with a sum of integers.

    Raises
    ------
    CorrectnessError
        When it is another one.
    """
    if len(results) != 1 or type(results[0]) is not int or results[0] != expected:
        raise CorrectnessError(
            f"{name}: the sum is wrong",
            expected=str(expected),
            found=repr(results)[:200],
        )
    return Checked(right_units=right_units, text=f"the sum is that of its closed form, {expected}")


MERGE = Merge()
