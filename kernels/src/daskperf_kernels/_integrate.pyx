"""The periodic midpoint rule, compiled: formulas and reasons in ``integrate_python.py``."""

from libc.math cimport floor

cdef enum:
    BLOCK = 1024
    LANES = 8


cdef inline double term(double x) noexcept nogil:
    cdef double bump = x * (1.0 - x)
    cdef double square = x * x
    cdef double w = (((70.0 * x - 315.0) * x + 540.0) * x - 420.0) * x + 126.0
    bump = bump * bump
    w = square * square * x * w
    return bump * bump / (1.0 + w * w)


cdef double midpoint_sum(long long n, double phase) noexcept nogil:
    cdef double h = 1.0 / <double>n
    cdef double shift = phase - floor(phase)
    cdef double total = 0.0
    cdef double first, x, wrap, t, partial
    cdef double lanes[LANES]
    cdef long long start = 0
    cdef int count, i, lane
    if shift >= 1.0:
        shift = 0.0
    while start < n:
        count = BLOCK if n - start > BLOCK else <int>(n - start)
        first = <double>start + 0.5
        wrap = 1.0 if first * h + shift >= 1.0 else 0.0
        if count == BLOCK and (wrap == 1.0 or (first + (BLOCK - 1)) * h + shift < 1.0):
            # A whole block on one side of the seam, lane by lane: the compiler
            # takes several lanes at a time, as they do not depend on each other.
            for lane in range(LANES):
                partial = 0.0
                t = first + lane
                for i in range(BLOCK // LANES):
                    partial += term(t * h + shift - wrap)
                    t += LANES
                lanes[lane] = partial
        else:
            for lane in range(LANES):
                lanes[lane] = 0.0
            for i in range(count):
                x = (first + i) * h + shift
                if x >= 1.0:
                    x -= 1.0
                lanes[i % LANES] += term(x)
        partial = 0.0
        for lane in range(LANES):
            partial += lanes[lane]
        total += partial
        start += count
    return 2520.0 * total * h


def integrate(long long n, double phase):
    """Apply the rule with ``n`` points; the arguments are valid already."""
    cdef double result
    with nogil:
        result = midpoint_sum(n, phase)
    return result
