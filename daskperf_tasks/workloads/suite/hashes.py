"""Random words by their index: what a task draws depends neither on the chunks nor on the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskperf_tasks.workloads.splitmix import GOLDEN, MASK, mix, mixed_in_place

if TYPE_CHECKING:
    from numpy.typing import NDArray


def words(seed: int, stream: int, first: int, stop: int) -> NDArray[Any]:
    """Return the words ``first`` to ``stop`` (excluded) of a stream, as uint64.

    Parameters
    ----------
    seed
        At least 0.
    stream
        Independent streams of one seed have different numbers, at least 0.

    Examples
    --------
    >>> bool((words(7, 1, 0, 10)[4:] == words(7, 1, 4, 10)).all())
    True
    """
    import numpy as np

    return words_at(seed, stream, np.arange(first, stop, dtype=np.uint64))


def words_at(seed: int, stream: int, index: NDArray[Any]) -> NDArray[Any]:
    """Return the words of these indices (uint64, any shape).

    Notes
    -----
    SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
    OOPSLA 2014): word i is the finaliser of start + (i + 1) * golden. The start is a word
    of the stream's number and the seed by the same finaliser.
    """
    import numpy as np

    start = mix(mix(seed + GOLDEN) + stream)
    z = index * np.uint64(GOLDEN)
    z += np.uint64((start + GOLDEN) & MASK)
    return mixed_in_place(z)
