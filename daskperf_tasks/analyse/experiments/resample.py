"""Bootstrap draws of the medians of several points at once, for fits.

Blocks are drawn first, then repeats in them (see
:mod:`daskperf_tasks.analyse.intervals`), each point by itself. The draws are
widened from the normal to Student's t with the degrees of freedom of all
points together: the points share a machine, so their blocks scatter alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from daskperf_tasks.analyse.experiments.seen import Seen
from daskperf_tasks.analyse.intervals import (
    BOOTSTRAP_SEED,
    CONFIDENCE,
    DRAWS,
    Floats,
    block_bootstrap,
    t_quantile,
)
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Medians:
    """Makespans (s) of points, as measured and as drawn."""

    #: Shape (points,).
    value: Floats
    #: Shape (draws, points).
    draws: Floats
    #: Relative standard error of each point, shape (points,).
    noise: Floats
    #: Repeats in all.
    n: int


def medians(points: Sequence[Seen]) -> Medians | Missing:
    """Draw the medians of measured points.

    A point with one repeat is given the scatter of the others; where no point
    has two, the noise is not known and neither is any interval.
    """
    rows = [s.rows for s in points]
    if all(sum(map(len, r)) < 2 for r in rows):
        return Missing(missing="one repeat a point does not tell the noise")
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    groups = []
    for row in rows:
        arrays = [np.asarray(b, dtype=float) for b in row]
        if len(arrays) < 2:  # repeats stand in for blocks
            arrays = [b[i : i + 1] for b in arrays for i in range(len(b))]
        groups.append(arrays)
    df = sum(len(g) - 1 for g in groups)
    tail = 0.5 + CONFIDENCE / 2
    widen = t_quantile(df, tail) / NormalDist().inv_cdf(tail)
    centre = np.asarray([math.log(float(np.median(np.concatenate(g)))) for g in groups])
    spread = np.stack([block_bootstrap(g, rng, DRAWS) for g in groups], axis=1) - centre
    noise = spread.std(axis=0)
    alone = np.asarray([sum(map(len, r)) < 2 for r in rows])
    if alone.any():
        typical = float(np.sqrt(np.mean(noise[~alone] ** 2)))
        spread[:, alone] = typical * rng.standard_normal((DRAWS, int(alone.sum())))
        noise[alone] = typical
    return Medians(
        value=np.exp(centre),
        draws=np.exp(centre + widen * spread),
        noise=noise,
        n=sum(len(b) for r in rows for b in r),
    )


def interval(value: float, draws: Floats, n: int) -> Estimate:
    """Return a fitted figure with the percentile interval of its draws."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Estimate(
        value=float(value),
        low=float(min(low, value)),
        high=float(max(high, value)),
        confidence=CONFIDENCE,
        n=n,
    )
