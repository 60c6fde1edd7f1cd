"""The periodic midpoint rule in plain Python: the reference of ``_integrate.pyx``.

Notes
-----
The integral is the one of 4 / (1 + y^2) over [0, 1], which is pi. The polynomial

    w(x)  = x^5 (126 - 420 x + 540 x^2 - 315 x^3 + 70 x^4)
    w'(x) = 630 x^4 (1 - x)^4

maps [0, 1] onto itself, and y = w(x) turns the integrand into

    f(x) = 4 w'(x) / (1 + w(x)^2),

which vanishes at both ends together with its first three derivatives. Continued
with period 1, f has a first jump, of 30240, in its fourth derivative. By the
Euler-Maclaurin formula the error of n equidistant points is then at most
30240 max|B5| / 5! n^-5 = 6.2 n^-5, wherever the first one lies (B5: the
Bernoulli polynomial on [0, 1], at most 0.0245), so that the result is pi for
every phase. (Such substitutions are Korobov's periodising transformations; see
Davis and Rabinowitz, "Methods of Numerical Integration", on equidistant rules
for periodic functions.)

Only +, -, *, / and floor are used, and the terms are added in a fixed order: in
blocks, and within a block in lanes, each of every eighth term. So the compiler
may work on lanes side by side without moving a bit, the rounding error stays
small, and the bits do not depend on the host.
"""

from __future__ import annotations

from math import floor

#: Terms added into one partial sum before it goes into the total.
BLOCK = 1024
#: Sums that a block is divided into, term by term in turn.
LANES = 8


def integrate(n: int, phase: float) -> float:
    """Apply the rule with ``n`` points; the arguments are valid already."""
    h = 1.0 / n
    shift = phase - floor(phase)
    if shift >= 1.0:  # a tiny negative phase, rounded up
        shift = 0.0
    total = 0.0
    start = 0
    while start < n:
        stop = min(start + BLOCK, n)
        lanes = [0.0] * LANES
        for i in range(start, stop):
            x = (i + 0.5) * h + shift
            if x >= 1.0:
                x -= 1.0
            bump = x * (1.0 - x)
            bump = bump * bump
            square = x * x
            w = (((70.0 * x - 315.0) * x + 540.0) * x - 420.0) * x + 126.0
            w = square * square * x * w
            lanes[i % LANES] += bump * bump / (1.0 + w * w)
        partial = 0.0
        for lane in lanes:
            partial += lane
        total += partial
        start = stop
    return 2520.0 * total * h
