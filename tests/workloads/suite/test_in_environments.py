"""All workloads of the suite by threads, by processes and on a cluster of two workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Client

from daskperf_tasks.workloads.graphs import materialized
from daskperf_tasks.workloads.suite.bag import BAG
from daskperf_tasks.workloads.suite.groupby import GROUPBY
from daskperf_tasks.workloads.suite.join import JOIN
from daskperf_tasks.workloads.suite.merge import MERGE
from daskperf_tasks.workloads.suite.merge_slow import MERGE_SLOW
from daskperf_tasks.workloads.suite.numpy_transpose import NUMPY
from daskperf_tasks.workloads.suite.tree import TREE
from daskperf_tasks.workloads.suite.vectorizer import VECTORIZER
from daskperf_tasks.workloads.suite.wordbag import WORDBAG
from daskperf_tasks.workloads.suite.xarray_grid import XARRAY
from tests.dask_cluster import start_cluster
from tests.workloads.suite.frames_and_texts import Params, check, compute

FRAME = {"freq": "2min", "partition": "4h"}
TEXT = {"n": 12, "p": 3, "words": 30}
#: Those that run in both forms of their graphs.
BOTH: list[tuple[Any, Params]] = [
    (MERGE, {"n": 20}),
    (MERGE_SLOW, {"n": 6, "t": 0.0}),
    (TREE, {"e": 4}),
    (BAG, {"n": 30, "p": 3}),
    (NUMPY, {"size": 60, "p": 3}),
    (XARRAY, {"steps": 40, "c": 25}),
    (GROUPBY, FRAME),
    (JOIN, FRAME),
]
CELLS = [
    pytest.param(workload, params | {"graph": graph}, id=f"{workload.name}-{graph}")
    for workload, params in BOTH
    for graph in ("optimized", "low-level")
] + [
    pytest.param(VECTORIZER, TEXT, id="vectorizer"),
    pytest.param(WORDBAG, TEXT, id="wordbag"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    cluster = start_cluster(tmp_path_factory.mktemp("suite"), workers=2, nthreads=1)
    try:
        with Client(cluster.address, set_as_default=False) as client:
            yield client
    finally:
        cluster.stop()


@pytest.mark.parametrize(("workload", "params"), CELLS)
@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_on_this_machine(workload: Any, params: Params, scheduler: str) -> None:
    for seed in (0, 7) if scheduler == "threads" else (7,):
        results = compute(workload, params, seed, scheduler=scheduler)
        assert check(workload, results, params, seed).right_units == workload.own_units(params)


@pytest.mark.parametrize(("workload", "params"), CELLS)
def test_on_a_cluster(client: Client, workload: Any, params: Params) -> None:
    for seed in (0, 7):
        with client.as_current():
            results = compute(workload, params, seed, scheduler=None)
        assert check(workload, results, params, seed).right_units == workload.own_units(params)


def test_a_cluster_s_join_is_peer_to_peer_unless_it_is_that_of_the_paper(client: Client) -> None:
    def keys(graph: str) -> str:
        with client.as_current():
            return str(set(materialized(JOIN.build(FRAME | {"graph": graph}, units=1, seed=0))))

    assert "p2p" in keys("optimized")
    assert "p2p" not in keys("low-level")
    assert "taskshuffle" in keys("low-level")
