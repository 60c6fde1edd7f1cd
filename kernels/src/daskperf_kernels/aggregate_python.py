"""Diffusion-limited particle-cluster aggregation in plain Python.

The reference of ``_aggregate.pyx``: same numbers, same order, same bits.

Notes
-----
The unit of length is the diameter of a monomer: two monomers touch when their
centres are 1 apart. The first monomer rests at the origin. Each further one
comes from far away, diffuses, and sticks where it first touches the cluster
(hit and stick: no rolling, no restructuring).

::

        . . . . outer sphere, launch + 1: beyond it, escape or return
      .  _____  .
     .  /     \\  .   launch sphere, reach + 2: a walker from infinity
    .  |  o    |  .  first meets it uniformly
    .  |   oo  |  .
     .  \\_o___/  .   reach: the centre farthest from the origin
      .         .
        . . . .

One step of a walker, of which ``surroundings_python.py`` knows how far away all
centres are at least, hence a lower bound g of the way to contact:

- g >= 1: a jump of length g in a random direction. Nothing can be hit inside
  the empty ball of radius g, and from its centre Brownian motion leaves it
  uniformly: the walk on spheres (Muller, Annals of Mathematical Statistics 27,
  1956). A smaller ball than the largest empty one changes the number of steps,
  not where Brownian motion goes.
- else the gap is known exactly and less than 1: a straight step of one diameter
  in a random direction. The first contact along it is found exactly, and there
  the walker sticks. This is the usual off-lattice model (Tolman and Meakin,
  Physical Review A 40, 428, 1989; the model itself: Witten and Sander, Physical
  Review Letters 47, 1400, 1981).
- beyond the outer sphere, at distance r: the walker never returns with
  probability 1 - R/r, where R is the radius of the launch sphere, and a new one
  is launched; else it comes back to the launch sphere with the density of the
  exterior Poisson kernel, proportional to D^-3, where D is the distance from
  the old to the new point. Integrated over the sphere this makes 1/D uniform
  between 1/(r + R) and 1/(r - R). So no walk is cut off at an arbitrary radius.

A monomer takes about 80 steps whatever the size of the cluster, and each looks at
a few numbers: the time grows little faster than n. (Hierarchies of empty cubes
for this purpose: Ball and Brady, Journal of Physics A 18, L809, 1985.)

Only +, -, *, / and square roots are used, each rounded as IEEE 754 demands.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from daskperf_kernels.random_python import Xoshiro
from daskperf_kernels.surroundings_python import Surroundings, Vector, larger

#: Length of a step near the cluster, in diameters.
STEP = 1.0


def _nearest_squared(centres: list[Vector], x: float, y: float, z: float) -> float:
    """Return the squared distance of the nearest centre."""
    nearest = 1e300
    for cx, cy, cz in centres:
        dx = cx - x
        dy = cy - y
        dz = cz - z
        squared = dx * dx + dy * dy + dz * dz
        if squared < nearest:
            nearest = squared
    return nearest


def _first_contact(
    centres: list[Vector], x: float, y: float, z: float, ux: float, uy: float, uz: float
) -> float:
    """Return the way along (ux, uy, uz) to the first contact; above STEP: none."""
    way = 2.0 * STEP
    for cx, cy, cz in centres:
        dx = cx - x
        dy = cy - y
        dz = cz - z
        along = dx * ux + dy * uy + dz * uz
        if along <= 0.0:
            continue
        miss = dx * dx + dy * dy + dz * dz - along * along
        if miss >= 1.0:
            continue
        t = along - sqrt(1.0 - miss)
        if t < 0.0:  # touching already, but for the rounding
            t = 0.0
        if t < way:
            way = t
    return way


def _return_to_sphere(
    random: Xoshiro, x: float, y: float, z: float, r: float, launch: float
) -> Vector:
    """Draw where a walker at distance ``r`` that comes back first meets the launch sphere."""
    ex = x / r
    ey = y / r
    ez = z / r
    far = 1.0 / (r + launch)
    near = 1.0 / (r - launch)
    distance = 1.0 / (far + random.uniform() * (near - far))
    cosine = (r * r + launch * launch - distance * distance) / (2.0 * r * launch)
    if cosine > 1.0:
        cosine = 1.0
    if cosine < -1.0:
        cosine = -1.0
    sine = sqrt(1.0 - cosine * cosine)
    while True:  # a uniform direction across e
        px, py, pz = random.direction()
        along = px * ex + py * ey + pz * ez
        px -= along * ex
        py -= along * ey
        pz -= along * ez
        squared = px * px + py * py + pz * pz
        if squared > 1e-6:
            break
    across = sine / sqrt(squared)
    return (
        launch * (cosine * ex + across * px),
        launch * (cosine * ey + across * py),
        launch * (cosine * ez + across * pz),
    )


def _launched(random: Xoshiro, launch: float) -> Vector:
    ux, uy, uz = random.direction()
    return launch * ux, launch * uy, launch * uz


def _walk(random: Xoshiro, surroundings: Surroundings, launch: float) -> Vector:
    """Let walkers come until one sticks; return where."""
    outer = launch + 1.0
    x, y, z = _launched(random, launch)
    while True:
        bound, listed = surroundings.look(x, y, z)
        ux, uy, uz = random.direction()
        if listed is not None:
            nearest = _nearest_squared(listed, x, y, z)
            if nearest < bound * bound:
                bound = sqrt(nearest)
        gap = bound - 1.0
        if gap < STEP:
            assert listed is not None  # else the bound is at least 2
            way = _first_contact(listed, x, y, z, ux, uy, uz)
            if way <= STEP:
                return x + way * ux, y + way * uy, z + way * uz
            gap = STEP
        x += gap * ux
        y += gap * uy
        z += gap * uz
        squared = x * x + y * y + z * z
        if squared > outer * outer:
            r = sqrt(squared)
            if random.uniform() * r < launch:
                x, y, z = _return_to_sphere(random, x, y, z, r, launch)
            else:
                x, y, z = _launched(random, launch)


def _radius_of_gyration(centres: list[Vector]) -> float:
    n = float(len(centres))
    mx = my = mz = 0.0
    for x, y, z in centres:
        mx += x
        my += y
        mz += z
    mx /= n
    my /= n
    mz /= n
    total = 0.0
    for x, y, z in centres:
        dx = x - mx
        dy = y - my
        dz = z - mz
        total += dx * dx + dy * dy + dz * dz
    return sqrt(total / n)


def aggregate(
    n: int, seed: int, around: type[Surroundings] = Surroundings
) -> tuple[npt.NDArray[np.float64], float]:
    """Grow one cluster; the arguments are valid already."""
    random = Xoshiro(seed)
    centres: list[Vector] = [(0.0, 0.0, 0.0)]
    surroundings = around()
    surroundings.add(0.0, 0.0, 0.0)
    reach_squared = 0.0
    while len(centres) < n:
        reach = sqrt(reach_squared)
        if reach + 3.0 > surroundings.half:
            surroundings = around(larger(surroundings.half))
            for x, y, z in centres:
                surroundings.add(x, y, z)
        x, y, z = _walk(random, surroundings, reach + 2.0)
        centres.append((x, y, z))
        surroundings.add(x, y, z)
        squared = x * x + y * y + z * z
        if squared > reach_squared:
            reach_squared = squared
    return np.array(centres, dtype=np.float64), _radius_of_gyration(centres)
