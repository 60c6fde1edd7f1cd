"""Column means of squared normal numbers, by chunk size: the workshop's chunking exercise.

``x = da.random.default_rng(seed).normal(size=(size, size), chunks=(chunk, chunk))``, then
``(x * x).mean(axis=0)``. Dask draws every chunk from a stream of its own, so the numbers
depend on the chunking: other chunks are other numbers of the same kind.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.compare import refuse, same_units
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Chance of a right result that looks wrong, all columns together.
_FALSE_ALARM = 1e-12
#: Relative difference that another order of adding may make.
_TOLERANCE = 1e-12
_MOST_BLOCKS = 65_536
#: Numbers that the reference holds at a time.
_SLAB = 1_000_000
_PARAMS: Mapping[str, ParamSpec] = {
    "size": ParamSpec(kind=int, default=8_000, minimum=1, maximum=100_000),
    "chunk": ParamSpec(kind=int, default=1_000, minimum=1, maximum=100_000),
    "graph": GRAPH_PARAM,
}


def chunk_bytes(params: Params) -> int:
    """Return the bytes of one whole chunk of the array.

    Examples
    --------
    >>> [chunk_bytes({"chunk": chunk}) for chunk in (250, 1000, 4000)]
    [500000, 8000000, 128000000]
    """
    _, chunk = _shape(params)
    return 8 * chunk * chunk


@dataclass(frozen=True, slots=True)
class ChunkedMeans:
    """Means of the columns of a ``size`` x ``size`` array of squared normal numbers."""

    name: str = "chunked-means"
    version: int = 1
    unit: str = "element"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Side of the array and of a chunk, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 15 ns an element: drawing it takes most of the time."""
        return 1.5e-8

    def own_units(self, params: Params) -> int:
        """Return the elements of the array."""
        return _shape(params)[0] ** 2

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the column means.

        Raises
        ------
        InputError
            When the chunks are too many.
        """
        import dask.array as da

        size, chunk = _shape(params)
        x = da.random.default_rng(seed).normal(size=(size, size), chunks=(chunk, chunk))
        optimized = _full(self, params)["graph"] == "optimized"
        return Built(collections=((x * x).mean(axis=0),), optimize_graph=optimized)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Test all means against what chance allows, and one column of chunks exactly.

        Notes
        -----
        A column's mean is chi-squared with n = ``size`` degrees of freedom, over n. With
        k = sqrt(2 t), each of the two limits 1 - k sqrt(2 / n) and
        1 + k sqrt(2 / n) + k^2 / n is passed with a chance of at most exp(-t) (Laurent and
        Massart, Ann. Statist. 28, 2000, lemma 1); t is taken so that this is 1e-12 in all
        columns together.
        """
        import numpy as np

        size, chunk = _shape(params)
        same_units("chunked-means", units, size * size)
        where = f"{size} x {size} in chunks of {chunk}, seed {seed}"
        means = np.asarray(results[0]) if len(results) == 1 else np.empty(0)
        if means.shape != (size,) or means.dtype != np.float64:
            raise CorrectnessError(
                "chunked-means: the result has another shape",
                where=where,
                expected=f"one array of {size} floats",
                found=f"{len(results)} results, {means.dtype} of shape {means.shape}",
            )
        low, high, k = limits(size)
        wrong = ~((means >= low) & (means <= high))
        if wrong.any():
            column = int(wrong.argmax())
            raise CorrectnessError(
                "chunked-means: no mean of squared normal numbers is so far from 1",
                where=f"{where}, column {column}",
                expected=f"{low:.6g} to {high:.6g}",
                found=repr(float(means[column])),
            )
        columns, expected = _reference(size, chunk, seed)
        off = np.abs(means[columns] - expected) > _TOLERANCE * expected
        if off.any():
            column = int(off.argmax())
            raise CorrectnessError(
                "chunked-means: a column's mean differs from NumPy's",
                where=f"{where}, column {columns.start + column}",
                expected=f"{float(expected[column])!r} within {_TOLERANCE:g}",
                found=repr(float(means[columns][column])),
            )
        return Checked(
            right_units=units,
            text=f"columns {columns.start} to {columns.stop - 1} equal NumPy's from the same "
            f"seeds within {_TOLERANCE:g}; all {size} means lie within {k:.2f} standard "
            "deviations of 1 (and k^2/n above)",
        )


def limits(size: int) -> tuple[float, float, float]:
    """Return the limits of a column's mean, and k.

    Examples
    --------
    >>> low, high, k = limits(8000)
    >>> f"{low:.3f} {high:.3f} {k:.2f}"
    '0.863 1.146 8.64'
    """
    t = math.log(2 * size / _FALSE_ALARM)
    k = math.sqrt(2 * t)
    spread = k * math.sqrt(2 / size)
    return 1 - spread, 1 + spread + k * k / size, k


@functools.lru_cache(maxsize=16)
def _reference(size: int, chunk: int, seed: int) -> tuple[slice, NDArray[np.float64]]:
    """Return the columns of the middle column of chunks, and their means.

    Dask spawns one seed sequence a chunk, in the order of rows of chunks.
    """
    import numpy as np

    across = -(-size // chunk)
    middle = across // 2
    columns = slice(middle * chunk, min((middle + 1) * chunk, size))
    wide = columns.stop - columns.start
    total = np.zeros(wide)
    for row in range(across):
        sequence = np.random.SeedSequence(seed, spawn_key=(row * across + middle,))
        rng = np.random.Generator(np.random.PCG64(sequence))
        left = min(chunk, size - row * chunk)
        while left:
            rows = min(left, max(1, _SLAB // wide))
            x = rng.standard_normal((rows, wide))
            total += np.einsum("ij,ij->j", x, x)
            left -= rows
    return columns, total / size


def _shape(params: Params) -> tuple[int, int]:
    full = _full(CHUNKED_MEANS, params)
    size = int(full["size"])
    chunk = min(int(full["chunk"]), size)
    blocks = (-(-size // chunk)) ** 2
    if blocks > _MOST_BLOCKS:
        raise refuse(
            "chunked-means",
            f"at most {_MOST_BLOCKS:,} chunks",
            f"size {size} in chunks of {chunk}: {blocks:,}",
        )
    return size, chunk


CHUNKED_MEANS = ChunkedMeans()
