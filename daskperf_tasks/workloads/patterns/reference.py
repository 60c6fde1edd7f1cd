"""The checksum of a pattern computed step by step, without Dask and without its tasks.

Whole steps at a time in NumPy's wrapping 64-bit arithmetic, inputs by shifting the
step before: nothing here calls what the tasks call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from daskperf_tasks.workloads.patterns.dependences import (
    FOR_DEPENDENCES,
    FOR_IMBALANCE,
    NEIGHBOURS,
)
from daskperf_tasks.workloads.patterns.kernels import first_lanes, stream_place
from daskperf_tasks.workloads.splitmix import mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from daskperf_tasks.workloads.patterns.tasks import Rule


@functools.lru_cache(maxsize=64)
def reference(rule: Rule, steps: int) -> tuple[int, int]:
    """Return how many outputs nobody reads, and the sum of their checksums mod 2^64."""
    import numpy as np

    counts = [_counts(rule, step) for step in range(steps)]
    digests = _digests(rule.kernel, np.unique(np.concatenate(counts)))
    unread, total = 0, 0
    before = np.empty(0, dtype=np.uint64)
    for step, count in enumerate(counts):
        now = mixed(mixed(_number(step + 1)) + np.arange(len(count), dtype=np.uint64))
        now = mixed(now + np.array([digests[int(c)] for c in count], dtype=np.uint64))
        used = np.zeros(len(before), dtype=bool)
        for sources, exists in _inputs(rule, step, len(count), len(before)):
            got = before[np.where(exists, sources, 0)]
            now = np.where(exists, mixed(now + got), now)
            used[sources[exists]] = True
        unread += int((~used).sum())
        total += int(before[~used].sum(dtype=np.uint64))
        before = now
    return unread + len(before), (total + int(before.sum(dtype=np.uint64))) % 2**64


def _inputs(
    rule: Rule, step: int, width: int, width_before: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield first, second, ... input of all columns, and whether they have it."""
    import numpy as np

    if step == 0 or rule.pattern == "trivial":
        return
    columns = np.arange(width)
    if rule.pattern == "tree":
        yield columns >> 1, np.ones(width, dtype=bool)
        return
    if rule.pattern == "stencil":
        shifts: tuple[int, ...] = (-1, 0, 1)
    elif rule.pattern == "fft":
        stages = int(np.ceil(np.log2(rule.width))) if rule.width > 1 else 1
        distance = 2 ** ((step - 1) % stages)
        shifts = (-distance, 0, distance)
    else:
        shifts = tuple(sorted((0, *NEIGHBOURS)))
        bits = _drawn(rule, step, FOR_DEPENDENCES)
    for shift in shifts:
        exists = (columns + shift >= 0) & (columns + shift < width_before)
        if rule.pattern == "random" and shift:
            exists &= (bits >> np.uint64(NEIGHBOURS.index(shift))) % np.uint64(2) == 1
        yield columns + shift, exists


def _counts(rule: Rule, step: int) -> NDArray[np.int64]:
    """Return the iterations of all tasks of a step."""
    import numpy as np

    width = rule.width
    if rule.pattern == "tree" and step < 62:
        width = min(width, 2**step)
    if rule.kernel == "imbalance":
        drawn = _drawn(rule, step, FOR_IMBALANCE)[:width]
        return (drawn % np.uint64(2 * rule.grain + 1)).astype(np.int64)
    return np.full(width, 0 if rule.kernel == "empty" else rule.grain)


def _drawn(rule: Rule, step: int, purpose: int) -> NDArray[np.uint64]:
    import numpy as np

    start = mixed(mixed(_number(rule.seed)) + np.uint64(step))
    return mixed(mixed(start + np.arange(rule.width, dtype=np.uint64)) + np.uint64(purpose))


def _number(value: int) -> NDArray[np.uint64]:
    import numpy as np

    return np.array([value], dtype=np.uint64)


def _digests(kernel: str, counts: NDArray[np.int64]) -> dict[int, int]:
    """Return the kernel's digests after these numbers of iterations, in one pass over all."""
    import numpy as np

    if kernel == "empty":
        return {0: 0}
    wanted = {int(c) for c in counts}
    found = {}
    lanes, sum_ = first_lanes(), 0
    for k in range(max(wanted) + 1):
        if k and kernel == "memory":
            sum_ += k * stream_place(k)
        elif k:
            lanes = 1.0 - 2.0 * np.sqrt(np.abs(lanes))
        if k in wanted and kernel == "memory":
            found[k] = sum_ % 2**64
        elif k in wanted:
            found[k] = sum(int(bits) for bits in lanes.view(np.uint64)) % 2**64
    return found
