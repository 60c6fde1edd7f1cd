"""Made-up numbers that follow from seed and position, and digests that depend on position.

Whatever the chunks, the same array; and a digest that is a sum modulo 2^64 is the same
to the bit in whatever order its parts are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from daskperf_tasks.workloads.splitmix import GOLDEN, mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Odd multipliers that spread the index of each axis over 64 bits (golden ratio; MurmurHash3).
SPREAD = (GOLDEN, 0xFF51AFD7ED558CCD)


def positions(starts: Sequence[int], shape: Sequence[int]) -> NDArray[np.uint64]:
    """Return a number for each position of a block of one or two axes, other for each.

    Parameters
    ----------
    starts, shape
        Where the block begins in its array, and how large it is.

    Returns
    -------
    numpy.ndarray
        ``uint64`` of that shape: the sum over the axes of index times ``SPREAD``, mod 2^64.
    """
    import numpy as np

    axes = [
        np.arange(start, start + length, dtype=np.uint64) * np.uint64(spread)
        for start, length, spread in zip(starts, shape, SPREAD, strict=False)
    ]
    return axes[0] if len(axes) == 1 else axes[0][:, None] + axes[1][None, :]


def field(starts: Sequence[int], shape: Sequence[int], seed: int) -> NDArray[np.float64]:
    """Return a block of an array of numbers that look evenly drawn from [0, 1).

    Examples
    --------
    >>> whole = field((0, 0), (4, 6), seed=1)
    >>> bool((field((2, 3), (2, 3), seed=1) == whole[2:, 3:]).all())
    True
    """
    import numpy as np

    key = mixed(np.array([seed + 1], dtype=np.uint64))
    bits = mixed(positions(starts, shape) ^ key)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def field_block(seed: int, block_info: Any = None) -> NDArray[np.float64]:
    """Make one block of a Dask array of made-up numbers where the task runs."""
    place = block_info[None]["array-location"]
    return field([a for a, _ in place], [b - a for a, b in place], seed)


def field_array(shape: tuple[int, ...], chunks: tuple[int, ...], seed: int) -> Any:
    """Return a Dask array of made-up numbers, one task a block."""
    import dask.array as da
    import numpy as np
    from dask.array.core import normalize_chunks

    split = normalize_chunks(chunks, shape, dtype=np.float64)
    return da.map_blocks(
        field_block, seed, chunks=split, dtype=np.float64, meta=np.empty((0,) * len(shape))
    )


def digest(values: NDArray[np.float64], starts: Sequence[int] = (0, 0)) -> int:
    """Return the sum modulo 2^64 of the bits of each value times an odd weight of its place.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(12.0).reshape(3, 4)
    >>> (digest(x[:, :1]) + digest(x[:, 1:], (0, 1))) % 2**64 == digest(x)
    True
    >>> digest(x) == digest(x[:, ::-1])
    False
    """
    import numpy as np

    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    weights = positions(starts, values.shape) * np.uint64(2) + np.uint64(1)
    return int((bits * weights).sum(dtype=np.uint64))


def digest_block(block: Any, block_info: Any = None) -> NDArray[np.uint64]:
    """Return the digest of one block of a Dask array, as an array of one number."""
    import numpy as np

    starts = [a for a, _ in block_info[0]["array-location"]]
    return np.full((1,) * block.ndim, digest(block, starts), dtype=np.uint64)


def digest_of(array: Any) -> Any:
    """Return the digest of a Dask array, a Dask array of no axes."""
    return sum_of_blocks(array, digest_block)


def sum_of_blocks(array: Any, function: Any) -> Any:
    """Return the sum modulo 2^64 of what a function makes of each block of a Dask array.

    Parameters
    ----------
    function
        Takes a block and ``block_info``; returns one ``uint64`` in an array of as many axes.
    """
    import numpy as np

    ones = tuple((1,) * len(sizes) for sizes in array.chunks)
    meta = np.empty((0,) * array.ndim, dtype=np.uint64)
    parts = array.map_blocks(function, chunks=ones, dtype=np.uint64, meta=meta)
    return parts.sum(dtype=np.uint64)
