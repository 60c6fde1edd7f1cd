"""Diffusion-limited particle-cluster aggregation, compiled.

The model, its drawing and its sources are in ``aggregate_python.py``. Every
floating-point operation here has its twin there, in the same order.
"""

from libc.math cimport sqrt
from libc.stdint cimport uint64_t

from daskperf_kernels._random cimport Xoshiro, seed_generator, uniform

import numpy as np

ctypedef struct Vector:
    double x
    double y
    double z

cdef double STEP = 1.0


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


cdef double nearest_squared(
    double[::1] xs, double[::1] ys, double[::1] zs, Py_ssize_t count, Vector p
) except -1.0 nogil:
    # A minimum does not depend on the order, so two chains may run side by side.
    cdef double even = 1e300
    cdef double odd = 1e300
    cdef double dx, dy, dz, squared
    cdef Py_ssize_t i = 0
    while i + 1 < count:
        dx = xs[i] - p.x
        dy = ys[i] - p.y
        dz = zs[i] - p.z
        squared = dx * dx + dy * dy + dz * dz
        even = squared if squared < even else even
        dx = xs[i + 1] - p.x
        dy = ys[i + 1] - p.y
        dz = zs[i + 1] - p.z
        squared = dx * dx + dy * dy + dz * dz
        odd = squared if squared < odd else odd
        i += 2
    if i < count:
        dx = xs[i] - p.x
        dy = ys[i] - p.y
        dz = zs[i] - p.z
        squared = dx * dx + dy * dy + dz * dz
        even = squared if squared < even else even
    return even if even < odd else odd


cdef double first_contact(
    double[::1] xs, double[::1] ys, double[::1] zs, Py_ssize_t count, Vector p, Vector u
) except -1.0 nogil:
    cdef double way = 2.0 * STEP
    cdef double dx, dy, dz, along, miss, t
    cdef Py_ssize_t i
    for i in range(count):
        dx = xs[i] - p.x
        dy = ys[i] - p.y
        dz = zs[i] - p.z
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
    Xoshiro *random,
    double[::1] xs, double[::1] ys, double[::1] zs, Py_ssize_t count,
    double launch, Vector *stuck,
) except -1 nogil:
    cdef double outer = launch + 1.0
    cdef double gap, way, squared, r
    cdef Vector u
    cdef Vector p = launched(random, launch)
    while True:
        gap = sqrt(nearest_squared(xs, ys, zs, count, p)) - 1.0
        u = direction(random)
        if gap < STEP:
            way = first_contact(xs, ys, zs, count, p, u)
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
    double[::1] xs, double[::1] ys, double[::1] zs, uint64_t seed
) except -1 nogil:
    cdef Py_ssize_t n = xs.shape[0]
    cdef Py_ssize_t count
    cdef double reach_squared = 0.0
    cdef double squared
    cdef Vector p
    cdef Xoshiro random
    seed_generator(&random, seed)
    xs[0] = 0.0
    ys[0] = 0.0
    zs[0] = 0.0
    for count in range(1, n):
        walk(&random, xs, ys, zs, count, sqrt(reach_squared) + 2.0, &p)
        xs[count] = p.x
        ys[count] = p.y
        zs[count] = p.z
        squared = p.x * p.x + p.y * p.y + p.z * p.z
        if squared > reach_squared:
            reach_squared = squared
    return 0


cdef double radius_of_gyration(
    double[::1] xs, double[::1] ys, double[::1] zs
) except -1.0 nogil:
    cdef Py_ssize_t count = xs.shape[0]
    cdef double n = <double>count
    cdef double mx = 0.0
    cdef double my = 0.0
    cdef double mz = 0.0
    cdef double total = 0.0
    cdef double dx, dy, dz
    cdef Py_ssize_t i
    for i in range(count):
        mx += xs[i]
        my += ys[i]
        mz += zs[i]
    mx /= n
    my /= n
    mz /= n
    for i in range(count):
        dx = xs[i] - mx
        dy = ys[i] - my
        dz = zs[i] - mz
        total += dx * dx + dy * dy + dz * dz
    return sqrt(total / n)


def aggregate(Py_ssize_t n, uint64_t seed):
    """Grow one cluster; the arguments are valid already."""
    # One array a coordinate: the search for the nearest reads them in a row.
    columns = np.empty((3, n), dtype=np.float64)
    cdef double[::1] xs = columns[0]
    cdef double[::1] ys = columns[1]
    cdef double[::1] zs = columns[2]
    cdef double gyration
    with nogil:
        grow(xs, ys, zs, seed)
        gyration = radius_of_gyration(xs, ys, zs)
    return np.ascontiguousarray(columns.T), gyration
