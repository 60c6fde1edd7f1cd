"""The periodic midpoint rule, compiled: formulas and reasons in ``integrate_python.py``."""

from libc.math cimport floor

cdef enum:
    BLOCK = 1024


cdef double midpoint_sum(long long n, double phase) noexcept nogil:
    cdef double h = 1.0 / <double>n
    cdef double shift = phase - floor(phase)
    cdef double total = 0.0
    cdef double partial, x, bump, square, w
    cdef long long start = 0
    cdef long long stop, i
    if shift >= 1.0:
        shift = 0.0
    while start < n:
        stop = start + BLOCK
        if stop > n:
            stop = n
        partial = 0.0
        for i in range(start, stop):
            x = (<double>i + 0.5) * h + shift
            if x >= 1.0:
                x -= 1.0
            bump = x * (1.0 - x)
            bump = bump * bump
            square = x * x
            w = (((70.0 * x - 315.0) * x + 540.0) * x - 420.0) * x + 126.0
            w = square * square * x * w
            partial += bump * bump / (1.0 + w * w)
        total += partial
        start = stop
    return 2520.0 * total * h


def integrate(long long n, double phase):
    """Apply the rule with ``n`` points; the arguments are valid already."""
    cdef double result
    with nogil:
        result = midpoint_sum(n, phase)
    return result
