"""Weighing workers by their speed: calibration index and effective threads.

The rule, conservative towards single workers::

    speed(w)     = 1 / median over its runs          a wild run moves nothing
    raw_index(w) = speed(w) / median over workers of speed
    index(w)     = raw_index clipped to [0.25, 1.25]
    effective threads = sum over workers of threads x index

The bounds are not symmetrical on purpose. One worker that looks much faster
than the others adds at most a quarter of its threads, so it cannot make the
rest look wasted; one that looks stuck keeps a quarter, so it cannot vanish from
the figure while it still receives tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

INDEX_LOW = 0.25
INDEX_HIGH = 1.25
#: Runs whose MAD is above this share of their median are not trusted.
MAX_RELATIVE_MAD = 0.10

RULE = (
    "index = speed of the worker (1 / median run) over the median worker's, clipped to "
    f"[{INDEX_LOW}, {INDEX_HIGH}]; effective threads = sum of threads x index; a worker is "
    f"stable when the MAD of its runs is at most {MAX_RELATIVE_MAD:.0%} of their median"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """How fast one worker is against the median worker."""

    raw: float
    #: After clipping.
    index: float
    clipped: bool
    stable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Indices:
    """The indices of all workers."""

    workers: dict[str, Index]
    total_threads: int
    effective_threads: float

    @property
    def clipped(self) -> tuple[str, ...]:
        """The workers whose index was clipped."""
        return tuple(name for name, one in self.workers.items() if one.clipped)

    @property
    def unstable(self) -> tuple[str, ...]:
        """The workers whose runs spread too much."""
        return tuple(name for name, one in self.workers.items() if not one.stable)


def mad(values: Sequence[float]) -> float:
    """Return the median absolute deviation from the median (not scaled).

    Examples
    --------
    >>> mad([1.0, 1.0, 2.0, 100.0])
    0.5
    """
    center = statistics.median(values)
    return statistics.median(abs(v - center) for v in values)


def calibrate_index(
    medians: Mapping[str, float], mads: Mapping[str, float], threads: Mapping[str, int]
) -> Indices:
    """Return each worker's index and the effective threads of all.

    Parameters
    ----------
    medians, mads
        Worker -> median and MAD of its kernel runs in seconds, medians above 0.
    threads
        Worker -> its threads.

    Raises
    ------
    ValueError
        When there is no worker, or a median is not above 0.

    Examples
    --------
    >>> found = calibrate_index({"a": 1.0, "b": 1.0, "c": 10.0}, dict.fromkeys("abc", 0.0),
    ...                         dict.fromkeys("abc", 4))
    >>> found.workers["c"].raw, found.workers["c"].index, found.effective_threads
    (0.1, 0.25, 9.0)
    """
    if not medians or min(medians.values()) <= 0:
        raise ValueError("calibration needs at least one worker and run times above 0")
    typical = statistics.median(1.0 / m for m in medians.values())
    workers = {
        name: index_of(1.0 / median / typical, mads[name] / median)
        for name, median in medians.items()
    }
    return Indices(
        workers=workers,
        total_threads=sum(threads[name] for name in medians),
        effective_threads=sum(threads[name] * one.index for name, one in workers.items()),
    )


def index_of(raw: float, relative_mad: float) -> Index:
    """Apply the rule to one raw index."""
    index = min(max(raw, INDEX_LOW), INDEX_HIGH)
    return Index(
        raw=raw, index=index, clipped=index != raw, stable=relative_mad <= MAX_RELATIVE_MAD
    )
