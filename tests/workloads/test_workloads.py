from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dask
import pytest

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads import aggregates
from daskperf_tasks.workloads.aggregates import AGGREGATES
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.integrate import INTEGRATE
from daskperf_tasks.workloads.protocol import Workload


def compute(workload: Workload, params: dict[str, Any], units: int, seed: int) -> tuple[Any, ...]:
    built = workload.build(params, units=units, seed=seed)
    return tuple(
        dask.compute(*built.collections, scheduler="threads", optimize_graph=built.optimize_graph)
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("units", "per_task", "tasks"), [(1, 16, 1), (16, 16, 1), (17, 16, 2), (5, 1, 5)]
)
def test_aggregates_are_right(units: int, per_task: int, tasks: int) -> None:
    aggregates._reference.cache_clear()
    params = {"n": 24, "per_task": per_task}
    assert graph_facts(AGGREGATES.build(params, units=units, seed=3)).tasks == tasks
    results = compute(AGGREGATES, params, units, 3)
    checked = AGGREGATES.check(results, params, units=units, seed=3)
    assert checked.right_units == units
    assert "seed 3 equals the plain-Python reference" in checked.text


@pytest.mark.usefixtures("kernels")
def test_wrong_aggregates_are_found() -> None:
    params = {"n": 24}
    (task,) = compute(AGGREGATES, params, 3, 5)

    def check(*changed: Any, units: int = 3, seed: int = 5) -> None:
        AGGREGATES.check((list(changed),), params, units=units, seed=seed)

    check(*task)
    with pytest.raises(CorrectnessError, match="missing or one too many"):
        check(*task[:2])
    with pytest.raises(CorrectnessError, match="differs from its plain-Python"):
        check(*task, seed=4)
    with pytest.raises(CorrectnessError, match="plain-Python"):
        check((task[0][0] + 1e-12, task[0][1]), *task[1:])
    with pytest.raises(CorrectnessError, match="two seeds gave the same"):
        check(task[0], task[1], task[1])
    for radius in (100.0, 0.5, math.nan):
        with pytest.raises(CorrectnessError, match="radius of gyration"):
            check(task[0], (radius, task[1][1]), task[2])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [2, 3, 8, 400])
def test_the_bounds_hold_for_every_cluster(n: int) -> None:
    params = {"n": n}
    results = [[task] for task in aggregates.some_aggregates(n, 0, 1)]
    assert AGGREGATES.check(tuple(results), params, units=1, seed=0).right_units == 1


@pytest.mark.usefixtures("kernels")
def test_large_clusters_are_checked_by_invariants_and_say_so() -> None:
    results = compute(AGGREGATES, {"n": 600}, 2, 1)
    assert "too large" in AGGREGATES.check(results, {"n": 600}, units=2, seed=1).text


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("implementation", ["cython", "python"])
def test_integrals_are_pi(implementation: str) -> None:
    params = {"implementation": implementation, "steps": 2000}
    results = compute(INTEGRATE, params, 7, 0)
    assert len(results) == 7
    assert INTEGRATE.check(results, params, units=7, seed=0).right_units == 7


def test_wrong_integrals_are_found() -> None:
    right = (math.pi, math.pi)
    INTEGRATE.check(right, {}, units=2, seed=0)
    for wrong in ((math.pi,), (math.pi, 3.14), (math.pi, math.nan), (math.pi, "x")):
        with pytest.raises(CorrectnessError):
            INTEGRATE.check(wrong, {}, units=2, seed=0)


@pytest.mark.parametrize("workload", [AGGREGATES, INTEGRATE])
def test_equal_arguments_give_equal_work_in_one_layer(workload: Workload) -> None:
    built = [workload.build({}, units=40, seed=1) for _ in range(2)]
    keys = [[c.key for c in b.collections] for b in built]
    assert keys[0] == keys[1]
    graphs = {id(c.dask) for c in built[0].collections}
    assert len(graphs) == 1
    assert len(built[0].collections[0].dask.layers) == 1
    assert graph_facts(built[0]).tasks == len(built[0].collections[0].dask.to_dict())


@pytest.mark.parametrize("workload", [AGGREGATES, INTEGRATE])
def test_tasks_are_sent_by_reference(workload: Workload) -> None:
    import cloudpickle

    graph = workload.build({}, units=40, seed=1).collections[0].dask.to_dict()
    assert max(len(cloudpickle.dumps(task)) for task in graph.values()) < 400


def test_the_wheel_is_the_one_on_the_path(kernels: Path) -> None:
    import daskperf_kernels

    assert kernels in Path(daskperf_kernels.__file__).parents


@pytest.mark.usefixtures("kernels")
def test_the_limits_of_n_are_those_of_the_kernel() -> None:
    from daskperf_kernels import aggregate

    spec = AGGREGATES.params["n"]
    assert (spec.minimum, spec.maximum, spec.limits) == (2, 65_536, "2 to 65,536")
    with pytest.raises(ValueError, match="from 1 to 65536, found 65537"):
        aggregate(65_537, 0)
