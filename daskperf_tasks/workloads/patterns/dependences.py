"""Who depends on whom: the dependence patterns as functions of step and column.

A graph has a task for each column of each step; a task depends on tasks of the
step before. The patterns are those of Task Bench (Slaughter et al., "Task Bench:
A Parameterized Benchmark for Evaluating Parallel Runtime Performance", SC20):

===========  ==========================  =============================================
pattern      columns of step t           column i of step t > 0 depends on
===========  ==========================  =============================================
``trivial``  W                           nothing
``stencil``  W                           i - 1, i, i + 1
``fft``      W                           i - d, i, i + d, d = 2^((t - 1) mod ceil(log2 W))
``tree``     min(W, 2^t)                 i // 2
``random``   W                           i, and each of i - 2, i - 1, i + 1, i + 2 with
                                         probability 1/2
===========  ==========================  =============================================

Columns outside 0 to W - 1 do not exist: there is no wrap-around. ``random`` is Task
Bench's ``random_nearest`` with a radius of 2; its tasks have as many inputs on average
(3 away from the rim) as those of the stencil, so that the two differ in order alone.
"""

from __future__ import annotations

from daskperf_tasks.workloads.splitmix import mix

PATTERNS = ("trivial", "stencil", "fft", "tree", "random")
#: Neighbours that a task of ``random`` may depend on, besides its own column.
NEIGHBOURS = (-2, -1, 1, 2)


def drawn(seed: int, step: int, column: int, purpose: int) -> int:
    """Return the 64 random bits of a task; ``purpose`` keeps its several draws apart."""
    return mix(mix(mix(mix(seed) + step) + column) + purpose)


#: Purposes of draws.
FOR_DEPENDENCES, FOR_IMBALANCE = 1, 2


def width_at(pattern: str, width: int, step: int) -> int:
    """Return how many tasks a step has.

    Examples
    --------
    >>> [width_at("tree", 5, t) for t in range(5)]
    [1, 2, 4, 5, 5]
    """
    return min(width, 1 << min(step, 62)) if pattern == "tree" else width


def fft_distance(width: int, step: int) -> int:
    """Return how far away the two outer inputs are of a task of ``fft``.

    Examples
    --------
    >>> [fft_distance(8, t) for t in range(1, 6)]
    [1, 2, 4, 1, 2]
    """
    stages = max(1, (width - 1).bit_length())
    return 1 << ((step - 1) % stages)


def dependences(pattern: str, width: int, step: int, column: int, seed: int) -> tuple[int, ...]:
    """Return the columns of the step before that a task depends on, in rising order.

    Raises
    ------
    ValueError
        When the pattern is unknown.

    Examples
    --------
    >>> dependences("stencil", 4, 1, 0, seed=0), dependences("fft", 8, 3, 5, seed=0)
    ((0, 1), (1, 5))
    >>> dependences("tree", 8, 3, 5, seed=0), dependences("trivial", 8, 3, 5, seed=0)
    ((2,), ())
    """
    if pattern not in PATTERNS:
        raise ValueError(f"unknown dependence pattern {pattern!r}, expected one of {PATTERNS}")
    if step == 0 or pattern == "trivial":
        return ()
    if pattern == "tree":
        return (column // 2,)
    if pattern == "stencil":
        wanted = (column - 1, column, column + 1)
    elif pattern == "fft":
        distance = fft_distance(width, step)
        wanted = (column - distance, column, column + distance)
    else:
        return _random(width, step, column, seed)
    return tuple(c for c in wanted if 0 <= c < width)


def _random(width: int, step: int, column: int, seed: int) -> tuple[int, ...]:
    bits = drawn(seed, step, column, FOR_DEPENDENCES)
    chosen = [column + n for k, n in enumerate(NEIGHBOURS) if bits >> k & 1]
    return tuple(sorted(c for c in (*chosen, column) if 0 <= c < width))
