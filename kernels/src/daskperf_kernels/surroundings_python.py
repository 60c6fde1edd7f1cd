"""What a walker has to know of the cluster around it, at a cost that hardly grows.

The reference of ``_surroundings.pxd``: same numbers, same bits.

Notes
-----
Space is cut into cubes of side 2, 4, 8, 16 and 32 diameters, the levels. Each
cube of a level keeps one byte that bounds its distance from the cluster::

    . . . . . . . . .      #  occupied: a centre lies in the cube            0
    . 5 3 2 2 2 3 5 .      +  touches an occupied cube                       1
    . 3 + + + + + 3 .      n  the squared distance between this cube and
    . 2 + # # # + 2 .         the nearest occupied one, in sides, plus 1
    . 2 + + # + + 2 .
    . 3 + + + + + 3 .      50 an occupied cube is at least 7 sides away: look
    . . . . . . . . .         at the next level

A new centre changes its level only where the byte of its own cube was not 0
yet, by one minimum with a fixed stencil of 15^3 bytes; if the cube was
occupied, so are those of all coarser levels, and nothing is left to do. So
coarse levels cost next to nothing.

Of a point in a cube of side s, w sides away from the nearest face of its cube,
the cluster's centres are at least s (sqrt(byte - 1) + w) away: the ball of
radius w s around it lies in the cube. In the cubes of side 2 that are occupied
or touch an occupied one, a walker may be in contact: they list the centres in
the 27 cubes around, which are all within 2 (1 + w), so all that matter for a
step of one diameter.

The cubes of every level have the origin as a corner and the bytes do not depend
on how much of space is kept: growing the grid changes no bit.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

Vector = tuple[float, float, float]

#: Number of levels; the coarsest sees 7 x 32 diameters far.
LEVELS = 5
#: Cubes on each side of the stencil's middle.
RADIUS = 7
#: The byte of a cube that has no occupied one within the stencil.
FAR = RADIUS * RADIUS + 1
#: Cubes kept beyond the grid on each side, so that a stencil never leaves it.
MARGIN = RADIUS + 1
#: Half the side of the first grid, and what it grows by, in diameters. A multiple
#: of 32, so that the origin is a corner at every level.
GROWTH = 32
#: The cube of side 2 that begins at the origin has this number along each axis.
MIDDLE = 512
#: Half the side of the largest grid; no cluster of 65,536 gets near it.
LARGEST = 2 * MIDDLE


def stencil() -> npt.NDArray[np.uint8]:
    """Return the bytes around an occupied cube, shape (15, 15, 16), the last column idle.

    Examples
    --------
    >>> stencil()[7, 7, 5:10].tolist()
    [2, 1, 0, 1, 2]
    """
    steps = np.abs(np.arange(-RADIUS, RADIUS + 2))
    sides = np.maximum(steps - 1, 0) ** 2
    row = sides[: 2 * RADIUS + 1]
    squared = row[:, None, None] + row[None, :, None] + sides[None, None, :]
    squared = np.minimum(squared + 1, FAR)
    squared[:, :, -1] = FAR  # sixteen bytes are one register
    squared[RADIUS, RADIUS, RADIUS] = 0
    return np.asarray(squared, dtype=np.uint8)


def larger(half: int) -> int:
    """Return half the side of the next larger grid, in diameters.

    Raises
    ------
    MemoryError
        The grid would be larger than the largest.
    """
    half += GROWTH
    if half > LARGEST:
        raise MemoryError(f"aggregate: a cluster of radius {half - GROWTH} needs too large a grid")
    return half


def width(half: int, level: int) -> int:
    """Return the number of cubes along an axis of a level, with the margins."""
    return (half >> level) + 2 * MARGIN


def empty_field(half: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of all levels of an empty grid, one level after the other."""
    return np.full(sum(width(half, level) ** 3 for level in range(LEVELS)), FAR, dtype=np.uint8)


def empty_lists(half: int) -> npt.NDArray[np.int32]:
    """Return where the list of each cube of side 2 begins (-1: empty), with a margin of one."""
    return np.full((half + 2) ** 3, -1, dtype=np.int32)


class Surroundings:
    """The bytes of all levels and the lists of the finest, for centres added one by one.

    Parameters
    ----------
    half : int
        Half the side of the grid in diameters, a multiple of 32. Centres and
        walkers stay within.
    """

    def __init__(self, half: int = GROWTH) -> None:
        self.half = half
        self._first = MIDDLE - half // 2
        widths = [width(half, level) for level in range(LEVELS)]
        self._fields = [np.full((w, w, w), FAR, dtype=np.uint8) for w in widths]
        self._views = [memoryview(field) for field in self._fields]  # type: ignore[arg-type]
        self._stencil = stencil()[:, :, : 2 * RADIUS + 1]
        self._roots = [0.0, 0.0, *(sqrt(byte - 1) for byte in range(2, FAR + 1))]
        self._lists: dict[tuple[int, int, int], list[Vector]] = {}

    def add(self, x: float, y: float, z: float) -> None:
        """Take in the centre of a monomer."""
        i = int(x * 0.5 + MIDDLE) - self._first
        j = int(y * 0.5 + MIDDLE) - self._first
        k = int(z * 0.5 + MIDDLE) - self._first
        for level, field in enumerate(self._fields):
            a = (i >> level) + MARGIN
            b = (j >> level) + MARGIN
            c = (k >> level) + MARGIN
            if field[a, b, c] == 0:
                break
            around = field[
                a - RADIUS : a + RADIUS + 1,
                b - RADIUS : b + RADIUS + 1,
                c - RADIUS : c + RADIUS + 1,
            ]
            np.minimum(around, self._stencil, out=around)
        for a in (i - 1, i, i + 1):
            for b in (j - 1, j, j + 1):
                for c in (k - 1, k, k + 1):
                    self._lists.setdefault((a, b, c), []).append((x, y, z))

    def look(self, x: float, y: float, z: float) -> tuple[float, list[Vector] | None]:
        """Return a lower bound of the distance of all centres, or of all that are not listed.

        Returns
        -------
        bound : float
            In diameters, at least 2.
        listed : list of tuple or None
            Centres that may be nearer than the bound; None: there are none.
        """
        fx = x * 0.5 + MIDDLE
        fy = y * 0.5 + MIDDLE
        fz = z * 0.5 + MIDDLE
        i = int(fx) - self._first
        j = int(fy) - self._first
        k = int(fz) - self._first
        byte = FAR
        side = 1.0
        for level, view in enumerate(self._views):
            side *= 2.0
            byte = view[(i >> level) + MARGIN, (j >> level) + MARGIN, (k >> level) + MARGIN]
            if byte < FAR:
                break
        wx = fx * 2.0 / side
        wy = fy * 2.0 / side
        wz = fz * 2.0 / side
        wx -= int(wx)
        wy -= int(wy)
        wz -= int(wz)
        wall = min(wx, 1.0 - wx, wy, 1.0 - wy, wz, 1.0 - wz)
        if byte <= 1:
            return side * (1.0 + wall), self._lists[i, j, k]
        return side * (self._roots[byte] + wall), None
