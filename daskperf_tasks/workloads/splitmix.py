"""The output function of SplitMix64, of one number and of many: random bits by position.

Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MASK = 2**64 - 1
#: The generator's step: 2^64 / golden ratio, odd.
GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix(number: int) -> int:
    """Return a number of 64 bits that depends on every bit of another, taken mod 2^64.

    Examples
    --------
    >>> mix(0), hex(mix(1))
    (0, '0x5692161d100b05e5')
    """
    z = number & MASK
    z = ((z ^ (z >> 30)) * _FIRST) & MASK
    z = ((z ^ (z >> 27)) * _SECOND) & MASK
    return z ^ (z >> 31)


def mixed(numbers: Any) -> NDArray[np.uint64]:
    """Return :func:`mix` of numbers, one by one.

    Examples
    --------
    >>> import numpy as np
    >>> [hex(x) for x in mixed(np.arange(2, dtype=np.uint64))]
    ['0x0', '0x5692161d100b05e5']
    """
    import numpy as np

    return mixed_in_place(np.array(numbers, dtype=np.uint64))


def mixed_in_place(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Do the same to an array itself, which needs fewer others, and return it."""
    import numpy as np

    z ^= z >> np.uint64(30)
    z *= np.uint64(_FIRST)
    z ^= z >> np.uint64(27)
    z *= np.uint64(_SECOND)
    z ^= z >> np.uint64(31)
    return z
