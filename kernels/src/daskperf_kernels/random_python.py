"""The random numbers of the kernels, in plain Python.

The kernels bring their own generator because their results are a contract over
hosts and releases, which no library's generator gives for doubles and
directions. ``_random.pxd`` has the same in C; both give the same bits.
"""

from __future__ import annotations

from math import sqrt

_MASK = (1 << 64) - 1


def splitmix(counter: int) -> tuple[int, int]:
    """Return the advanced counter and one 64-bit number of splitmix64.

    Notes
    -----
    Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
    OOPSLA 2014.

    Examples
    --------
    >>> splitmix(1234567)[1]
    6457827717110365317
    """
    counter = (counter + 0x9E3779B97F4A7C15) & _MASK
    z = counter
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return counter, z ^ (z >> 31)


class Xoshiro:
    """Generator xoshiro256**, its state filled from a seed by splitmix64.

    Parameters
    ----------
    seed : int
        From 0 to 2**64 - 1.

    Notes
    -----
    Blackman and Vigna, "Scrambled linear pseudorandom number generators",
    ACM Transactions on Mathematical Software 47(4), 2021.
    """

    __slots__ = ("state",)

    def __init__(self, seed: int) -> None:
        words = []
        for _ in range(4):
            seed, word = splitmix(seed)
            words.append(word)
        self.state: tuple[int, int, int, int] = (words[0], words[1], words[2], words[3])

    def next_uint64(self) -> int:
        """Return the next number, from 0 to 2**64 - 1."""
        s0, s1, s2, s3 = self.state
        scrambled = (s1 * 5) & _MASK
        scrambled = (((scrambled << 7) | (scrambled >> 57)) * 9) & _MASK
        shifted = (s1 << 17) & _MASK
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = ((s3 << 45) | (s3 >> 19)) & _MASK
        self.state = (s0, s1, s2, s3)
        return scrambled

    def uniform(self) -> float:
        """Return a multiple of 2**-53 from [0, 1)."""
        return (self.next_uint64() >> 11) * 2.0**-53

    def direction(self) -> tuple[float, float, float]:
        """Return a unit vector, uniform over the sphere.

        Notes
        -----
        Marsaglia, "Choosing a point from the surface of a sphere", Annals of
        Mathematical Statistics 43, 1972: a point of the unit disc, found by
        rejection, is mapped onto the sphere with one square root. No sine or
        cosine, whose last bit depends on the C library.
        """
        while True:
            a = 2.0 * self.uniform() - 1.0
            b = 2.0 * self.uniform() - 1.0
            s = a * a + b * b
            if s < 1.0:
                scale = 2.0 * sqrt(1.0 - s)
                return a * scale, b * scale, 1.0 - 2.0 * s
