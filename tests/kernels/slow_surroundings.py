"""The slow obvious twins of ``Surroundings``: no grid, no update, every centre looked at."""

from __future__ import annotations

from math import floor, sqrt
from types import ModuleType

import numpy as np

Vector = tuple[float, float, float]


class AllCentres:
    """The same answers straight from their definition, in time proportional to n."""

    def __init__(self, half: int = 32) -> None:
        self.half = half
        self.centres: list[Vector] = []

    def add(self, x: float, y: float, z: float) -> None:
        self.centres.append((x, y, z))

    def look(self, x: float, y: float, z: float) -> tuple[float, list[Vector] | None]:
        for side in (2, 4, 8, 16, 32):
            cube = np.floor(np.array([x, y, z]) / side)
            between = np.maximum(np.abs(np.floor(np.array(self.centres) / side) - cube) - 1, 0)
            squared = min(int((between**2).sum(axis=1).min()), 49)
            # Beyond 7 cubes along an axis nothing is seen, nor is what is 7 sides away.
            if squared < 49 or side == 32:
                break
        walls = [v / 2 + 512 for v in (x, y, z)]
        walls = [w * 2 / side - floor(w * 2 / side) for w in walls]
        wall = min(min(w, 1.0 - w) for w in walls)
        if squared == 0:
            return side * (1.0 + wall), self.centres
        return side * (sqrt(squared) + wall), None


def watched(kernels: ModuleType) -> type:
    """Surroundings that check at every step where the walker is, against all centres."""
    real = kernels.surroundings_python.Surroundings

    class Watched(real):  # type: ignore[misc, valid-type]
        def __init__(self, half: int = 32) -> None:
            super().__init__(half)
            self.centres: list[Vector] = []

        def add(self, x: float, y: float, z: float) -> None:
            super().add(x, y, z)
            self.centres.append((x, y, z))

        def look(self, x: float, y: float, z: float) -> tuple[float, list[Vector] | None]:
            bound, listed = super().look(x, y, z)
            apart = distances_from(self.centres, (x, y, z))
            assert apart.min() >= 1.0 - 1e-9, "a step went into a monomer"
            assert bound >= 2.0
            near = {c for c, d in zip(self.centres, apart, strict=True) if d < bound - 1e-9}
            assert near <= set(listed or ()), "a centre is nearer than the bound and not listed"
            return bound, listed

    return Watched


def distances_from(centres: list[Vector], point: Vector) -> np.ndarray:
    apart = np.array(centres) - np.array(point)
    return np.asarray(np.sqrt((apart**2).sum(axis=1)))
