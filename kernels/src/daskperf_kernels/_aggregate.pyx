"""Diffusion-limited particle-cluster aggregation, compiled.

The model, its drawing and its sources are in ``aggregate_python.py``. Every
floating-point operation here has its twin there, in the same order.
"""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint8_t, uint64_t

from daskperf_kernels._random cimport Xoshiro, seed_generator, uniform
from daskperf_kernels._surroundings cimport (
    COUNT, FIRST, NEXT, WORDS, Bound, Layout, Word, add, lay_out, look,
)

import numpy as np

from daskperf_kernels import surroundings_python

ctypedef struct Vector:
    double x
    double y
    double z

# What a cluster that is not complete is resumed from.
ctypedef struct Growth:
    Xoshiro random
    Layout layout
    Py_ssize_t count
    double reach_squared

cdef double STEP = 1.0
cdef uint8_t[:, :, ::1] STENCIL = surroundings_python.stencil()


cdef inline Vector direction(Xoshiro *random) noexcept nogil:
    cdef double a, b, s, scale
    cdef Vector u
    while True:
        a = 2.0 * uniform(random) - 1.0
        b = 2.0 * uniform(random) - 1.0
        s = a * a + b * b
        if s < 1.0:
            scale = 2.0 * sqrt(1.0 - s)
            u.x = a * scale
            u.y = b * scale
            u.z = 1.0 - 2.0 * s
            return u


cdef inline Vector launched(Xoshiro *random, double launch) noexcept nogil:
    cdef Vector u = direction(random)
    u.x = launch * u.x
    u.y = launch * u.y
    u.z = launch * u.z
    return u


cdef inline double nearest_squared(
    double[:, ::1] centres, Word[:, ::1] blocks, int block, Vector p
) except -1.0 nogil:
    cdef double nearest = 1e300
    cdef double dx, dy, dz, squared
    cdef Py_ssize_t i
    cdef int m
    while block >= 0:
        for m in range(FIRST, FIRST + blocks[block, COUNT]):
            i = blocks[block, m]
            dx = centres[i, 0] - p.x
            dy = centres[i, 1] - p.y
            dz = centres[i, 2] - p.z
            squared = dx * dx + dy * dy + dz * dz
            nearest = squared if squared < nearest else nearest
        block = blocks[block, NEXT]
    return nearest


cdef inline double first_contact(
    double[:, ::1] centres, Word[:, ::1] blocks, int block, Vector p, Vector u
) except -1.0 nogil:
    cdef double way = 2.0 * STEP
    cdef double dx, dy, dz, along, miss, t
    cdef Py_ssize_t i
    cdef int m
    while block >= 0:
        for m in range(FIRST, FIRST + blocks[block, COUNT]):
            i = blocks[block, m]
            dx = centres[i, 0] - p.x
            dy = centres[i, 1] - p.y
            dz = centres[i, 2] - p.z
            along = dx * u.x + dy * u.y + dz * u.z
            if along <= 0.0:
                continue
            miss = dx * dx + dy * dy + dz * dz - along * along
            if miss >= 1.0:
                continue
            t = along - sqrt(1.0 - miss)
            if t < 0.0:
                t = 0.0
            if t < way:
                way = t
        block = blocks[block, NEXT]
    return way


cdef int return_to_sphere(Xoshiro *random, Vector *p, double r, double launch) except -1 nogil:
    cdef double ex = p.x / r
    cdef double ey = p.y / r
    cdef double ez = p.z / r
    cdef double far = 1.0 / (r + launch)
    cdef double near = 1.0 / (r - launch)
    cdef double distance = 1.0 / (far + uniform(random) * (near - far))
    cdef double cosine = (r * r + launch * launch - distance * distance) / (2.0 * r * launch)
    cdef double sine, along, squared, across
    cdef Vector q
    if cosine > 1.0:
        cosine = 1.0
    if cosine < -1.0:
        cosine = -1.0
    sine = sqrt(1.0 - cosine * cosine)
    while True:
        q = direction(random)
        along = q.x * ex + q.y * ey + q.z * ez
        q.x -= along * ex
        q.y -= along * ey
        q.z -= along * ez
        squared = q.x * q.x + q.y * q.y + q.z * q.z
        if squared > 1e-6:
            break
    across = sine / sqrt(squared)
    p.x = launch * (cosine * ex + across * q.x)
    p.y = launch * (cosine * ey + across * q.y)
    p.z = launch * (cosine * ez + across * q.z)
    return 0


cdef int walk(
    Growth *growth, double[:, ::1] centres, uint8_t[::1] field, int32_t[::1] lists,
    Word[:, ::1] blocks, double launch, Vector *stuck,
) except -1 nogil:
    cdef Xoshiro *random = &growth.random
    cdef double outer = launch + 1.0
    cdef double gap, nearest, way, squared, r
    cdef Bound bound
    cdef Vector u
    cdef Vector p = launched(random, launch)
    while True:
        # First what does not wait for the position.
        u = direction(random)
        look(&growth.layout, field, lists, p.x, p.y, p.z, &bound)
        if bound.block >= 0:
            nearest = nearest_squared(centres, blocks, bound.block, p)
            if nearest < bound.distance * bound.distance:
                bound.distance = sqrt(nearest)
        gap = bound.distance - 1.0
        if gap < STEP:
            way = first_contact(centres, blocks, bound.block, p, u)
            if way <= STEP:
                stuck.x = p.x + way * u.x
                stuck.y = p.y + way * u.y
                stuck.z = p.z + way * u.z
                return 0
            gap = STEP
        p.x += gap * u.x
        p.y += gap * u.y
        p.z += gap * u.z
        squared = p.x * p.x + p.y * p.y + p.z * p.z
        if squared > outer * outer:
            r = sqrt(squared)
            if uniform(random) * r < launch:
                return_to_sphere(random, &p, r, launch)
            else:
                p = launched(random, launch)


cdef int grow(
    Growth *growth, double[:, ::1] centres, uint8_t[::1] field, int32_t[::1] lists,
    Word[:, ::1] blocks, uint8_t[:, :, ::1] stencil,
) except -1 nogil:
    # Until the cluster is complete, or too large for the grid.
    cdef Layout *layout = &growth.layout
    cdef Py_ssize_t n = centres.shape[0]
    cdef Py_ssize_t count
    cdef double reach, squared
    cdef Vector p
    for count in range(growth.count):
        add(
            layout, field, lists, blocks, stencil, count,
            centres[count, 0], centres[count, 1], centres[count, 2],
        )
    count = growth.count
    while count < n:
        reach = sqrt(growth.reach_squared)
        if reach + 3.0 > layout.half:
            break
        walk(growth, centres, field, lists, blocks, reach + 2.0, &p)
        centres[count, 0] = p.x
        centres[count, 1] = p.y
        centres[count, 2] = p.z
        add(layout, field, lists, blocks, stencil, count, p.x, p.y, p.z)
        count += 1
        squared = p.x * p.x + p.y * p.y + p.z * p.z
        if squared > growth.reach_squared:
            growth.reach_squared = squared
    growth.count = count
    return 0


cdef double radius_of_gyration(double[:, ::1] centres) except -1.0 nogil:
    cdef Py_ssize_t count = centres.shape[0]
    cdef double n = <double>count
    cdef double mx = 0.0
    cdef double my = 0.0
    cdef double mz = 0.0
    cdef double total = 0.0
    cdef double dx, dy, dz
    cdef Py_ssize_t i
    for i in range(count):
        mx += centres[i, 0]
        my += centres[i, 1]
        mz += centres[i, 2]
    mx /= n
    my /= n
    mz /= n
    for i in range(count):
        dx = centres[i, 0] - mx
        dy = centres[i, 1] - my
        dz = centres[i, 2] - mz
        total += dx * dx + dy * dy + dz * dz
    return sqrt(total / n)


def aggregate(Py_ssize_t n, uint64_t seed):
    """Grow one cluster; the arguments are valid already."""
    cdef Growth growth
    cdef uint8_t[:, :, ::1] stencil = STENCIL
    # Each centre goes into 27 lists. What is not reached is never touched, so takes no memory.
    cdef Word[:, ::1] blocks = np.empty((27 * n, WORDS), dtype=np.int32)
    cdef uint8_t[::1] field
    cdef int32_t[::1] lists
    cdef int half = 0
    cdef double gyration
    positions = np.zeros((n, 3), dtype=np.float64)
    cdef double[:, ::1] centres = positions
    seed_generator(&growth.random, seed)
    growth.count = 1
    growth.reach_squared = 0.0
    while True:
        half = surroundings_python.larger(half)
        lay_out(&growth.layout, half)
        field = surroundings_python.empty_field(half)
        lists = surroundings_python.empty_lists(half)
        with nogil:
            grow(&growth, centres, field, lists, blocks, stencil)
        if growth.count == n:
            break
    with nogil:
        gyration = radius_of_gyration(centres)
    return positions, gyration
