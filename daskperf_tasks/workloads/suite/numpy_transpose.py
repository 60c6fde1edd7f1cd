"""``numpy-size-p``: a random matrix plus its transpose, a strided part of it, means, their sum.

With x of size x size in p x p blocks and y = x + x.T: the sum of the means of the rows of
``y[::2, size // 2:]``. The matrix is the same one whatever p.

Properties of the graphs beside those of Böhm and Beránek 2020, Table I (tasks; tasks / arcs /
longest path seen with Dask 2026.8):

=============  ======  =====================  =======================
cell           paper   ``"optimized"``        ``"low-level"``
=============  ======  =====================  =======================
numpy-50K-10   209     144 / 163 / 5          319 / 343 / 9
numpy-50K-50   4,892   3,567 / 4,166 / 7      7,443 / 8,067 / 11
numpy-50K-100  19,334  14,184 / 16,633 / 8    29,435 / 31,934 / 12
numpy-50K-200  77,067  56,767 / 66,666 / 9    117,268 / 127,267 / 13
=============  ======  =====================  =======================

The paper lies between the two, nearer to ``optimized``, with p^2 / 2 + 3 p / 2 tasks more for each
p. The counts are those of a graph that has two tasks, not one, for each of the p^2 / 2 blocks of
the part, and fuses neither the p / 2 blocks on the diagonal nor the p partial means of a single
input with their only user.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.compare import near_number
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.hashes import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PARAMS: Mapping[str, ParamSpec] = {
    "size": ParamSpec(kind=int, default=2_000, minimum=2, maximum=200_000),
    "p": ParamSpec(kind=int, default=10, minimum=1, maximum=400),
    "graph": GRAPH_PARAM,
}
#: Relative; the elements are exact, only the means and their sum are rounded.
_TOLERANCE = 1e-12
_BITS = 32


def random_block(seed: int, rows: tuple[int, int], columns: tuple[int, int]) -> NDArray[Any]:
    """Return a block of the matrix, float64 of shape (rows, columns); runs where the task runs.

    Notes
    -----
    Element (r, c) is the fraction of u[r] + v[c], where u and v are random multiples of
    2^-32 below 1: uniform, exact in double precision, and pairwise independent.
    """
    import numpy as np

    u, v = (
        (words(seed, stream, *bounds) >> np.uint64(64 - _BITS)) * 2.0**-_BITS
        for stream, bounds in enumerate((rows, columns))
    )
    block = u[:, None] + v[None, :]
    np.subtract(block, block >= 1, out=block)
    return block


@dataclass(frozen=True, slots=True)
class NumpyTranspose:
    """The sum of means of a part of a random matrix plus its transpose."""

    name: str = "numpy"
    version: int = 1
    unit: str = "element"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Rows and columns of the matrix, blocks along each, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time to draw, add and reduce an element."""
        return 1e-8

    def own_units(self, params: Params) -> int:
        """Return size^2."""
        size, _ = self._sizes(params)
        return size * size

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the sum of the means."""
        import dask.array as da
        import numpy as np
        from dask.base import tokenize
        from dask.highlevelgraph import HighLevelGraph

        size, p = self._sizes(params)
        bounds = list(pairwise(i * size // p for i in range(p + 1)))
        source = f"random-{tokenize(seed, size, p)}"
        # A materialized layer, as dask.array.random has: Dask would fuse a blockwise one
        # into both of its users and draw every block twice.
        tasks = {
            (source, i, j): (random_block, seed, rows, columns)
            for i, rows in enumerate(bounds)
            for j, columns in enumerate(bounds)
        }
        lengths = tuple(stop - first for first, stop in bounds)
        layers = HighLevelGraph.from_collections(source, tasks)
        x = da.Array(layers, source, chunks=(lengths, lengths), dtype=np.float64)
        y = x + x.T
        result = y[::2, size // 2 :].mean(axis=1).sum()
        optimize = _full(self, params)["graph"] == "optimized"
        return Built(collections=(result,), optimize_graph=optimize)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare with the sum by sorted u and v, for which no matrix is made."""
        size, _ = self._sizes(params)
        expected = _sum_of_means(size, seed)
        wrong = "numpy: the sum of the means is wrong"
        where = f"seed {seed}, {size} x {size}"
        near_number(wrong, results, expected, _TOLERANCE * expected, where)
        return Checked(
            right_units=size * size,
            text=f"the sum of the means is {expected!r} within {_TOLERANCE:g} of it, as by "
            "whole numbers",
        )

    def _sizes(self, params: Params) -> tuple[int, int]:
        full = _full(self, params)
        size, p = int(full["size"]), int(full["p"])
        if p > size // 2:
            raise InputError(
                "workload 'numpy': blocks of less than two rows",
                expected=f"p of at most size / 2 = {size // 2:,}",
                found=f"p = {p:,}",
            )
        return size, p


@functools.lru_cache(maxsize=16)
def _sum_of_means(size: int, seed: int) -> float:
    """Return the result by whole numbers, in O(size log size).

    The sum of the fractions of u + v over all pairs is that of u + v less the number of
    pairs with u + v >= 1, which sorting tells.
    """
    import numpy as np

    u, v = (words(seed, stream, 0, size) >> np.uint64(64 - _BITS) for stream in (0, 1))
    half = size // 2
    # x[r, c] takes u of the row and v of the column, x.T[r, c] = x[c, r] the other way round.
    parts = _fractions(u[::2], v[half:]) + _fractions(v[::2], u[half:])
    return float(parts / 2**_BITS / (size - half))


def _fractions(a: NDArray[Any], b: NDArray[Any]) -> int:
    import numpy as np

    whole = 1 << _BITS
    least = np.uint64(whole) - a
    carries = len(a) * len(b) - int(np.searchsorted(np.sort(b), least, side="left").sum())
    return int(a.sum()) * len(b) + int(b.sum()) * len(a) - whole * carries


NUMPY = NumpyTranspose()
