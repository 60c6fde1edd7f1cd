"""What all workloads on arrays must do, everywhere and in both forms of their graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.arrays.chunked_means import CHUNKED_MEANS
from daskperf_tasks.workloads.arrays.rechunk import RECHUNK
from daskperf_tasks.workloads.arrays.sliding_window import SLIDING_WINDOW
from daskperf_tasks.workloads.arrays.stencil import STENCIL
from daskperf_tasks.workloads.protocol import Workload
from tests.workloads.patterns.environments import Compute, check, facts, on_threads

SMALL: list[tuple[Any, dict[str, Any]]] = [
    (STENCIL, {"size": 50, "chunk": 20, "steps": 3}),
    (RECHUNK, {"size": 60, "chunk": 17}),
    (SLIDING_WINDOW, {"length": 500, "chunk": 90, "window": 12}),
    (CHUNKED_MEANS, {"size": 90, "chunk": 40}),
]
LEAST: list[tuple[Any, dict[str, Any]]] = [
    (STENCIL, {"size": 1, "chunk": 1, "steps": 1}),
    (RECHUNK, {"size": 1, "chunk": 1}),
    (SLIDING_WINDOW, {"length": 1, "chunk": 1, "window": 1}),
    (CHUNKED_MEANS, {"size": 1, "chunk": 1}),
]
ALL = [workload for workload, _ in SMALL]
ids = [workload.name for workload in ALL]


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
@pytest.mark.parametrize(("workload", "params"), SMALL, ids=ids)
def test_right_everywhere_in_both_forms(
    compute: Compute, workload: Workload, params: dict[str, Any], graph: str
) -> None:
    full = params | {"graph": graph}
    for seed in (0, 11):
        assert check(workload, compute(workload, full, seed), full, seed)


@pytest.mark.parametrize(("workload", "params"), LEAST, ids=ids)
def test_the_smallest(workload: Workload, params: dict[str, Any]) -> None:
    for seed in (0, 1, 10**15 - 1):
        check(workload, on_threads(workload, params, seed), params, seed)


@pytest.mark.parametrize(("workload", "params"), SMALL, ids=ids)
def test_the_results_of_other_work_are_refused(workload: Workload, params: dict[str, Any]) -> None:
    results = on_threads(workload, params, 4)
    check(workload, results, params, 4)
    with pytest.raises(CorrectnessError):
        check(workload, results, params, 5)
    for wrong in ((), (*results, *results), (None,) * len(results), tuple(r + 1 for r in results)):
        with pytest.raises(CorrectnessError):
            check(workload, wrong, params, 4)
    with pytest.raises(CorrectnessError, match="another number of units"):
        workload.check(results, params, units=1, seed=4)


@pytest.mark.parametrize(("workload", "params"), SMALL, ids=ids)
def test_results_are_small_and_graphs_named_by_their_form(
    workload: Workload, params: dict[str, Any]
) -> None:
    assert sum(np.asarray(r).nbytes for r in on_threads(workload, params)) <= 8 * 90
    optimized = facts(workload, params)
    low_level = facts(workload, params | {"graph": "low-level"})
    assert (optimized.form, low_level.form) == ("optimized", "low-level")
    assert optimized.tasks < low_level.tasks
    assert optimized.longest_path < low_level.longest_path


@pytest.mark.parametrize(("workload", "params"), SMALL, ids=ids)
def test_equal_arguments_give_equal_keys(workload: Workload, params: dict[str, Any]) -> None:
    keys = [
        [c.__dask_keys__() for c in workload.build(params, units=1, seed=seed).collections]
        for seed in (1, 1, 2)
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("workload", [STENCIL, RECHUNK, SLIDING_WINDOW])
def test_all_chunks_give_the_same_result(workload: Any) -> None:
    params = next(p for w, p in SMALL if w is workload)
    results = {
        tuple(map(int, on_threads(workload, params | {"chunk": chunk})))
        for chunk in (7, 25, 60, 900)
    }
    assert len(results) == 1


@pytest.mark.parametrize(
    ("workload", "params", "says"),
    [
        (STENCIL, {"size": 66, "chunk": 1}, "4,356"),
        (RECHUNK, {"size": 513, "chunk": 1}, "513"),
        (SLIDING_WINDOW, {"length": 10, "window": 11}, "window 11, length 10"),
        (SLIDING_WINDOW, {"length": 10_001, "chunk": 1}, "10,001"),
        (CHUNKED_MEANS, {"size": 257, "chunk": 1}, "66,049"),
    ],
)
def test_parameters_that_do_not_fit_together(
    workload: Any, params: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match="do not fit together") as caught:
        workload.own_units(params)
    assert says in str(caught.value)


@pytest.mark.parametrize("workload", ALL, ids=ids)
def test_parameters_out_of_their_limits(workload: Workload) -> None:
    for name, spec in workload.params.items():
        assert spec.check(spec.default) == spec.default
        for value in ("low", 1.5) if name == "graph" else (0, -1, 10**12, 1.5, True, "x"):
            with pytest.raises(ValueError):
                spec.check(value)


@pytest.mark.parametrize("workload", ALL, ids=ids)
def test_estimates_and_units(workload: Any) -> None:
    assert workload.unit_cost_s({}) * workload.own_units({}) < 60
    assert workload.unit_cost_s({}) > 0
    assert workload.requires == ()
