from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite.groupby import GROUPBY
from daskperf_tasks.workloads.suite.timeseries import Series, partitions_of
from tests.workloads.suite.frames_and_texts import check, compute, facts, shape

SMALL = {"freq": "1min", "partition": "6h"}


def by_pandas(series: Series, seed: int) -> float:
    """The same question to one data frame."""
    frame = pd.concat(partitions_of(series.frame(seed)))
    chosen = frame[(frame["x"] > 0) | (frame["y"] < 0)]["x"]
    means = frame.groupby("name")["x"].mean().sum()
    return float(means + chosen.resample("2s").mean().sum())


def test_it_is_a_workload() -> None:
    assert isinstance(GROUPBY, Workload)
    assert GROUPBY.own_units({}) == 86_400
    assert GROUPBY.unit_cost_s({}) > 0


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
@pytest.mark.parametrize("seed", [0, 1, 10**15 - 1])
@pytest.mark.parametrize(
    "size",
    [
        SMALL,
        {"freq": "1D", "partition": "1D"},
        {"days": 2, "freq": "12h", "partition": "12h"},
        {"freq": "1s", "partition": "3h"},
    ],
)
def test_both_forms_give_what_pandas_gives(graph: str, seed: int, size: dict[str, Any]) -> None:
    params = size | {"graph": graph}
    (found,) = compute(GROUPBY, params, seed)
    series = Series.of({"days": 1} | size)
    assert found == pytest.approx(by_pandas(series, seed), rel=1e-9, abs=1e-9)
    checked = check(GROUPBY, (found,), params, seed)
    assert checked.right_units == series.rows


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
def test_bins_that_a_partition_s_end_cuts_are_one(graph: str) -> None:
    # Partitions of 675 s: every second end lies in the middle of a bin.
    params = {"freq": "1s", "partition": "675s", "graph": graph}
    results = compute(GROUPBY, params, 3)
    assert check(GROUPBY, results, params, 3).right_units == 86_400
    assert results[0] == pytest.approx(
        by_pandas(Series(days=1, freq="1s", partition="675s"), 3), rel=1e-9
    )


def test_a_wrong_sum_is_refused() -> None:
    (right,) = compute(GROUPBY, SMALL, 3)
    check(GROUPBY, (right,), SMALL, 3)
    for wrong in ((right + 1e-6,), (math.nan,), (), (right, right), (None,), (str(right),)):
        with pytest.raises(CorrectnessError, match="groupby: the sum of the means"):
            check(GROUPBY, wrong, SMALL, 3)
    with pytest.raises(CorrectnessError):
        check(GROUPBY, (right,), SMALL, 4)


def test_the_low_level_graph_is_that_of_the_paper() -> None:
    """Table I has 1434 tasks, 1973 arcs and a longest path of 7."""
    params = {"days": 90, "freq": "1s", "partition": "8h", "graph": "low-level"}
    assert shape(GROUPBY, params) == (1434, 1973, 8)
    assert facts(GROUPBY, params).form == "low-level"


def test_the_optimized_graph_is_another() -> None:
    params = {"days": 90, "freq": "1s", "partition": "8h"}
    found = facts(GROUPBY, params)
    assert found.form == "optimized"
    assert found.tasks != 1434


def test_spans_that_do_not_fit_are_refused_when_it_is_planned() -> None:
    with pytest.raises(InputError, match="no whole number of partitions"):
        GROUPBY.own_units({"partition": "16h"})
    with pytest.raises(ValueError, match="no time span"):
        GROUPBY.params["partition"].check("16H")
    with pytest.raises(ValueError, match="is below 1"):
        GROUPBY.params["days"].check(0)
    with pytest.raises(ValueError, match="is none of"):
        GROUPBY.params["graph"].check("fused")
