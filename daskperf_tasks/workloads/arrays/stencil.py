"""Heat on a square plate: Jacobi steps of a five-point stencil, chunks trading their rims.

Each step, every chunk needs a row or column of each of its four neighbours
(``map_overlap``): many small transfers, and no chunk may run ahead of its neighbours by
more than a step.
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

#: The most blocks of a step: each costs about twenty tasks a step.
_MOST_BLOCKS = 4_096
_PARAMS: Mapping[str, ParamSpec] = {
    "size": ParamSpec(kind=int, default=2_000, minimum=1, maximum=100_000),
    "chunk": ParamSpec(kind=int, default=500, minimum=1, maximum=100_000),
    "steps": ParamSpec(kind=int, default=10, minimum=1, maximum=1_000),
    "graph": GRAPH_PARAM,
}


def jacobi_step(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a block after one step; its outermost cells belong to its neighbours."""
    import numpy as np

    after = np.zeros_like(block)
    vertical = block[:-2, 1:-1] + block[2:, 1:-1]
    horizontal = block[1:-1, :-2] + block[1:-1, 2:]
    after[1:-1, 1:-1] = (vertical + horizontal) * 0.25
    return after


@dataclass(frozen=True, slots=True)
class Stencil:
    """``steps`` Jacobi steps on a plate of ``size`` x ``size`` cells, 0 all around it."""

    name: str = "stencil"
    version: int = 1
    unit: str = "cell update"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Cells of a side of the plate and of a chunk, steps, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 10 ns a cell and step."""
        return 1e-8

    def own_units(self, params: Params) -> int:
        """Return cells times steps."""
        size, _, steps = _shape(params)
        return size * size * steps

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the digest of the plate after all steps.

        Raises
        ------
        InputError
            When the chunks are too many.
        """
        import numpy as np

        size, chunk, steps = _shape(params)
        plate = field_array((size, size), (chunk, chunk), seed)
        for _ in range(steps):
            plate = plate.map_overlap(
                jacobi_step, depth=1, boundary=0.0, dtype=np.float64, meta=np.empty((0, 0))
            )
        optimized = _full(self, params)["graph"] == "optimized"
        return Built(collections=(digest_of(plate),), optimize_graph=optimized)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the digest with that of the same steps on one NumPy array, to the bit."""
        size, _, steps = _shape(params)
        same_units("stencil", units, size * size * steps)
        where = f"{size} x {size} cells, {steps} steps, seed {seed}"
        same_numbers("stencil", results, (_reference(size, steps, seed),), where)
        return Checked(
            right_units=units,
            text=f"all {size * size} cells equal those of {steps} steps in NumPy bit for bit",
        )


@functools.lru_cache(maxsize=16)
def _reference(size: int, steps: int, seed: int) -> int:
    import numpy as np

    plate = field((0, 0), (size, size), seed)
    for _ in range(steps):
        up, left = np.zeros_like(plate), np.zeros_like(plate)
        up[1:], left[:, 1:] = plate[:-1], plate[:, :-1]
        up[:-1] += plate[1:]
        left[:, :-1] += plate[:, 1:]
        plate = (up + left) / 4
    return digest(plate)


def _shape(params: Params) -> tuple[int, int, int]:
    full = _full(STENCIL, params)
    size, steps = int(full["size"]), int(full["steps"])
    chunk = min(int(full["chunk"]), size)
    blocks = (-(-size // chunk)) ** 2
    if blocks > _MOST_BLOCKS:
        raise refuse(
            "stencil",
            f"at most {_MOST_BLOCKS:,} chunks",
            f"size {size} in chunks of {chunk}: {blocks:,}",
        )
    return size, chunk, steps


STENCIL = Stencil()
