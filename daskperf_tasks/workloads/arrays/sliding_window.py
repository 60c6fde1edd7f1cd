"""Moving mean and moving maximum of a long series: windows that cross the chunks' borders.

The values are whole numbers, so that all sums are exact in whatever order they are taken.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.workloads.arrays.fields import digest, digest_of, field, field_array
from daskperf_tasks.workloads.compare import refuse, same_numbers, same_units
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The values are below it.
_VALUES = 1_024.0
_MOST_CHUNKS = 10_000
_PARAMS: Mapping[str, ParamSpec] = {
    "length": ParamSpec(kind=int, default=2_000_000, minimum=1, maximum=1_000_000_000),
    "chunk": ParamSpec(kind=int, default=100_000, minimum=1, maximum=100_000_000),
    "window": ParamSpec(kind=int, default=32, minimum=1, maximum=100_000),
    "graph": GRAPH_PARAM,
}


def whole_numbers(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whole numbers from 0 to 1,023 made of numbers from [0, 1)."""
    import numpy as np

    return np.floor(block * _VALUES)


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Means and maxima of all windows of ``window`` values in a series of ``length``."""

    name: str = "sliding-window"
    version: int = 1
    unit: str = "window"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Values of the series, of a chunk and of a window, and the form of the graph.

        Where a window is as large as a chunk or larger, Dask takes larger chunks.
        """
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 2 ns a value of a window, and 30 ns besides."""
        return 3e-8 + 2e-9 * float(_full(self, params)["window"])

    def own_units(self, params: Params) -> int:
        """Return the number of windows."""
        length, _, window = _shape(params)
        return length - window + 1

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the digests of the means and of the maxima.

        Raises
        ------
        InputError
            When the window is longer than the series, or the chunks are too many.
        """
        import numpy as np
        from dask.array.lib.stride_tricks import sliding_window_view

        length, chunk, window = _shape(params)
        noise = field_array((length,), (chunk,), seed)
        series = noise.map_blocks(whole_numbers, dtype=np.float64, meta=np.empty(0))
        windows = sliding_window_view(series, window)
        digests = digest_of(windows.mean(axis=-1)), digest_of(windows.max(axis=-1))
        optimized = _full(self, params)["graph"] == "optimized"
        return Built(collections=digests, optimize_graph=optimized)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare both digests with those of running sums and doubled windows in NumPy."""
        length, _, window = _shape(params)
        same_units("sliding-window", units, length - window + 1)
        where = f"length {length}, window {window}, seed {seed}"
        same_numbers("sliding-window", results, _reference(length, window, seed), where)
        return Checked(
            right_units=units,
            text=f"means and maxima of all {units} windows equal those of NumPy bit for bit",
        )


@functools.lru_cache(maxsize=16)
def _reference(length: int, window: int, seed: int) -> tuple[int, int]:
    import numpy as np

    series = (field((0,), (length,), seed) * _VALUES).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(series)])
    means = (sums[window:] - sums[:-window]) / window
    # The maximum of a window from those of two halves that may overlap.
    highest, reach = series, 1
    while reach < window:
        step = min(reach, window - reach)
        highest = np.maximum(highest[:-step], highest[step:])
        reach += step
    return digest(means, (0,)), digest(highest.astype(np.float64), (0,))


def _shape(params: Params) -> tuple[int, int, int]:
    full = _full(SLIDING_WINDOW, params)
    length, window = int(full["length"]), int(full["window"])
    chunk = min(int(full["chunk"]), length)
    if window > length:
        raise refuse(
            "sliding-window",
            "a window of at most the length of the series",
            f"window {window}, length {length}",
        )
    if -(-length // chunk) > _MOST_CHUNKS:
        raise refuse(
            "sliding-window",
            f"at most {_MOST_CHUNKS:,} chunks",
            f"length {length} in chunks of {chunk}: {-(-length // chunk):,}",
        )
    return length, chunk, window


SLIDING_WINDOW = SlidingWindow()
