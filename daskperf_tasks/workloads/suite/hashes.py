"""Random words by their index: what a task draws depends neither on the chunks nor on the order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


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

    start = _mix(_mix((seed + _GOLDEN) & _MASK) + stream)
    golden = np.uint64(_GOLDEN)
    z = index * golden
    z += np.uint64((start + _GOLDEN) & _MASK)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def _mix(z: int) -> int:
    z &= _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
