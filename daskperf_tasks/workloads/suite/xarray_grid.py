"""``xarray-c``: how far air temperatures lie from the mean of their week of the year.

The sum of the magnitudes of the deviations, over a grid of 25 x 53 columns in blocks of c x c.
The paper took the sum of the deviations themselves, which is nothing but rounding and tells no
right result from a wrong one; the graph is the same, as the magnitude is fused.

Properties of the graphs beside those of Böhm and Beránek 2020, Table I (tasks / arcs / longest
path; seen with Dask 2026.8 and xarray 2026.9):

=========  ====================  ===================  ====================
cell       paper                 ``"optimized"``      ``"low-level"``
=========  ====================  ===================  ====================
xarray-25  552 / 862 / 10        548 / 856 / 9        1,642 / 2,106 / 15
xarray-5   9,258 / 14,976 / 10   9,202 / 14,866 / 9   29,222 / 37,746 / 15
=========  ====================  ===================  ====================

The difference from ``optimized`` is the data set's file: with b blocks, b + 1 tasks, 2 b arcs
and one arc on the longest path; here a block is made by one task. Two things are written
otherwise than in the paper, to keep its graph: the weeks are ``time.dt.isocalendar().week``
(``time.week`` is gone), and each week's mean is taken from the week's own times, put one after
another. Today's ``groupby(...) - means`` would sort the times back, in 516,470 tasks for xarray-5
(``groupby(...).map``: 20,642).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from daskperf_tasks.workloads.compare import near_number
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite import grid

_PARAMS: Mapping[str, ParamSpec] = {
    "c": ParamSpec(kind=int, default=25, minimum=1, maximum=grid.LONGITUDES),
    "steps": ParamSpec(kind=int, default=grid.STEPS, minimum=1, maximum=10 * grid.STEPS),
    "graph": GRAPH_PARAM,
}
#: Relative; of sums in double precision.
_TOLERANCE = 1e-11


@dataclass(frozen=True, slots=True)
class XarrayGrid:
    """The sum of all magnitudes of deviations from the weekly means, in K."""

    name: str = "xarray"
    version: int = 1
    unit: str = "value"
    requires: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("xarray",)

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Latitudes and longitudes of a block, times of six hours, the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time to make and to reduce a value, and its share of three tasks a week."""
        full = _full(self, params)
        c, steps = int(full["c"]), int(full["steps"])
        blocks = -(-grid.LATITUDES // c) * -(-grid.LONGITUDES // c)
        weeks = min(52, 1 + steps // 28)
        return 1e-7 + 3 * blocks * weeks * 5e-4 / self.own_units(params)

    def own_units(self, params: Params) -> int:
        """Return the values of the grid."""
        return int(_full(self, params)["steps"]) * grid.LATITUDES * grid.LONGITUDES

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the sum; the groups are known when the graph is built, the values are not."""
        import xarray

        full = _full(self, params)
        air = _air(seed, int(full["steps"]), int(full["c"]))
        weeks = air.groupby(air.time.dt.isocalendar().week)
        # Double precision without a task of its own: float32 holds no sum of a grid.
        deviations = [week - week.mean("time", dtype="float64") for _, week in weeks]
        result = abs(xarray.concat(deviations, "time")).sum()
        optimize = full["graph"] == "optimized"
        return Built(collections=(result.data,), optimize_graph=optimize)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare with the sum by NumPy, latitude after latitude."""
        full = _full(self, params)
        expected = _deviation(int(full["steps"]), seed)
        # A single time a week deviates by nothing: then both are exactly 0.
        within = _TOLERANCE * expected
        wrong = "xarray: the sum of the deviations is wrong"
        near_number(wrong, results, expected, within, f"seed {seed}, {full}", " K")
        return Checked(
            right_units=self.own_units(params),
            text=f"the sum of the deviations is {expected!r} K within {_TOLERANCE:g} of it, as by "
            "NumPy",
        )


def _air(seed: int, steps: int, c: int) -> Any:
    import dask.array as da
    import numpy as np
    import pandas as pd
    import xarray
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    latitudes, longitudes = (
        list(pairwise([*range(0, length, c), length]))
        for length in (grid.LATITUDES, grid.LONGITUDES)
    )
    source = f"air-{tokenize(seed, steps, c)}"
    tasks = {
        (source, 0, i, j): (grid.air_block, seed, steps, lat, lon)
        for i, lat in enumerate(latitudes)
        for j, lon in enumerate(longitudes)
    }
    lengths = [tuple(stop - first for first, stop in axis) for axis in (latitudes, longitudes)]
    layers = HighLevelGraph.from_collections(source, tasks)
    values = da.Array(layers, source, chunks=((steps,), *lengths), dtype=np.float32)
    times = pd.date_range(grid.START, periods=steps, freq=f"{grid.STEP_H}h")
    return xarray.DataArray(values, dims=("time", "lat", "lon"), coords={"time": times})


@functools.lru_cache(maxsize=16)
def _deviation(steps: int, seed: int) -> float:
    """Return the sum without Dask, xarray or pandas: weeks by the calendar, means by counts."""
    import datetime as dt

    import numpy as np

    start, step = dt.datetime.fromisoformat(grid.START), dt.timedelta(hours=grid.STEP_H)
    weeks = np.array([(start + i * step).isocalendar().week for i in range(steps)])
    counts = np.maximum(np.bincount(weeks), 1)
    sums = []
    for lat in range(grid.LATITUDES):
        block = grid.air_block(seed, steps, (lat, lat + 1), (0, grid.LONGITUDES))
        air = block[:, 0, :].astype(np.float64)
        for lon in range(grid.LONGITUDES):
            means = np.bincount(weeks, weights=air[:, lon]) / counts
            sums.append(float(np.abs(air[:, lon] - means[weeks]).sum()))
    return sum(sums)


XARRAY = XarrayGrid()
