from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Workload, libraries_of
from daskperf_tasks.workloads.suite.grid import LATITUDES, LONGITUDES, air_block
from daskperf_tasks.workloads.suite.xarray_grid import XARRAY
from tests.workloads.suite.frames_and_texts import check, compute, shape

FORMS = ["optimized", "low-level"]
COLUMNS = LATITUDES * LONGITUDES


def by_xarray(steps: int, seed: int) -> float:
    """The same question to one array in memory, as the paper wrote it."""
    values = air_block(seed, steps, (0, LATITUDES), (0, LONGITUDES)).astype(float)
    times = pd.date_range("2013-01-01", periods=steps, freq="6h")
    air = xarray.DataArray(values, dims=("time", "lat", "lon"), coords={"time": times})
    weeks = air.groupby(air.time.dt.isocalendar().week)
    return float(abs(weeks - weeks.mean("time")).sum())


def test_it_is_a_workload() -> None:
    assert isinstance(XARRAY, Workload)
    assert libraries_of(XARRAY) == ("xarray",)
    assert XARRAY.own_units({}) == 2920 * 25 * 53
    assert XARRAY.unit_cost_s({}) > 0


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("seed", [0, 10**15 - 1])
@pytest.mark.parametrize(("steps", "c"), [(2, 53), (29, 13), (120, 25)])
def test_both_forms_give_what_xarray_gives_in_memory(
    graph: str, seed: int, steps: int, c: int
) -> None:
    params = {"steps": steps, "c": c, "graph": graph}
    results = compute(XARRAY, params, seed)
    assert results[0] == pytest.approx(by_xarray(steps, seed), rel=1e-11)
    assert check(XARRAY, results, params, seed).right_units == steps * COLUMNS


@pytest.mark.parametrize("graph", FORMS)
def test_a_single_time_deviates_by_nothing(graph: str) -> None:
    params = {"steps": 1, "c": 20, "graph": graph}
    results = compute(XARRAY, params, 5)
    assert results == (0,)
    check(XARRAY, results, params, 5)


def test_the_whole_of_two_years_is_right() -> None:
    results = compute(XARRAY, {}, 2)
    checked = check(XARRAY, results, {}, 2)
    assert checked.right_units == 2920 * COLUMNS


def test_a_wrong_sum_is_refused() -> None:
    params = {"steps": 29, "c": 25}
    (right,) = compute(XARRAY, params, 3)
    check(XARRAY, (right,), params, 3)
    for wrong in ((right * (1 + 1e-9),), (math.nan,), (), (right, right), (None,), ("1",)):
        with pytest.raises(CorrectnessError, match="sum of the deviations is wrong"):
            check(XARRAY, wrong, params, 3)
    with pytest.raises(CorrectnessError):
        check(XARRAY, (right,), params, 4)


def test_blocks_are_parts_of_one_grid() -> None:
    whole = air_block(8, 40, (0, LATITUDES), (0, LONGITUDES))
    assert (air_block(8, 40, (3, 9), (20, 53)) == whole[:, 3:9, 20:]).all()
    assert (air_block(8, 7, (0, 25), (0, 53)) == whole[:7]).all()
    assert whole.dtype == np.float32
    assert not (air_block(9, 40, (0, 25), (0, 53)) == whole).all()


def test_the_air_is_that_of_a_climate() -> None:
    air = air_block(0, 2920, (0, 25), (10, 11))[:, :, 0].astype(float)
    assert 220 < air.min() < air.max() < 330
    winter, summer = air[:200].mean(axis=0), air[700:900].mean(axis=0)
    assert (summer > winter).all()
    assert summer[-1] - winter[-1] > summer[0] - winter[0]
    assert (np.diff(air.mean(axis=0)) < 0).all()


@pytest.mark.parametrize(
    ("c", "blocks", "paper", "low_level"),
    [(25, 3, (552, 862, 10), (1642, 2106, 15)), (5, 55, (9258, 14976, 10), (29222, 37746, 15))],
)
def test_the_graph_is_that_of_the_paper_without_its_file(
    c: int, blocks: int, paper: tuple[int, int, int], low_level: tuple[int, int, int]
) -> None:
    tasks, arcs, longest = paper
    assert shape(XARRAY, {"c": c}) == (tasks - blocks - 1, arcs - 2 * blocks, longest - 1)
    assert shape(XARRAY, {"c": c, "graph": "low-level"}) == low_level


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("c", 0), ("c", 54), ("c", "25"), ("steps", 0), ("steps", 10**6), ("graph", None)],
)
def test_bad_parameters_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"below|above|type|none of"):
        XARRAY.params[name].check(wrong)
