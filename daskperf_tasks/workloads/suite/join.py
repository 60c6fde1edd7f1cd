"""``join-d-f-p``: a time series merged with itself on an id, all values added up.

The ids are Poisson numbers of mean 100, whatever the number of rows: of n rows about
n^2 / (2 sqrt(100 pi)) = 0.0282 n^2 come out of the merge. One day of seconds gives
2.1e8 (that is what the paper's cells computed); the default of 20 s gives half a million.

Properties of the graphs beside those of Böhm and Beránek 2020, Table I (tasks / arcs /
longest path; seen with Dask 2026.8):

=================  =====================  ========================  =====================
cell               paper                  ``graph = "low-level"``   ``"optimized"`` (p2p)
=================  =====================  ========================  =====================
1 day, 1s, 1h      673 / 1,224 / 5        673 / 1,224 / 5           194 / 240 / 8
1 day, 1s, 1min    72,001 / 125,568 / 11  71,713 / 125,280 / 11     11,522 / 14,400 / 8
=================  =====================  ========================  =====================

Without a cluster the optimized form shuffles by disk (267 and 15,843 tasks). In both
forms an id is in one partition: with more partitions than ids (about 70 in use) some
have nothing to merge, as in the paper's second cell. The low-level form merges and adds
up in one task; in the optimized form, which is not fused, a merged partition is the output
of a task, and of a day of seconds by the hour one may take some hundred megabytes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.compare import near_number
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.timeseries import (
    Series,
    as_in_the_paper,
    partitions_of,
    span_params,
)

_PARAMS: Mapping[str, ParamSpec] = span_params(freq="20s", partition="3h")
_MEAN_ID = 100
#: The paper's join of a day of seconds has 2.1e8.
_MOST_JOINED_ROWS = 250_000_000
#: Times the sum of the magnitudes of all values: what another order of adding may change.
_TOLERANCE = 1e-12


def joined_rows(rows: int) -> float:
    """Return about how many rows the merge makes.

    Notes
    -----
    Every row meets itself; two different ones meet with the probability that two Poisson
    numbers of mean m are equal, ``exp(-2m) I0(2m)``, about ``1 / (2 sqrt(pi m))``.

    Examples
    --------
    >>> round(joined_rows(86_400) / 1e6)
    211
    """
    return rows + rows * (rows - 1) / (2 * math.sqrt(math.pi * _MEAN_ID))


@dataclass(frozen=True, slots=True)
class Join:
    """Sum of ``value_x + value_y`` of the series merged with itself on ``id``."""

    name: str = "join"
    version: int = 1
    #: A row of the series, not one of the merged frame.
    unit: str = "row"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Days, time from row to row, time of a partition, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return a row's share of the merge, and the time to make and to shuffle it."""
        rows = self.own_units(params)
        return 2e-5 + 6e-8 * joined_rows(rows) / rows

    def own_units(self, params: Params) -> int:
        """Return the rows of the series.

        Raises
        ------
        InputError
            When the merge would have more than 2.5e8 rows.
        """
        return _series(_full(self, params)).rows

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the sum over the merged frame."""
        import dask

        full = _full(self, params)
        frame = _frame(_series(full), seed)
        if full["graph"] == "low-level":
            with dask.config.set({"dataframe.shuffle.method": "tasks"}):
                return as_in_the_paper(_joined(frame))
        return Built(collections=(_joined(frame),))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sum with the one that counts and sums by id give, without a merge."""
        full = _full(self, params)
        series = _series(full)
        expected, magnitude, joined = _reference(series, seed)
        wrong = "join: the sum over the merged rows is wrong"
        near_number(wrong, results, expected, _TOLERANCE * magnitude, f"seed {seed}, {full}")
        return Checked(
            right_units=series.rows,
            text=f"the sum over {joined:,} merged rows of {series.rows:,} equals that of counts "
            f"and sums by id within {_TOLERANCE:g} of the magnitudes",
        )


def _series(full: Params) -> Series:
    series = Series.of(full)
    if joined_rows(series.rows) > _MOST_JOINED_ROWS:
        raise InputError(
            "join: the merge would have too many rows",
            expected=f"at most {_MOST_JOINED_ROWS:,}",
            found=f"about {joined_rows(series.rows):,.0f}, of {series.rows:,} rows",
            todo="take fewer 'days' or a longer 'freq'",
        )
    return series


def _frame(series: Series, seed: int) -> Any:
    return series.frame(seed, {"id": int, "value": float}, id_lam=_MEAN_ID)


def _joined(frame: Any) -> Any:
    merged = frame.merge(frame, on="id")
    return (merged["value_x"] + merged["value_y"]).sum()


@functools.lru_cache(maxsize=16)
def _reference(series: Series, seed: int) -> tuple[float, float, int]:
    """Return the sum, the sum of the magnitudes, and the number of merged rows.

    Of n rows with one id and the sum s, each value stands in n merged rows on either
    side: they add 2 n s.
    """
    import numpy as np

    longest = 1024  # far above any Poisson number of mean 100
    counts = np.zeros(longest, dtype=np.int64)
    sums, sizes = np.zeros(longest), np.zeros(longest)
    for part in partitions_of(_frame(series, seed)):
        ids, values = part["id"].to_numpy(), part["value"].to_numpy()
        counts += np.bincount(ids, minlength=longest)
        sums += np.bincount(ids, weights=values, minlength=longest)
        sizes += np.bincount(ids, weights=np.abs(values), minlength=longest)
    joined = int((counts**2).sum())
    return float(2 * (counts * sums).sum()), float(2 * (counts * sizes).sum()), joined


JOIN = Join()
