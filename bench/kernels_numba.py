"""The kernels as one would write them for Numba: what ``kernels.py`` holds the Cython ones against.

The same operations in the same order, so the same bits. Formulas and the
model: ``kernels/src/daskperf_kernels``. Imported only where Numba is.
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
def cube(half, starts, level, i, j, k):
    width = (half >> level) + 2 * MARGIN
    row = ((i >> level) + MARGIN) * width + (j >> level) + MARGIN
    return starts[level] + row * width + (k >> level) + MARGIN


@compiled
def list_of(half, i, j, k):
    return ((i + 1) * (half + 2) + j + 1) * (half + 2) + k + 1


@compiled
def add(half, starts, field, lists, entries, centres, number):
    first = MIDDLE - half // 2
    i = int(centres[number, 0] * 0.5 + MIDDLE) - first
    j = int(centres[number, 1] * 0.5 + MIDDLE) - first
    k = int(centres[number, 2] * 0.5 + MIDDLE) - first
    for level in range(LEVELS):
        middle = cube(half, starts, level, i, j, k)
        if field[middle] == 0:
            break
        width = (half >> level) + 2 * MARGIN
        corner = middle - (RADIUS * width + RADIUS) * width - RADIUS
        for a in range(ROWS):
            for b in range(ROWS):
                place = corner + (a * width + b) * width
                for c in range(COLUMNS):
                    field[place + c] = min(field[place + c], STENCIL[a, b, c])
    used = 27 * number
    for a in range(i - 1, i + 2):
        for b in range(j - 1, j + 2):
            for c in range(k - 1, k + 2):
                place = list_of(half, a, b, c)
                entries[used, 0] = number
                entries[used, 1] = lists[place]
                lists[place] = used
                used += 1


@compiled
def look(half, starts, field, lists, x, y, z):
    first = MIDDLE - half // 2
    fx = x * 0.5 + MIDDLE
    fy = y * 0.5 + MIDDLE
    fz = z * 0.5 + MIDDLE
    i = int(fx) - first
    j = int(fy) - first
    k = int(fz) - first
    side = 2.0
    scale = 1.0
    level = 0
    byte = field[cube(half, starts, 0, i, j, k)]
    while byte == FAR and level < LEVELS - 1:
        level += 1
        side *= 2.0
        scale *= 0.5
        byte = field[cube(half, starts, level, i, j, k)]
    wx = fx * scale
    wy = fy * scale
    wz = fz * scale
    wx -= int(wx)
    wy -= int(wy)
    wz -= int(wz)
    wall = min(min(min(wx, 1.0 - wx), min(wy, 1.0 - wy)), min(wz, 1.0 - wz))
    if byte <= 1:
        return side * (1.0 + wall), lists[list_of(half, i, j, k)]
    return side * (ROOT[byte] + wall), np.int32(-1)


@compiled
def nearest_squared(centres, entries, entry, x, y, z):
    nearest = 1e300
    while entry >= 0:
        i = entries[entry, 0]
        entry = entries[entry, 1]
        dx = centres[i, 0] - x
        dy = centres[i, 1] - y
        dz = centres[i, 2] - z
        nearest = min(nearest, dx * dx + dy * dy + dz * dz)
    return nearest


@compiled
def first_contact(centres, entries, entry, x, y, z, ux, uy, uz):
    way = 2.0
    while entry >= 0:
        i = entries[entry, 0]
        entry = entries[entry, 1]
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
def walk(state, half, starts, field, lists, entries, centres, launch):
    outer = launch + 1.0
    ux, uy, uz = direction(state)
    x, y, z = launch * ux, launch * uy, launch * uz
    while True:
        bound, entry = look(half, starts, field, lists, x, y, z)
        ux, uy, uz = direction(state)
        if entry >= 0:
            nearest = nearest_squared(centres, entries, entry, x, y, z)
            if nearest < bound * bound:
                bound = sqrt(nearest)
        gap = bound - 1.0
        if gap < 1.0:
            way = first_contact(centres, entries, entry, x, y, z, ux, uy, uz)
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
    starts = np.zeros(LEVELS + 1, np.int64)
    for level in range(LEVELS):
        starts[level + 1] = starts[level] + ((half >> level) + 2 * MARGIN) ** 3
    field = np.full(starts[LEVELS], FAR, np.uint8)
    return starts, field, np.full((half + 2) ** 3, -1, np.int32)


@compiled
def aggregate(n, seed):
    state = seeded(seed)
    centres = np.zeros((n, 3))
    entries = np.empty((27 * n, 2), np.int32)
    half = GROWTH
    starts, field, lists = empty(half)
    add(half, starts, field, lists, entries, centres, 0)
    reach_squared = 0.0
    for count in range(1, n):
        reach = sqrt(reach_squared)
        if reach + 3.0 > half:
            half += GROWTH
            starts, field, lists = empty(half)
            for i in range(count):
                add(half, starts, field, lists, entries, centres, i)
        x, y, z = walk(state, half, starts, field, lists, entries, centres, reach + 2.0)
        centres[count, 0] = x
        centres[count, 1] = y
        centres[count, 2] = z
        add(half, starts, field, lists, entries, centres, count)
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
