"""``groupby-d-f-p``: a mean by name and a mean of every two seconds, of a time series.

Properties of the graphs beside those of Böhm and Beránek 2020, Table I (tasks / arcs /
longest path; seen with Dask 2026.8, on a driver without a cluster):

=====================  ========================  ==========================  =====================
cell                   paper                     ``graph = "low-level"``     ``"optimized"``
=====================  ========================  ==========================  =====================
90 days, 1s, 8h        1,434 / 1,973 / 7         1,434 / 1,973 / 8           4,052 / 4,958 / 17
2880 days, 1s, 16h     22,842 / 31,481 / 9       22,844 / 31,483 / 10        64,841 / 79,418 / 17
1440 days, 1s, 1h      182,682 / 251,801 / 10    182,684 / 251,803 / 11      518,693 / 635,330 / 17
=====================  ========================  ==========================  =====================

The optimized form has more tasks: ``dask.compute`` of 2026.8 does not fuse, and the mean
by name is a shuffle there (peer to peer on a cluster, by disk without one), no tree.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.workloads.compare import near_number
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.timeseries import (
    Series,
    as_in_the_paper,
    partitions_of,
    span_params,
)

_PARAMS: Mapping[str, ParamSpec] = span_params(freq="1s", partition="3h")
#: Times the sum of the magnitudes of all means: what another order of adding may change.
_TOLERANCE = 1e-12
_BIN_S = 2


@dataclass(frozen=True, slots=True)
class GroupBy:
    """Sum of ``x``'s means by name, plus the sum of its means in bins of two seconds."""

    name: str = "groupby"
    version: int = 1
    unit: str = "row"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Days, time from row to row, time of a partition, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time to make a row and to put it into its group and bin."""
        return 1.2e-6

    def own_units(self, params: Params) -> int:
        """Return the rows of the series."""
        return Series.of(_full(self, params)).rows

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the sum of both parts; in the low-level form means are sums over counts."""
        import dask

        full = _full(self, params)
        frame = Series.of(full).frame(seed)
        # As Dask had it in 2020: a mean is a sum and a count, each with a tree of its own.
        if full["graph"] == "low-level":
            with dask.config.set({"dataframe.shuffle.method": "tasks"}):
                x = frame.groupby("name")["x"]
                return as_in_the_paper((x.sum() / x.count()).sum() + _binned(frame))
        means = frame.groupby("name")["x"].mean().sum()
        return Built(collections=(means + _binned(frame),))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sum with one over the partitions in turn, by NumPy."""
        full = _full(self, params)
        series = Series.of(full)
        expected, magnitude = _reference(series, seed)
        wrong = "groupby: the sum of the means is not that of the rows"
        near_number(wrong, results, expected, _TOLERANCE * magnitude, f"seed {seed}, {full}")
        return Checked(
            right_units=series.rows,
            text=f"the sum of the means of {series.rows:,} rows equals that by NumPy, partition "
            f"after partition, within {_TOLERANCE:g} of the magnitudes",
        )


def _binned(frame: Any) -> Any:
    chosen = frame[(frame["x"] > 0) | (frame["y"] < 0)]
    return chosen["x"].resample(f"{_BIN_S}s").mean().sum()


@functools.lru_cache(maxsize=16)
def _reference(series: Series, seed: int) -> tuple[float, float]:
    """Return the sum of all means, and the sum of their magnitudes.

    The rows are in the order of time: of a bin that a partition's end cuts, sum and count
    are carried on.
    """
    import numpy as np
    import pandas as pd

    sums: dict[str, list[float]] = {}
    counts: dict[str, int] = {}
    bin_means: list[tuple[float, float]] = []
    carried = (-1, 0.0, 0)
    for part in partitions_of(series.frame(seed)):
        x, y = part["x"].to_numpy(), part["y"].to_numpy()
        codes, names = pd.factorize(part["name"])
        totals = np.bincount(codes, weights=x)
        for name, total, count in zip(names, totals, np.bincount(codes), strict=True):
            sums.setdefault(str(name), []).append(float(total))
            counts[str(name)] = counts.get(str(name), 0) + int(count)
        index = pd.DatetimeIndex(part.index).as_unit("s").asi8 // _BIN_S
        kept = (x > 0) | (y < 0)
        ids = np.concatenate(([carried[0]], index[kept]))
        values = np.concatenate(([carried[1]], x[kept]))
        members = np.concatenate(([carried[2]], np.ones(int(kept.sum()))))
        starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
        bin_sums, bin_counts = np.add.reduceat(values, starts), np.add.reduceat(members, starts)
        carried = (int(ids[-1]), float(bin_sums[-1]), int(bin_counts[-1]))
        whole = bin_counts[:-1] > 0
        means = bin_sums[:-1][whole] / bin_counts[:-1][whole]
        bin_means.append((float(means.sum()), float(np.abs(means).sum())))
    if carried[2]:
        last = carried[1] / carried[2]
        bin_means.append((last, abs(last)))
    by_name = [sum(sums[name]) / counts[name] for name in sorted(sums)]
    expected = sum(by_name) + sum(total for total, _ in bin_means)
    # Names' means are small differences of large sums: count each as 1.
    return expected, len(by_name) + sum(size for _, size in bin_means)


GROUPBY = GroupBy()
