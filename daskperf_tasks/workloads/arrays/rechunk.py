"""From chunks of columns to chunks of rows: every input chunk goes into every output chunk.

What is done with the rows needs them whole, so no shortcut avoids the exchange.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.workloads.arrays.fields import field, field_array, sum_of_blocks
from daskperf_tasks.workloads.arrays.p2p import need_cluster
from daskperf_tasks.workloads.compare import refuse, same_numbers, same_units
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.splitmix import mix, mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The most chunks of a side; the exchange has the square of it.
_MOST_CHUNKS = 512
#: Rows that the reference holds at a time.
_SLAB = 256
_PARAMS: Mapping[str, ParamSpec] = {
    "size": ParamSpec(kind=int, default=4_000, minimum=1, maximum=100_000),
    "chunk": ParamSpec(kind=int, default=500, minimum=1, maximum=100_000),
    "method": ParamSpec(kind=str, default="default", choices=("default", "p2p", "tasks")),
    "graph": GRAPH_PARAM,
}


def rows_digest(block: NDArray[np.float64], block_info: Any = None) -> NDArray[np.uint64]:
    """Return the sum modulo 2^64 of the digests of a block's rows, in an array of one number.

    A row's digest depends on the order of its values and on its place, and is mixed: it
    cannot be had from the digests of its parts without adding them up first.
    """
    import numpy as np

    first = block_info[0]["array-location"][0][0]
    bits = np.ascontiguousarray(block).view(np.uint64)
    weights = 2 * np.arange(block.shape[1], dtype=np.uint64) + np.uint64(1)
    rows = (bits * weights).sum(axis=1, dtype=np.uint64)
    places = np.arange(first, first + len(rows), dtype=np.uint64)
    return np.full((1, 1), mixed(mixed(rows) + places).sum(dtype=np.uint64))


@dataclass(frozen=True, slots=True)
class Rechunk:
    """An array of ``size`` x ``size``, from ``size`` x ``chunk`` to ``chunk`` x ``size``."""

    name: str = "rechunk"
    version: int = 1
    unit: str = "element"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Side of the array, columns or rows of a chunk, method, and the form of the graph.

        The method ``default`` is Dask's choice: tasks without a cluster and for small
        graphs, else peer to peer.
        """
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 25 ns an element."""
        return 2.5e-8

    def own_units(self, params: Params) -> int:
        """Return the elements of the array."""
        return _shape(params)[0] ** 2

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the digest of all rows.

        Raises
        ------
        InputError
            When the chunks are too many, or the method needs a cluster and there is none.
        """
        size, chunk = _shape(params)
        full = _full(self, params)
        method = None if full["method"] == "default" else str(full["method"])
        if method == "p2p":
            need_cluster("rechunk")
        columns = field_array((size, size), (size, chunk), seed)
        rows = columns.rechunk((chunk, size), method=method)
        optimized = full["graph"] == "optimized"
        return Built(collections=(sum_of_blocks(rows, rows_digest),), optimize_graph=optimized)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the digest with that of the rows of a NumPy array that was never chunked."""
        size = _shape(params)[0]
        same_units("rechunk", units, size * size)
        where = f"{size} x {size}, seed {seed}"
        same_numbers("rechunk", results, (_reference(size, seed),), where)
        return Checked(
            right_units=units,
            text=f"the digests of all {size} rows equal those of NumPy bit for bit",
        )


@functools.lru_cache(maxsize=16)
def _reference(size: int, seed: int) -> int:
    import numpy as np

    weights = np.arange(1, 2 * size, 2, dtype=np.uint64)
    total = 0
    for first in range(0, size, _SLAB):
        slab = field((first, 0), (min(_SLAB, size - first), size), seed)
        rows = slab.view(np.uint64) @ weights
        total += sum(mix(mix(row) + first + i) for i, row in enumerate(rows.tolist()))
    return total % 2**64


def _shape(params: Params) -> tuple[int, int]:
    full = _full(RECHUNK, params)
    size = int(full["size"])
    chunk = min(int(full["chunk"]), size)
    if -(-size // chunk) > _MOST_CHUNKS:
        raise refuse(
            "rechunk",
            f"at most {_MOST_CHUNKS} chunks a side",
            f"size {size} in chunks of {chunk}: {-(-size // chunk):,}",
        )
    return size, chunk


RECHUNK = Rechunk()
