from __future__ import annotations

from typing import Any

import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite.calls import MOST_DELAYED
from daskperf_tasks.workloads.suite.merge import MERGE
from daskperf_tasks.workloads.suite.merge_slow import MERGE_SLOW
from daskperf_tasks.workloads.suite.tree import TREE
from tests.workloads.suite.frames_and_texts import check, compute, facts, shape

FORMS = ["optimized", "low-level"]
SEEDS = [0, 1, 10**15 - 1]


@pytest.mark.parametrize("workload", [MERGE, MERGE_SLOW, TREE])
def test_they_are_workloads(workload: Any) -> None:
    assert isinstance(workload, Workload)
    assert workload.unit_cost_s({}) > 0
    assert workload.own_units({}) == {"tree": 1023}.get(workload.name, 1000)


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [1, 2, 37])
def test_merge_sums_ten_times_each(graph: str, seed: int, n: int) -> None:
    expected = sum(10 * (seed + i) for i in range(n))
    for workload, params in ((MERGE, {"n": n}), (MERGE_SLOW, {"n": n, "t": 0.0})):
        full = params | {"graph": graph}
        results = compute(workload, full, seed)
        assert results == (expected,)
        assert check(workload, results, full, seed).right_units == n


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("e", [1, 2, 6])
def test_a_tree_sums_its_leaves(graph: str, seed: int, e: int) -> None:
    params = {"e": e, "graph": graph}
    results = compute(TREE, params, seed)
    assert results == (sum(range(seed, seed + 2**e)),)
    assert check(TREE, results, params, seed).right_units == 2**e - 1


@pytest.mark.parametrize("workload", [MERGE, MERGE_SLOW, TREE])
def test_a_wrong_sum_is_refused(workload: Any) -> None:
    params = {"e": 3} if workload is TREE else {"n": 8}
    (right,) = compute(workload, params, 3)
    check(workload, (right,), params, 3)
    for wrong in ((right + 1,), (float(right),), (), (right, right), (None,), ("3",)):
        with pytest.raises(CorrectnessError, match="the sum is wrong"):
            check(workload, wrong, params, 3)
    with pytest.raises(CorrectnessError):
        check(workload, (right,), params, 4)


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("n", [1, 10, 500])
def test_merge_has_the_graph_of_the_paper(graph: str, n: int) -> None:
    assert shape(MERGE, {"n": n, "graph": graph}) == (n + 1, n, 1)
    assert shape(MERGE_SLOW, {"n": n, "t": 0.1, "graph": graph}) == (n + 1, n, 1)
    assert facts(MERGE, {"n": n, "graph": graph}).form == graph


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("e", [1, 2, 9])
def test_a_tree_has_an_addition_a_task(graph: str, e: int) -> None:
    assert shape(TREE, {"e": e, "graph": graph}) == (2**e - 1, 2**e - 2, e - 1)


def test_tree_15_has_the_graph_of_the_paper() -> None:
    assert shape(TREE, {"e": 15, "graph": "low-level"}) == (32_767, 32_766, 14)


def test_the_low_level_form_is_one_layer() -> None:
    for workload, params in ((MERGE, {"n": 50}), (TREE, {"e": 5})):
        built = workload.build(params | {"graph": "low-level"}, units=1, seed=0)
        assert len(built.collections[0].dask.layers) == 1
        assert not built.optimize_graph


@pytest.mark.parametrize("graph", FORMS)
def test_equal_arguments_give_equal_keys(graph: str) -> None:
    for workload, params in ((MERGE, {"n": 9}), (MERGE_SLOW, {"n": 9}), (TREE, {"e": 3})):

        def key(seed: int, workload: Workload = workload, given: dict[str, int] = params) -> object:
            built = workload.build(given | {"graph": graph}, units=1, seed=seed)
            return built.collections[0].key

        assert key(1) == key(1)
        assert key(1) != key(2)


def test_too_many_calls_of_delayed_are_refused_before_they_are_made() -> None:
    for workload, params in ((MERGE, {"n": MOST_DELAYED + 1}), (TREE, {"e": 15})):
        for ask in (workload.own_units, lambda p, w=workload: w.build(p, units=1, seed=0)):
            with pytest.raises(InputError, match="too many calls") as caught:
                ask(params)
            assert "low-level" in str(caught.value)
        assert workload.own_units(params | {"graph": "low-level"}) > MOST_DELAYED


@pytest.mark.parametrize(
    ("workload", "name", "wrong"),
    [
        (MERGE, "n", 0),
        (MERGE, "n", -1),
        (MERGE, "n", 1.5),
        (MERGE, "n", 10**7),
        (MERGE, "graph", "fused"),
        (MERGE_SLOW, "t", -0.1),
        (MERGE_SLOW, "t", float("nan")),
        (MERGE_SLOW, "t", 3600),
        (TREE, "e", 0),
        (TREE, "e", 21),
        (TREE, "e", "3"),
    ],
)
def test_bad_parameters_are_refused(workload: Any, name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"below|above|type|none of|finite"):
        workload.params[name].check(wrong)
