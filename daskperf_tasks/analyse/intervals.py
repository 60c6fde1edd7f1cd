"""Medians and ratios with intervals that say what they cover.

Repeats of one block share a process and a moment, so they are not independent
of one another; blocks of different rounds are, as far as the machine allows.
Every interval here therefore looks at blocks first:

``median_interval``
    Order statistics (binomial), without any assumption on the distribution.
``ratio_of_medians``
    Two independent groups of blocks; two-stage bootstrap (blocks, then repeats
    in them) with the small-sample corrections of T. Hesterberg, "What teachers
    should know about the bootstrap" (2015): the bootstrap of B blocks is too
    narrow by sqrt((B - 1) / B), and its tails by normal against Student's t.
``paired_ratio``
    Hodges-Lehmann centre of log ratios of pairs, with the interval of
    Wilcoxon's signed-rank statistic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daskperf_tasks.model.results import Estimate

CONFIDENCE = 0.95
DRAWS = 2000
#: Fixed, so that a rebuilt report says the same as the first.
BOOTSTRAP_SEED = 20_260

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio with what a test on it needs."""

    estimate: Estimate
    #: Natural logarithm of the ratio and its standard error.
    log_ratio: float
    se_log: float
    #: Degrees of freedom of the standard error.
    df: float
    #: Pairs, or the smaller number of blocks of the two groups.
    blocks: int


def median_interval(
    blocks: Sequence[Sequence[float]], *, confidence: float = CONFIDENCE
) -> Estimate:
    """Return the median of all values with a distribution-free interval.

    Parameters
    ----------
    blocks
        The values by block; at least one value in all.
    confidence
        Coverage asked for.

    Returns
    -------
    Estimate
        ``confidence`` is the coverage really reached. The interval holds both
        the order-statistics interval of all values and that of the block
        medians; with several blocks the smaller coverage of the two is stated,
        because it holds even when the level moves from block to block. Three
        blocks can promise no more than 75 %, one block only speaks for itself.

    Raises
    ------
    ValueError
        When there is no value.

    Examples
    --------
    >>> e = median_interval([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    >>> e.value, e.low, e.high, e.confidence
    (3.5, 1.0, 6.0, 0.96875)
    """
    filled = [np.asarray(b, dtype=float) for b in blocks if len(b)]
    if not filled:
        raise ValueError("a median needs at least one value")
    values = np.sort(np.concatenate(filled))
    low, high, coverage = order_interval(values, confidence)
    if len(filled) > 1:
        medians = np.sort(np.asarray([np.median(b) for b in filled]))
        block_low, block_high, block_coverage = order_interval(medians, confidence)
        low, high = min(low, block_low), max(high, block_high)
        coverage = min(coverage, block_coverage)
    return Estimate(
        value=float(np.median(values)), low=low, high=high, confidence=coverage, n=len(values)
    )


def order_interval(ordered: Floats, confidence: float) -> tuple[float, float, float]:
    """Return the interval of the median from sorted values, with its coverage.

    The k-th smallest and the k-th largest value hold the median with the
    probability that a fair coin shows between k and n - k heads in n throws.
    The largest k that reaches ``confidence`` is taken; if none does, the full
    range is given with the coverage that it has.
    """
    n = len(ordered)
    k, coverage = _order_rank(n, confidence)
    return float(ordered[k - 1]), float(ordered[n - k]), coverage


@cache
def _order_rank(n: int, confidence: float) -> tuple[int, float]:
    below = 0.0
    best: tuple[int, float] | None = None
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1) / 2.0**n
        coverage = 1.0 - 2.0 * below
        if best is not None and coverage < confidence:
            break
        best = (k, coverage)
    return best if best is not None else (1, max(0.0, 1.0 - 2.0 ** (1 - n)))


def ratio_of_medians(
    numerator: Sequence[Sequence[float]],
    denominator: Sequence[Sequence[float]],
    *,
    confidence: float = CONFIDENCE,
    seed: int = BOOTSTRAP_SEED,
    draws: int = DRAWS,
) -> Ratio:
    """Return the ratio of two independent medians with a bootstrap interval.

    Parameters
    ----------
    numerator, denominator
        Positive values by block.
    confidence
        Nominal coverage.
    seed, draws
        Of the bootstrap.

    Notes
    -----
    With fewer than two blocks on a side nothing is known of how blocks differ:
    repeats then stand in for blocks, ``blocks`` is 1, and the interval is too
    narrow by an unknown amount. Callers must not decide on it.

    Raises
    ------
    ValueError
        When a side has no value or one that is not above 0.
    """
    sides = [
        [np.asarray(b, dtype=float) for b in side if len(b)] for side in (numerator, denominator)
    ]
    for side in sides:
        if not side or any(np.any(b <= 0) for b in side):
            raise ValueError("a ratio of medians needs values above 0 on both sides")
    blocks = min(len(side) for side in sides)
    n = sum(len(b) for side in sides for b in side)
    if blocks < 2:
        sides = [[b[i : i + 1] for b in side for i in range(len(b))] for side in sides]
    rng = np.random.default_rng(seed)
    centre = [math.log(float(np.median(np.concatenate(side)))) for side in sides]
    deviations = [
        block_bootstrap(side, rng, draws) - c for side, c in zip(sides, centre, strict=True)
    ]
    log_ratio = centre[0] - centre[1]
    spread = deviations[0] - deviations[1]
    variances = [float(np.var(d)) for d in deviations]
    df = _welch(variances, [len(side) - 1 for side in sides])
    widen = _t(df, 0.5 + confidence / 2) / _z(0.5 + confidence / 2)
    tail = (1 - confidence) / 2
    low, high = np.quantile(spread, [tail, 1 - tail]) * widen
    return Ratio(
        estimate=Estimate(
            value=math.exp(log_ratio),
            low=math.exp(log_ratio + min(float(low), 0.0)),
            high=math.exp(log_ratio + max(float(high), 0.0)),
            confidence=confidence,
            n=n,
        ),
        log_ratio=log_ratio,
        se_log=math.sqrt(sum(variances)),
        df=df,
        blocks=blocks,
    )


def block_bootstrap(blocks: list[Floats], rng: np.random.Generator, draws: int) -> Floats:
    """Return log medians of resampled blocks, their spread corrected for the number of blocks.

    Parameters
    ----------
    blocks
        Positive values by block; none empty.
    rng, draws
        Of the bootstrap.

    Returns
    -------
    array of shape (draws,)
    """
    count = len(blocks)
    lengths = np.asarray([len(b) for b in blocks])
    longest = int(lengths.max())
    table = np.full((count, longest), np.nan)
    for i, b in enumerate(blocks):
        table[i, : len(b)] = b
    chosen = rng.integers(0, count, size=(draws, count))
    size = lengths[chosen][:, :, None]
    position = (rng.random((draws, count, longest)) * size).astype(np.intp)
    drawn = table[chosen[:, :, None], position]
    drawn[np.arange(longest)[None, None, :] >= size] = np.nan
    # NaN sorts last, so the median of each draw lies at its own count's middle.
    flat = np.sort(drawn.reshape(draws, -1), axis=1)
    filled = size.sum(axis=(1, 2))
    row = np.arange(draws)
    logs = np.log((flat[row, (filled - 1) // 2] + flat[row, filled // 2]) / 2.0)
    centre = math.log(float(np.median(np.concatenate(blocks))))
    widen = math.sqrt(count / (count - 1)) if count > 1 else 1.0
    result: Floats = centre + (logs - centre) * widen
    return result


def _welch(variances: list[float], dfs: list[int]) -> float:
    """Degrees of freedom of a sum of variances (Welch-Satterthwaite)."""
    usable = [(v, d) for v, d in zip(variances, dfs, strict=True) if d > 0]
    total = sum(v for v, _ in usable)
    if not usable:
        return 1.0
    if total == 0:
        return float(sum(d for _, d in usable))
    return float(total**2 / sum(v**2 / d for v, d in usable))


def paired_ratio(log_ratios: Sequence[float], *, confidence: float = CONFIDENCE) -> Ratio:
    """Return the ratio that pairs of rounds show, by Hodges and Lehmann.

    Parameters
    ----------
    log_ratios
        ``ln(median_new / median_reference)`` of each pair; at least one.
    confidence
        Coverage asked for.

    Returns
    -------
    Ratio
        The centre is the median of all ``(x_i + x_j) / 2`` with i <= j; the
        interval is cut from the same averages at Wilcoxon's signed-rank
        quantile, and its coverage is the exact one. ``se_log`` is
        ``1.05 s / sqrt(R)`` with the sample's standard deviation s (the median
        deviation of a handful of pairs is far too small too often).

    Raises
    ------
    ValueError
        When there is no pair.
    """
    x = np.asarray(log_ratios, dtype=float)
    n = len(x)
    if n == 0:
        raise ValueError("a paired ratio needs at least one pair")
    i, j = np.triu_indices(n)
    walsh = np.sort((x[i] + x[j]) / 2.0)
    theta = float(np.median(walsh))
    k, coverage = _signed_rank(n, confidence)
    spread = float(np.std(x, ddof=1)) if n > 1 else 0.0
    return Ratio(
        estimate=Estimate(
            value=math.exp(theta),
            low=math.exp(float(walsh[k - 1])),
            high=math.exp(float(walsh[len(walsh) - k])),
            confidence=coverage,
            n=n,
        ),
        log_ratio=theta,
        se_log=1.05 * spread / math.sqrt(n),
        df=float(n - 1),
        blocks=n,
    )


@cache
def _signed_rank(n: int, confidence: float) -> tuple[int, float]:
    """Rank k of the k-th smallest and largest average, and the coverage of that interval."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        shifted = np.zeros_like(counts)
        shifted[rank:] = counts[: len(counts) - rank]
        counts = (counts + shifted) / 2.0
    below = np.cumsum(counts)
    k = 1
    while k < len(counts) // 2 and 1.0 - 2.0 * below[k] >= confidence:
        k += 1
    return k, max(0.0, float(1.0 - 2.0 * below[k - 1]))


def t_quantile(df: float, probability: float) -> float:
    """Quantile of Student's t."""
    return _t(df, probability)


def _t(df: float, probability: float) -> float:
    stats: Any = _stats()
    return float(stats.t.ppf(probability, df))


def _z(probability: float) -> float:
    stats: Any = _stats()
    return float(stats.norm.ppf(probability))


def two_sided_p(statistic: float, df: float) -> float:
    """Two-sided p of a Student's t statistic."""
    stats: Any = _stats()
    return float(2.0 * stats.t.sf(abs(statistic), df))


def _stats() -> Any:
    from scipy import stats

    return stats
