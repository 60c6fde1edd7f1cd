"""``merge_slow-n-t``: n tasks that each sleep for t seconds, into one: how small a task may be.

Böhm and Beránek 2020, Table I: n + 1 tasks, n arcs, longest path 1, with n of 5,000 and
20,000 and t of 0.01, 0.1 and 1 s; both forms have just that. See ``merge`` for the limit of
the form ``optimized``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.calls import check_calls, merged, times_ten
from daskperf_tasks.workloads.suite.merge import check_sum, sum_from

_PARAMS: Mapping[str, ParamSpec] = {
    "n": ParamSpec(kind=int, default=1_000, minimum=1, maximum=1_000_000),
    "t": ParamSpec(kind=float, default=0.01, minimum=0, maximum=60),
    "graph": GRAPH_PARAM,
}


def slowly(x: int, t: float) -> int:
    """Return ``10 x`` after ``t`` seconds in which the thread is free for nothing else."""
    time.sleep(t)
    return times_ten(x)


@dataclass(frozen=True, slots=True)
class MergeSlow:
    """The sum of ten times seed, seed + 1, ..., seed + n - 1; a task each, that sleeps first."""

    name: str = "merge_slow"
    version: int = 1
    unit: str = "task"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Tasks before the sum, seconds that each sleeps, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return t, for which a thread is taken, and what Dask needs for a task."""
        return float(_full(self, params)["t"]) + 3e-4

    def own_units(self, params: Params) -> int:
        """Return n."""
        full = _full(self, params)
        return check_calls(self.name, int(full["n"]), str(full["graph"]))

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the n tasks and their sum."""
        full = _full(self, params)
        n, t = self.own_units(params), float(full["t"])
        arguments = [(seed + i, t) for i in range(n)]
        return merged(self.name, slowly, arguments, str(full["graph"]))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sum with its closed form; nothing sleeps for it."""
        n = self.own_units(params)
        return check_sum(self.name, results, 10 * sum_from(seed, n), right_units=n)


MERGE_SLOW = MergeSlow()
