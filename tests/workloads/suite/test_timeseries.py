from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.compare import is_near
from daskperf_tasks.workloads.suite.timeseries import (
    Series,
    SpanParam,
    partitions_of,
    seconds,
)


@given(st.integers(1, 999_999_999), st.sampled_from(["s", "min", "h", "D"]))
def test_a_span_is_as_long_as_pandas_has_it(number: int, unit: str) -> None:
    span = f"{number}{unit}"
    length = {"s": 1, "min": 60, "h": 3600, "D": 86400}[unit]
    assert seconds(span) == number * length
    assert SpanParam(kind=str, default="1s").check(span) == span
    if number < 1000:
        assert pd.Timedelta(span).total_seconds() == number * length


@pytest.mark.parametrize(
    "span", ["1S", "1H", "1T", "s", "0s", "-1s", "1.5h", "1 h", "", "1ms", "1s "]
)
def test_other_spellings_are_refused(span: str) -> None:
    with pytest.raises(ValueError, match="no time span: a whole number and s, min, h or D"):
        SpanParam(kind=str, default="1s").check(span)


@pytest.mark.parametrize("value", [1, 1.5, True, None])
def test_a_span_is_text(value: object) -> None:
    with pytest.raises(ValueError, match="not of type str"):
        SpanParam(kind=str, default="1s").check(value)


def test_the_paper_s_series_has_its_partitions() -> None:
    series = Series(days=2880, freq="1s", partition="16h")
    assert (series.partitions, series.rows) == (4320, 2880 * 86400)


@pytest.mark.parametrize(
    ("days", "freq", "partition", "words"),
    [
        (1, "1s", "16h", "1 days are no whole number of partitions"),
        (1, "1s", "2D", "1 days are no whole number of partitions"),
        (1, "7s", "1h", "a partition is no whole number of rows"),
        (1, "2h", "1h", "a partition is no whole number of rows"),
    ],
)
def test_what_dask_would_cut_off_is_refused(
    days: int, freq: str, partition: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Series.of({"days": days, "freq": freq, "partition": partition})


@pytest.mark.parametrize(
    ("days", "freq", "partition"), [(1, "10min", "3h"), (2, "1h", "1h"), (1, "1D", "1D")]
)
def test_the_partitions_hold_all_rows_in_order(days: int, freq: str, partition: str) -> None:
    series = Series(days=days, freq=freq, partition=partition)
    parts = list(partitions_of(series.frame(5)))
    assert len(parts) == series.partitions
    whole = pd.concat(parts)
    assert len(whole) == series.rows
    expected = pd.date_range("2000-01-01", periods=series.rows, freq=freq)
    assert whole.index.equals(expected.rename("timestamp").as_unit(whole.index.unit))


def test_a_seed_gives_the_same_rows_and_another_one_others() -> None:
    series = Series(days=1, freq="1h", partition="6h")
    first, again, other = (
        pd.concat(partitions_of(series.frame(seed))) for seed in (5, 5 + 2**32, 6)
    )
    assert first.equals(again)
    assert not first["x"].equals(other["x"])


def test_near_is_one_float_within() -> None:
    assert is_near((1.5,), 1.25, 0.25)
    for results in ((), (1.5, 1.5), (1.75,), (math.nan,), ("1.5",), (None,)):
        assert not is_near(results, 1.25, 0.25)
