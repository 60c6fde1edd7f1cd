"""What the tests of the dataframe and text workloads share."""

from __future__ import annotations

from typing import Any

import dask

from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.protocol import Checked, Workload

Params = dict[str, Any]


def compute(
    workload: Workload, params: Params, seed: int, *, scheduler: str | None = "threads"
) -> tuple[Any, ...]:
    """The results of one repeat; the scheduler None is the current client."""
    built = workload.build(params, units=units_of(workload, params), seed=seed)
    results = dask.compute(
        *built.collections,
        scheduler=scheduler,
        optimize_graph=built.optimize_graph,
        traverse=False,
        num_workers=2,
    )
    return tuple(results)


def check(workload: Workload, results: tuple[Any, ...], params: Params, seed: int) -> Checked:
    return workload.check(results, params, units=units_of(workload, params), seed=seed)


def facts(workload: Workload, params: Params) -> GraphFacts:
    return graph_facts(workload.build(params, units=units_of(workload, params), seed=0))


def shape(workload: Workload, params: Params) -> tuple[int, int, int]:
    """Tasks, arcs and longest path, as the paper's table has them."""
    found = facts(workload, params)
    return found.tasks, found.arcs, found.longest_path


def units_of(workload: Any, params: Params) -> int:
    return int(workload.own_units(params))
