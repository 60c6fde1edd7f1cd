"""Threads, processes and a real cluster: compute as the environments of a run do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.multiprocessing

from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.run.pools import TimedProcessPool
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.protocol import Workload
from tests.dask_cluster import start_cluster

ENVIRONMENTS = ("threads", "processes", "cluster")
#: Workload, its parameters and a seed to its results.
Compute = Callable[[Workload, dict[str, Any], int], tuple[Any, ...]]


def on_threads(workload: Workload, params: dict[str, Any], seed: int = 0) -> tuple[Any, ...]:
    built = workload.build(params, units=units(workload, params), seed=seed)
    options = {"scheduler": "threads", "num_workers": 2, "optimize_graph": built.optimize_graph}
    return tuple(dask.compute(*built.collections, **options))


def facts(workload: Workload, params: dict[str, Any], seed: int = 0) -> GraphFacts:
    return graph_facts(workload.build(params, units=units(workload, params), seed=seed))


def units(workload: Any, params: dict[str, Any]) -> int:
    return int(workload.own_units(params))


def check(workload: Workload, results: Any, params: dict[str, Any], seed: int = 0) -> str:
    """Check the results and return what they were compared with."""
    count = units(workload, params)
    checked = workload.check(results, params, units=count, seed=seed)
    assert checked.right_units == count
    return checked.text


@contextlib.contextmanager
def environment(kind: str, folder: Path) -> Iterator[Compute]:
    """Open one; two workers of one thread each."""
    if kind == "threads":
        yield on_threads
    elif kind == "processes":
        yield from _processes()
    else:
        yield from _cluster(folder)


def _processes() -> Iterator[Compute]:
    pool = TimedProcessPool(2)

    def compute(workload: Workload, params: dict[str, Any], seed: int) -> tuple[Any, ...]:
        built = workload.build(params, units=units(workload, params), seed=seed)
        get = partial(dask.multiprocessing.get, optimize_graph=built.optimize_graph)
        options = {"pool": pool, "chunksize": 1, "optimize_graph": built.optimize_graph}
        return tuple(dask.compute(*built.collections, scheduler=get, **options))

    try:
        yield compute
    finally:
        pool.shutdown()


def _cluster(folder: Path) -> Iterator[Compute]:
    from distributed import Client

    cluster = start_cluster(folder, workers=2, nthreads=1)
    try:
        with Client(cluster.address, set_as_default=False) as client:

            def compute(workload: Workload, params: dict[str, Any], seed: int) -> tuple[Any, ...]:
                with client.as_current():
                    built = workload.build(params, units=units(workload, params), seed=seed)
                futures = client.compute(
                    built.collections, optimize_graph=built.optimize_graph, traverse=False
                )
                return tuple(client.gather(futures))

            yield compute
    finally:
        cluster.stop()
