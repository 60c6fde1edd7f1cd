from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite import join
from daskperf_tasks.workloads.suite.join import JOIN
from daskperf_tasks.workloads.suite.timeseries import Series, partitions_of
from tests.workloads.suite.frames_and_texts import check, compute, facts, shape

SMALL = {"freq": "2min", "partition": "6h"}


def by_pandas(series: Series, seed: int) -> tuple[float, int]:
    """The sum, and the rows of the merge of one data frame with itself."""
    frame = pd.concat(partitions_of(join._frame(series, seed)))
    merged = frame.merge(frame, on="id")
    return float((merged["value_x"] + merged["value_y"]).sum()), len(merged)


def test_it_is_a_workload() -> None:
    assert isinstance(JOIN, Workload)
    assert JOIN.own_units({}) == 4_320
    assert JOIN.unit_cost_s({}) > 0


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
@pytest.mark.parametrize("seed", [0, 1, 10**15 - 1])
@pytest.mark.parametrize(
    "size",
    [
        SMALL,
        {"freq": "1D", "partition": "1D"},
        {"freq": "12h", "partition": "12h"},
        {"freq": "5min", "partition": "15min"},
    ],
)
def test_both_forms_give_what_pandas_gives(graph: str, seed: int, size: dict[str, Any]) -> None:
    params = size | {"graph": graph}
    (found,) = compute(JOIN, params, seed)
    series = Series.of({"days": 1} | size)
    expected, rows = by_pandas(series, seed)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    checked = check(JOIN, (found,), params, seed)
    assert checked.right_units == series.rows
    assert f"{rows:,} merged rows" in checked.text


@pytest.mark.parametrize("freq", ["1min", "30s"])
def test_the_size_of_the_merge_is_known_beforehand(freq: str) -> None:
    series = Series(days=1, freq=freq, partition="6h")
    _, rows = by_pandas(series, 8)
    assert join.joined_rows(series.rows) == pytest.approx(rows, rel=0.05)


def test_a_wrong_sum_is_refused() -> None:
    (right,) = compute(JOIN, SMALL, 3)
    check(JOIN, (right,), SMALL, 3)
    for wrong in ((right + 1e-6,), (math.nan,), (), (right, right), (None,)):
        with pytest.raises(CorrectnessError, match="join: the sum over the merged rows"):
            check(JOIN, wrong, SMALL, 3)
    with pytest.raises(CorrectnessError):
        check(JOIN, (right,), SMALL, 4)


def test_the_low_level_graph_is_that_of_the_paper() -> None:
    params = {"freq": "1s", "partition": "1h", "graph": "low-level"}
    assert shape(JOIN, params) == (673, 1224, 5)
    assert facts(JOIN, params | {"graph": "optimized"}).tasks < 673


def test_a_merge_that_explodes_is_refused_when_it_is_planned() -> None:
    assert JOIN.own_units({"freq": "1s", "partition": "1min"}) == 86_400
    with pytest.raises(InputError, match="too many rows"):
        JOIN.own_units({"days": 2, "freq": "1s"})
    with pytest.raises(InputError, match="too many rows"):
        JOIN.build({"days": 2, "freq": "1s"}, units=172_800, seed=0)
    with pytest.raises(InputError, match="no whole number of partitions"):
        JOIN.own_units({"partition": "5h"})
