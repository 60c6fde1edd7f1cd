"""The bytes and lists around a cluster as inline C: the twin of ``surroundings_python.py``."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    LEVELS = 5
    RADIUS = 7
    ROWS = 2 * RADIUS + 1
    COLUMNS = ROWS + 1
    FAR = RADIUS * RADIUS + 1
    MARGIN = RADIUS + 1
    MIDDLE = 512

# A list's entry: [number of a centre, number of the next entry or -1].
ctypedef int32_t Entry

# Where the levels lie in the one array of bytes, and the roots of the bytes.
ctypedef struct Layout:
    int half
    int first
    int used
    Py_ssize_t width[LEVELS]
    Py_ssize_t start[LEVELS]
    double root[FAR + 1]

ctypedef struct Bound:
    double distance
    int entry


cdef inline void lay_out(Layout *layout, int half) noexcept nogil:
    cdef int level, byte
    cdef Py_ssize_t start = 0
    layout.half = half
    layout.first = MIDDLE - half // 2
    layout.used = 0
    for level in range(LEVELS):
        layout.width[level] = (half >> level) + 2 * MARGIN
        layout.start[level] = start
        start += layout.width[level] * layout.width[level] * layout.width[level]
    layout.root[0] = 0.0
    for byte in range(1, FAR + 1):
        layout.root[byte] = sqrt(<double>(byte - 1))


cdef inline Py_ssize_t cube(Layout *layout, int level, int i, int j, int k) noexcept nogil:
    cdef Py_ssize_t width = layout.width[level]
    cdef Py_ssize_t row = ((i >> level) + MARGIN) * width + (j >> level) + MARGIN
    return layout.start[level] + row * width + (k >> level) + MARGIN


cdef inline Py_ssize_t list_of(Layout *layout, int i, int j, int k) noexcept nogil:
    # The lists have a margin of one cube.
    cdef Py_ssize_t width = layout.half + 2
    return ((i + 1) * width + j + 1) * width + k + 1


cdef inline int add(
    Layout *layout, uint8_t[::1] field, int32_t[::1] lists, Entry[:, ::1] entries,
    uint8_t[:, :, ::1] stencil, int number, double x, double y, double z,
) except -1 nogil:
    cdef int i = <int>(x * 0.5 + MIDDLE) - layout.first
    cdef int j = <int>(y * 0.5 + MIDDLE) - layout.first
    cdef int k = <int>(z * 0.5 + MIDDLE) - layout.first
    cdef int level, a, b, c, used
    cdef Py_ssize_t middle, corner, width, place
    cdef uint8_t *row
    cdef uint8_t *mask
    for level in range(LEVELS):
        middle = cube(layout, level, i, j, k)
        if field[middle] == 0:
            break
        width = layout.width[level]
        corner = middle - (RADIUS * width + RADIUS) * width - RADIUS
        for a in range(ROWS):
            for b in range(ROWS):
                # Both ends go through the view, for the bounds checks of the debug build.
                place = corner + (a * width + b) * width
                row = &field[place + COLUMNS - 1] - (COLUMNS - 1)
                mask = &stencil[a, b, 0]
                for c in range(COLUMNS):
                    row[c] = mask[c] if mask[c] < row[c] else row[c]
    used = layout.used
    for a in range(i - 1, i + 2):
        for b in range(j - 1, j + 2):
            for c in range(k - 1, k + 2):
                place = list_of(layout, a, b, c)
                entries[used, 0] = number
                entries[used, 1] = lists[place]
                lists[place] = used
                used += 1
    layout.used = used
    return 0


cdef inline double wall(double fx, double fy, double fz, double scale) noexcept nogil:
    cdef double wx = fx * scale
    cdef double wy = fy * scale
    cdef double wz = fz * scale
    wx -= <double><int>wx
    wy -= <double><int>wy
    wz -= <double><int>wz
    wx = wx if wx < 1.0 - wx else 1.0 - wx
    wy = wy if wy < 1.0 - wy else 1.0 - wy
    wz = wz if wz < 1.0 - wz else 1.0 - wz
    wx = wx if wx < wy else wy
    return wx if wx < wz else wz


cdef inline int look(
    Layout *layout, uint8_t[::1] field, int32_t[::1] lists,
    double x, double y, double z, Bound *bound,
) except -1 nogil:
    cdef double fx = x * 0.5 + MIDDLE
    cdef double fy = y * 0.5 + MIDDLE
    cdef double fz = z * 0.5 + MIDDLE
    cdef int i = <int>fx - layout.first
    cdef int j = <int>fy - layout.first
    cdef int k = <int>fz - layout.first
    cdef double side = 2.0
    cdef double scale = 1.0
    cdef int level = 0
    cdef int byte = field[cube(layout, 0, i, j, k)]
    while byte == FAR and level < LEVELS - 1:
        level += 1
        side *= 2.0
        scale *= 0.5
        byte = field[cube(layout, level, i, j, k)]
    if byte <= 1:
        bound.distance = side * (1.0 + wall(fx, fy, fz, scale))
        bound.entry = lists[list_of(layout, i, j, k)]
    else:
        bound.distance = side * (layout.root[byte] + wall(fx, fy, fz, scale))
        bound.entry = -1
    return 0
