"""Dask's fine performance metrics of a block: where worker time went.

Workers add up, from their start on, what they did: ``execute`` (thread-cpu,
thread-noncpu, executor, other, ...), ``gather-dep`` (network, deserialize,
...), ``get-data``. The difference between two looks belongs to what ran in
between. Here the label is ``context/activity/unit``, summed over task prefixes,
spans and workers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

CONTEXTS = ("execute", "gather-dep", "get-data", "p2p")


def flatten(digests: Mapping[Hashable, float]) -> dict[str, float]:
    """Add up a worker's running totals by ``context/activity/unit``.

    Examples
    --------
    >>> flatten({("execute", "span", "inc", "thread-cpu", "seconds"): 1.5, "latency": 3.0})
    {'execute/thread-cpu/seconds': 1.5}
    """
    totals: defaultdict[str, float] = defaultdict(float)
    for key, value in digests.items():
        if isinstance(key, tuple) and len(key) >= 3 and key[0] in CONTEXTS:
            totals[f"{key[0]}/{key[-2]}/{key[-1]}"] += value
    return dict(totals)


def difference(
    before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return what was added between two looks, over the workers of the second one.

    Parameters
    ----------
    before, after
        Worker id -> totals. A worker that is new in ``after`` counts from 0.

    Examples
    --------
    >>> difference({"a": {"x": 1.0}}, {"a": {"x": 3.0}, "b": {"x": 0.5}})
    {'x': 2.5}
    """
    added: defaultdict[str, float] = defaultdict(float)
    for worker, totals in after.items():
        start = before.get(worker, {})
        for label, value in totals.items():
            added[label] += value - start.get(label, 0.0)
    return {label: value for label, value in sorted(added.items()) if value}


def total(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Add up the differences of several repeats."""
    sums: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        for label, value in part.items():
            sums[label] += value
    return dict(sorted(sums.items()))
