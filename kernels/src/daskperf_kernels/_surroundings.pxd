"""The bytes and lists around a cluster as inline C: the twin of ``surroundings_python.py``."""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    LEVELS = 5
    RADIUS = 7
    ROWS = 2 * RADIUS + 1
    COLUMNS = ROWS + 1
    FAR = RADIUS * RADIUS + 1
    MARGIN = RADIUS + 1
    MIDDLE = 512
    # A block of a list is one cache line: [next block or -1, how many, their numbers].
    NEXT = 0
    COUNT = 1
    FIRST = 2
    WORDS = 16

ctypedef int32_t Word

# Cube (i, j, k) lies at i * square + j * width + k + origin in its array.
ctypedef struct Grid:
    Py_ssize_t square
    Py_ssize_t width
    Py_ssize_t origin

# Where the levels lie in the one array of bytes, and the roots of the bytes.
ctypedef struct Layout:
    int half
    int used
    Grid lists
    Grid levels[LEVELS]
    double root[FAR + 1]

ctypedef struct Bound:
    double distance
    int block


cdef inline void set_grid(
    Grid *grid, Py_ssize_t start, Py_ssize_t width, Py_ssize_t first
) noexcept nogil:
    # Cube (first, first, first) lies at the start.
    grid.width = width
    grid.square = width * width
    grid.origin = start - first * (grid.square + grid.width + 1)


cdef inline void lay_out(Layout *layout, int half) noexcept nogil:
    cdef int first = MIDDLE - half // 2
    cdef int level, byte
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t width
    layout.half = half
    layout.used = 0
    set_grid(&layout.lists, 0, half + 2, first - 1)
    for level in range(LEVELS):
        width = (half >> level) + 2 * MARGIN
        set_grid(&layout.levels[level], start, width, (first >> level) - MARGIN)
        start += width * width * width
    layout.root[0] = 0.0
    for byte in range(1, FAR + 1):
        layout.root[byte] = sqrt(<double>(byte - 1))


cdef inline Py_ssize_t cube(Grid *grid, int i, int j, int k) noexcept nogil:
    return i * grid.square + j * grid.width + k + grid.origin


cdef inline int add(
    Layout *layout, uint8_t[::1] field, int32_t[::1] lists, Word[:, ::1] blocks,
    uint8_t[:, :, ::1] stencil, int number, double x, double y, double z,
) except -1 nogil:
    cdef int i = <int>(x * 0.5 + MIDDLE)
    cdef int j = <int>(y * 0.5 + MIDDLE)
    cdef int k = <int>(z * 0.5 + MIDDLE)
    cdef int level, a, b, c, block
    cdef Py_ssize_t middle, corner, width, place
    cdef uint8_t *row
    cdef uint8_t *mask
    for level in range(LEVELS):
        middle = cube(&layout.levels[level], i >> level, j >> level, k >> level)
        if field[middle] == 0:
            break
        width = layout.levels[level].width
        corner = middle - (RADIUS * width + RADIUS) * width - RADIUS
        for a in range(ROWS):
            for b in range(ROWS):
                # Both ends go through the view, for the bounds checks of the debug build.
                place = corner + (a * width + b) * width
                row = &field[place + COLUMNS - 1] - (COLUMNS - 1)
                mask = &stencil[a, b, 0]
                for c in range(COLUMNS):
                    row[c] = mask[c] if mask[c] < row[c] else row[c]
    for a in range(i - 1, i + 2):
        for b in range(j - 1, j + 2):
            for c in range(k - 1, k + 2):
                place = cube(&layout.lists, a, b, c)
                block = lists[place]
                if block < 0 or blocks[block, COUNT] == WORDS - FIRST:
                    blocks[layout.used, NEXT] = block
                    block = layout.used
                    blocks[block, COUNT] = 0
                    lists[place] = block
                    layout.used += 1
                blocks[block, FIRST + blocks[block, COUNT]] = number
                blocks[block, COUNT] += 1
    return 0


cdef inline double face(double f) noexcept nogil:
    # How far the nearest whole number is; 1.5 * 2**52, added and taken away, rounds. The
    # twin's min(f - int(f), 1 - (f - int(f))) is the same to the bit, because both are exact.
    # This one is shorter, and each step waits for it.
    return fabs(f - ((f + 6755399441055744.0) - 6755399441055744.0))


cdef inline double wall(double fx, double fy, double fz) noexcept nogil:
    cdef double wx = face(fx)
    cdef double wy = face(fy)
    cdef double wz = face(fz)
    wx = wx if wx < wy else wy
    return wx if wx < wz else wz


cdef inline int look(
    Layout *layout, uint8_t[::1] field, int32_t[::1] lists,
    double x, double y, double z, Bound *bound,
) except -1 nogil:
    cdef double fx = x * 0.5 + MIDDLE
    cdef double fy = y * 0.5 + MIDDLE
    cdef double fz = z * 0.5 + MIDDLE
    cdef int i = <int>fx
    cdef int j = <int>fy
    cdef int k = <int>fz
    cdef double side = 2.0
    cdef double scale = 1.0
    cdef double near
    cdef int level = 0
    cdef int byte = field[cube(&layout.levels[0], i, j, k)]
    while byte == FAR and level < LEVELS - 1:
        level += 1
        side *= 2.0
        scale *= 0.5
        byte = field[cube(&layout.levels[level], i >> level, j >> level, k >> level)]
    near = wall(fx * scale, fy * scale, fz * scale)
    if byte <= 1:
        bound.distance = side * (1.0 + near)
        bound.block = lists[cube(&layout.lists, i, j, k)]
    else:
        bound.distance = side * (layout.root[byte] + near)
        bound.block = -1
    return 0
