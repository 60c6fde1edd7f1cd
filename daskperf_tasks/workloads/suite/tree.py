"""``tree-e``: 2^e integers added pair by pair: short tasks, each waiting for two others.

Böhm and Beránek 2020, Table I: tree-15 has 32,767 tasks, 32,766 arcs, longest path 14; with
``graph = "low-level"`` it has just that. So has ``optimized``, but its calls of
``dask.delayed`` go to e = 14 only, as Dask's time to optimize them grows in their square.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec, in_one_layer
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.calls import check_calls
from daskperf_tasks.workloads.suite.merge import check_sum, sum_from

_PARAMS: Mapping[str, ParamSpec] = {
    "e": ParamSpec(kind=int, default=10, minimum=1, maximum=20),
    "graph": GRAPH_PARAM,
}


def added(x: int, y: int) -> int:
    """Return the sum of two integers."""
    return x + y


@dataclass(frozen=True, slots=True)
class Tree:
    """The sum of seed, seed + 1, ..., seed + 2^e - 1 in a balanced binary tree."""

    name: str = "tree"
    version: int = 1
    unit: str = "addition"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Levels of the tree, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time that Dask needs for a task; the addition takes none."""
        return 3e-4

    def own_units(self, params: Params) -> int:
        """Return 2^e - 1."""
        full = _full(self, params)
        return check_calls(self.name, 2 ** int(full["e"]) - 1, str(full["graph"]))

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return one task an addition; those of the first level add two integers."""
        full = _full(self, params)
        leaves = range(seed, seed + self.own_units(params) + 1)
        return _delayed(leaves) if full["graph"] == "optimized" else _one_layer(leaves)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sum with its closed form."""
        additions = self.own_units(params)
        expected = sum_from(seed, additions + 1)
        return check_sum(self.name, results, expected, right_units=additions)


def _delayed(leaves: range) -> Built:
    from dask import delayed

    add = delayed(added, pure=True)
    level: list[Any] = list(leaves)
    while len(level) > 1:
        level = [add(x, y) for x, y in zip(level[::2], level[1::2], strict=True)]
    return Built(collections=(level[0],))


def _one_layer(leaves: range) -> Built:
    layer = f"tree-{leaves.start}-{len(leaves)}"
    tasks: dict[Any, tuple[Any, ...]] = {}
    level: list[Any] = list(leaves)
    height = 0
    while len(level) > 1:
        keys = [(layer, height, i) for i in range(len(level) // 2)]
        pairs = zip(level[::2], level[1::2], strict=True)
        tasks.update((key, (added, *pair)) for key, pair in zip(keys, pairs, strict=True))
        level, height = keys, height + 1
    return in_one_layer(layer, tasks, level[0])


TREE = Tree()
