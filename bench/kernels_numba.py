"""The kernels as one would write them for Numba: what ``kernels.py`` holds the Cython ones against.

The same operations in the same order, so the same bits. Formulas and the
model: ``kernels/src/daskperf_kernels``. Imported only where Numba is. Indices of
the hot loops are unsigned: no signed one is compiled without a test for the end.
"""

from __future__ import annotations

from math import floor, sqrt
from typing import Any

import numpy as np
from daskperf_kernels import surroundings_python as around
from numba import njit, uint64

LEVELS, RADIUS, FAR, MARGIN = around.LEVELS, around.RADIUS, around.FAR, around.MARGIN
MIDDLE, GROWTH = around.MIDDLE, around.GROWTH
ROWS, COLUMNS = 2 * RADIUS + 1, 2 * RADIUS + 2
STENCIL = around.stencil()
ROOT = np.array([0.0, *(sqrt(byte - 1) for byte in range(1, FAR + 1))])
BLOCK, LANES = 1024, 8
NEXT, COUNT, FIRST, WORDS = 0, 1, 2, 16

#: No fast-math; the GIL is let go as in the Cython kernels.
compiled: Any = njit(nogil=True, error_model="numpy", boundscheck=False)


@compiled
def term(x):
    bump = x * (1.0 - x)
    square = x * x
    w = (((70.0 * x - 315.0) * x + 540.0) * x - 420.0) * x + 126.0
    bump = bump * bump
    w = square * square * x * w
    return bump * bump / (1.0 + w * w)


@compiled
def integrate(n, phase):
    h = 1.0 / n
    shift = phase - floor(phase)
    if shift >= 1.0:
        shift = 0.0
    total = 0.0
    lanes = np.zeros(LANES)
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        first = start + 0.5
        wrap = 1.0 if first * h + shift >= 1.0 else 0.0
        lanes[:] = 0.0
        if count == BLOCK and (wrap == 1.0 or (first + (BLOCK - 1)) * h + shift < 1.0):
            for i in range(0, BLOCK, LANES):
                for lane in range(LANES):
                    lanes[lane] += term((first + i + lane) * h + shift - wrap)
        else:
            for i in range(count):
                x = (first + i) * h + shift
                if x >= 1.0:
                    x -= 1.0
                lanes[i % LANES] += term(x)
        partial = 0.0
        for lane in range(LANES):
            partial += lanes[lane]
        total += partial
    return 2520.0 * total * h


@compiled
def seeded(seed):
    state = np.empty(4, np.uint64)
    counter = uint64(seed)
    for i in range(4):
        counter += uint64(0x9E3779B97F4A7C15)
        z = counter
        z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
        state[i] = z ^ (z >> uint64(31))
    return state


@compiled
def uniform(state):
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    scrambled = s1 * uint64(5)
    scrambled = ((scrambled << uint64(7)) | (scrambled >> uint64(57))) * uint64(9)
    shifted = s1 << uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[0], state[1], state[2] = s0, s1, s2
    state[3] = (s3 << uint64(45)) | (s3 >> uint64(19))
    return np.float64(scrambled >> uint64(11)) * 2.0**-53


@compiled
def direction(state):
    while True:
        a = 2.0 * uniform(state) - 1.0
        b = 2.0 * uniform(state) - 1.0
        s = a * a + b * b
        if s < 1.0:
            scale = 2.0 * sqrt(1.0 - s)
            return a * scale, b * scale, 1.0 - 2.0 * s


@compiled
def grid(start, width, first):
    return width * width, width, start - first * (width * width + width + 1)


@compiled
def grid_of(starts, half, level):
    first = (MIDDLE - half // 2) >> level
    return grid(starts[level], (half >> level) + 2 * MARGIN, first - MARGIN)


@compiled
def cube(grids, which, i, j, k):
    square, width, origin = grids[which]
    return np.uint64(i * square + j * width + k + origin)


@compiled
def add(grids, used, field, lists, blocks, centres, number):
    i = int(centres[number, 0] * 0.5 + MIDDLE)
    j = int(centres[number, 1] * 0.5 + MIDDLE)
    k = int(centres[number, 2] * 0.5 + MIDDLE)
    for level in range(LEVELS):
        middle = cube(grids, level, i >> level, j >> level, k >> level)
        if field[middle] == 0:
            break
        width = grids[level][1]
        corner = middle - (RADIUS * width + RADIUS) * width - RADIUS
        for a in range(ROWS):
            for b in range(ROWS):
                place = corner + (a * width + b) * width
                for c in range(COLUMNS):
                    field[place + c] = min(field[place + c], STENCIL[a, b, c])
    for a in range(i - 1, i + 2):
        for b in range(j - 1, j + 2):
            for c in range(k - 1, k + 2):
                place = cube(grids, LEVELS, a, b, c)
                block = lists[place]
                if block < 0 or blocks[block, COUNT] == WORDS - FIRST:
                    blocks[used, NEXT] = block
                    block = used
                    blocks[block, COUNT] = 0
                    lists[place] = block
                    used += 1
                blocks[block, FIRST + blocks[block, COUNT]] = number
                blocks[block, COUNT] += 1
    return used


@compiled
def face(f):
    return abs(f - ((f + 6755399441055744.0) - 6755399441055744.0))


@compiled
def wall(fx, fy, fz):
    return min(min(face(fx), face(fy)), face(fz))


@compiled
def look(grids, field, lists, x, y, z):
    fx = x * 0.5 + MIDDLE
    fy = y * 0.5 + MIDDLE
    fz = z * 0.5 + MIDDLE
    i = int(fx)
    j = int(fy)
    k = int(fz)
    side = 2.0
    scale = 1.0
    level = 0
    byte = field[cube(grids, 0, i, j, k)]
    while byte == FAR and level < LEVELS - 1:
        level += 1
        side *= 2.0
        scale *= 0.5
        byte = field[cube(grids, level, i >> level, j >> level, k >> level)]
    near = wall(fx * scale, fy * scale, fz * scale)
    if byte <= 1:
        return side * (1.0 + near), lists[cube(grids, LEVELS, i, j, k)]
    return side * (ROOT[byte] + near), np.int32(-1)


@compiled
def nearest_squared(centres, blocks, block, x, y, z):
    nearest = 1e300
    while block >= 0:
        at = np.uint64(block)
        for m in range(FIRST, FIRST + blocks[at, COUNT]):
            i = np.uint32(blocks[at, np.uint64(m)])
            dx = centres[i, 0] - x
            dy = centres[i, 1] - y
            dz = centres[i, 2] - z
            nearest = min(nearest, dx * dx + dy * dy + dz * dz)
        block = blocks[at, NEXT]
    return nearest


@compiled
def first_contact(centres, blocks, block, x, y, z, ux, uy, uz):
    way = 2.0
    while block >= 0:
        at = np.uint64(block)
        for m in range(FIRST, FIRST + blocks[at, COUNT]):
            i = np.uint32(blocks[at, np.uint64(m)])
            dx = centres[i, 0] - x
            dy = centres[i, 1] - y
            dz = centres[i, 2] - z
            along = dx * ux + dy * uy + dz * uz
            if along <= 0.0:
                continue
            miss = dx * dx + dy * dy + dz * dz - along * along
            if miss >= 1.0:
                continue
            way = min(way, max(along - sqrt(1.0 - miss), 0.0))
        block = blocks[at, NEXT]
    return way


@compiled
def returned(state, x, y, z, r, launch):
    ex = x / r
    ey = y / r
    ez = z / r
    far = 1.0 / (r + launch)
    near = 1.0 / (r - launch)
    distance = 1.0 / (far + uniform(state) * (near - far))
    cosine = (r * r + launch * launch - distance * distance) / (2.0 * r * launch)
    cosine = max(min(cosine, 1.0), -1.0)
    sine = sqrt(1.0 - cosine * cosine)
    while True:
        px, py, pz = direction(state)
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


@compiled
def walk(state, grids, field, lists, blocks, centres, launch):
    outer = launch + 1.0
    ux, uy, uz = direction(state)
    x, y, z = launch * ux, launch * uy, launch * uz
    while True:
        ux, uy, uz = direction(state)
        bound, block = look(grids, field, lists, x, y, z)
        if block >= 0:
            nearest = nearest_squared(centres, blocks, block, x, y, z)
            if nearest < bound * bound:
                bound = sqrt(nearest)
        gap = bound - 1.0
        if gap < 1.0:
            way = first_contact(centres, blocks, block, x, y, z, ux, uy, uz)
            if way <= 1.0:
                return x + way * ux, y + way * uy, z + way * uz
            gap = 1.0
        x += gap * ux
        y += gap * uy
        z += gap * uz
        squared = x * x + y * y + z * z
        if squared > outer * outer:
            r = sqrt(squared)
            if uniform(state) * r < launch:
                x, y, z = returned(state, x, y, z, r, launch)
            else:
                ux, uy, uz = direction(state)
                x, y, z = launch * ux, launch * uy, launch * uz


@compiled
def empty(half):
    first = MIDDLE - half // 2
    starts = np.zeros(LEVELS + 1, np.int64)
    for level in range(LEVELS):
        starts[level + 1] = starts[level] + ((half >> level) + 2 * MARGIN) ** 3
    grids = (  # a tuple, so that its length is known
        grid_of(starts, half, 0),
        grid_of(starts, half, 1),
        grid_of(starts, half, 2),
        grid_of(starts, half, 3),
        grid_of(starts, half, 4),
        grid(0, half + 2, first - 1),
    )
    field = np.full(starts[LEVELS], FAR, np.uint8)
    return grids, field, np.full((half + 2) ** 3, -1, np.int32)


@compiled
def aggregate(n, seed):
    state = seeded(seed)
    centres = np.zeros((n, 3))
    blocks = np.empty((27 * n, WORDS), np.int32)
    half = GROWTH
    grids, field, lists = empty(half)
    used = add(grids, 0, field, lists, blocks, centres, 0)
    reach_squared = 0.0
    for count in range(1, n):
        reach = sqrt(reach_squared)
        if reach + 3.0 > half:
            half += GROWTH
            grids, field, lists = empty(half)
            used = 0
            for i in range(count):
                used = add(grids, used, field, lists, blocks, centres, i)
        x, y, z = walk(state, grids, field, lists, blocks, centres, reach + 2.0)
        centres[count, 0] = x
        centres[count, 1] = y
        centres[count, 2] = z
        used = add(grids, used, field, lists, blocks, centres, count)
        reach_squared = max(reach_squared, x * x + y * y + z * z)
    mx = my = mz = total = 0.0
    for i in range(n):
        mx += centres[i, 0]
        my += centres[i, 1]
        mz += centres[i, 2]
    mx /= n
    my /= n
    mz /= n
    for i in range(n):
        dx = centres[i, 0] - mx
        dy = centres[i, 1] - my
        dz = centres[i, 2] - mz
        total += dx * dx + dy * dy + dz * dz
    return centres, sqrt(total / n)
