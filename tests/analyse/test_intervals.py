from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from daskperf_tasks.analyse.intervals import (
    median_interval,
    order_interval,
    paired_ratio,
    ratio_of_medians,
)


def test_median_interval_of_known_values_is_the_binomial_one() -> None:
    # n = 10: ranks 2 and 9, coverage 1 - 2 * (1 + 10) / 1024.
    found = median_interval([[float(i) for i in range(1, 11)]])
    assert (found.value, found.low, found.high) == (5.5, 2.0, 9.0)
    assert found.confidence == pytest.approx(1 - 22 / 1024)


@pytest.mark.parametrize("n", [6, 7, 15, 30, 101])
def test_order_interval_is_the_narrowest_that_reaches_the_confidence(n: int) -> None:
    low, high, coverage = order_interval(np.arange(1.0, n + 1), 0.95)
    k = int(low)
    assert high == n + 1 - k
    assert coverage == pytest.approx(1 - 2 * stats.binom.cdf(k - 1, n, 0.5))
    assert coverage >= 0.95 > 1 - 2 * stats.binom.cdf(k, n, 0.5)


@pytest.mark.parametrize(("n", "coverage"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375)])
def test_few_values_give_the_full_range_with_its_real_coverage(n: int, coverage: float) -> None:
    found = median_interval([[float(i) for i in range(n)]])
    assert (found.low, found.high) == (0.0, n - 1.0)
    assert found.confidence == coverage


def test_block_medians_lie_in_the_interval_and_limit_its_confidence() -> None:
    found = median_interval([[1.0] * 9, [2.0] * 9, [3.0] * 9])
    assert (found.low, found.high) == (1.0, 3.0)
    assert found.confidence == 0.75


def test_no_value_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        median_interval([[], []])


@pytest.mark.parametrize(("blocks", "between"), [(1, 0.0), (3, 0.0), (3, 0.05), (8, 0.05)])
def test_median_interval_covers_as_often_as_it_says(blocks: int, between: float) -> None:
    rng = np.random.default_rng(3)
    hits, stated = 0, 0.0
    trials = 1500
    for _ in range(trials):
        levels = between * rng.standard_normal((blocks, 1))
        data = np.exp(levels + 0.02 * rng.standard_normal((blocks, 6)))
        found = median_interval(list(data))
        hits += found.low <= 1.0 <= found.high
        stated = found.confidence
    assert hits / trials >= stated - 0.02


@pytest.mark.parametrize("between", [0.0, 0.05])
@pytest.mark.parametrize("blocks", [3, 6])
def test_ratio_interval_covers_as_often_as_it_says(blocks: int, between: float) -> None:
    rng = np.random.default_rng(5)
    trials, hits = 300, 0
    for i in range(trials):
        sides = [
            list(
                np.exp(
                    between * rng.standard_normal((blocks, 1))
                    + 0.03 * rng.standard_normal((blocks, 5))
                )
            )
            for _ in range(2)
        ]
        found = ratio_of_medians(sides[0], sides[1], seed=i, draws=600).estimate
        hits += found.low <= 1.0 <= found.high
    # 0.95 nominal; 300 trials have a standard error of 0.013.
    assert hits / trials >= 0.92


def test_ratio_of_medians_finds_a_true_ratio_and_repeats_itself() -> None:
    rng = np.random.default_rng(1)
    base = [list(np.exp(0.01 * rng.standard_normal(8))) for _ in range(6)]
    slow = [list(2.0 * np.exp(0.01 * rng.standard_normal(8))) for _ in range(6)]
    one, two = ratio_of_medians(slow, base), ratio_of_medians(slow, base)
    assert one == two
    assert one.estimate.low < 2.0 < one.estimate.high
    assert one.estimate.high / one.estimate.low < 1.1
    assert one.log_ratio == pytest.approx(math.log(2), abs=0.02)


def test_one_block_is_said_to_be_one() -> None:
    found = ratio_of_medians([[1.0, 1.1, 1.2]], [[2.0, 2.1, 2.2], [2.0]])
    assert found.blocks == 1
    assert found.estimate.low < found.estimate.value < found.estimate.high


@pytest.mark.parametrize("bad", [[[]], [[0.0, 1.0]], [[-1.0]]])
def test_ratio_refuses_what_has_no_logarithm(bad: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        ratio_of_medians(bad, [[1.0]])


def test_hodges_lehmann_equals_the_slow_definition() -> None:
    x = [0.03, -0.01, 0.02, 0.5, 0.01, 0.0, 0.02]
    averages = [(x[i] + x[j]) / 2 for i in range(len(x)) for j in range(i, len(x))]
    assert paired_ratio(x).log_ratio == pytest.approx(float(np.median(averages)))


@pytest.mark.parametrize("n", [2, 4, 6, 12, 25])
def test_paired_interval_has_the_exact_signed_rank_coverage(n: int) -> None:
    rng = np.random.default_rng(9)
    trials, hits = 1500, 0
    stated = 0.0
    for _ in range(trials):
        found = paired_ratio(list(0.02 * rng.standard_normal(n))).estimate
        hits += found.low <= 1.0 <= found.high
        stated = found.confidence
    assert hits / trials == pytest.approx(stated, abs=0.025)
    assert stated >= 0.95 or stated == pytest.approx(1 - 2.0 ** (1 - n))


def test_paired_ratio_needs_a_pair() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        paired_ratio([])
