from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.analyse.normalise import INDEX_HIGH, INDEX_LOW, calibrate_index, mad

TIMES = st.floats(min_value=1e-3, max_value=1e3)


def _indices(medians: dict[str, float], threads: int = 4):  # type: ignore[no-untyped-def]
    return calibrate_index(medians, dict.fromkeys(medians, 0.0), dict.fromkeys(medians, threads))


def test_equal_workers_count_in_full() -> None:
    found = _indices({"a": 0.5, "b": 0.5})
    assert [w.index for w in found.workers.values()] == [1.0, 1.0]
    assert (found.total_threads, found.effective_threads) == (8, 8.0)


def test_a_half_as_fast_worker_counts_half() -> None:
    found = _indices({"a": 1.0, "b": 1.0, "c": 2.0})
    assert found.workers["c"].index == 0.5
    assert found.effective_threads == 10.0
    assert found.clipped == ()


def test_one_wild_worker_cannot_distort() -> None:
    fast = _indices({"a": 1.0, "b": 1.0, "c": 0.001})
    assert fast.workers["c"].index == INDEX_HIGH and fast.clipped == ("c",)
    assert fast.effective_threads == 4 * (1 + 1 + INDEX_HIGH)
    slow = _indices({"a": 1.0, "b": 1.0, "c": 1000.0})
    assert slow.workers["c"].index == INDEX_LOW
    assert slow.effective_threads == 4 * (1 + 1 + INDEX_LOW)


def test_a_wild_run_does_not_move_the_median_or_the_mad() -> None:
    assert mad([1.0, 1.01, 0.99, 1.0, 50.0]) == pytest.approx(0.01)


def test_spread_makes_unstable() -> None:
    found = calibrate_index({"a": 1.0, "b": 1.0}, {"a": 0.1, "b": 0.11}, {"a": 1, "b": 1})
    assert found.unstable == ("b",)


@pytest.mark.parametrize("medians", [{}, {"a": 0.0}, {"a": 1.0, "b": -1.0}])
def test_no_figures_no_index(medians: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        _indices(medians)


@given(st.dictionaries(st.text(min_size=1, max_size=3), TIMES, min_size=1, max_size=9))
def test_bounds_hold_and_scale_does_not_matter(medians: dict[str, float]) -> None:
    found = _indices(medians)
    scaled = _indices({k: v * 8 for k, v in medians.items()})
    assert scaled.workers.keys() == found.workers.keys()
    for name, one in found.workers.items():
        assert INDEX_LOW <= one.index <= INDEX_HIGH
        assert scaled.workers[name].index == pytest.approx(one.index)
    n = 4 * len(medians)
    assert INDEX_LOW * n <= found.effective_threads <= INDEX_HIGH * n


@given(st.lists(TIMES, min_size=1, max_size=15))
def test_mad_against_its_definition(values: list[float]) -> None:
    ordered = sorted(abs(v - statistics.median(values)) for v in values)
    middle = len(ordered) // 2
    twin = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    assert mad(values) == pytest.approx(twin)
