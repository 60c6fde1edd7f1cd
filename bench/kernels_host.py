"""Times for ``kernels.py``: interleaved pairs, and how busy the host was with other things."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: Share of all cores that others may use in a pair that counts as idle.
IDLE = 0.03


def seconds_of(call: Callable[[], object]) -> float:
    """Return the CPU time of this thread: what others do at the time does not count."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def pair_ratio(ours: Callable[[], object], other: Callable[[], object], pairs: int) -> float:
    """Return the median over pairs of other's time over ours: our speed as a share of its."""
    ratios = []
    for turn in range(pairs):
        if turn % 2:
            theirs = seconds_of(other)
            ratios.append(theirs / seconds_of(ours))
        else:
            mine = seconds_of(ours)
            ratios.append(seconds_of(other) / mine)
    return statistics.median(ratios)


def _busy_s() -> float:
    """Return the seconds that all cores were busy or taken by the hypervisor, since boot."""
    fields = [int(v) for v in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One against two threads on the same work."""

    ratio: float
    #: Share of all cores that other processes used meanwhile.
    foreign: float


def wall_s(work: Callable[[int], object], items: int, threads: int) -> float:
    """Return the time in which ``threads`` threads take ``items`` from one queue."""
    queue: Iterator[int] = iter(range(items))

    def body() -> None:
        for item in queue:
            work(item)

    crew = [threading.Thread(target=body) for _ in range(threads)]
    start = time.perf_counter()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return time.perf_counter() - start


def thread_pairs(
    work: Callable[[int], object], items: int, *, wanted: int, most: int
) -> list[Pair]:
    """Take pairs until ``wanted`` were taken on an idle host, at most ``most``."""
    pairs: list[Pair] = []
    cores = os.cpu_count() or 1
    while len(pairs) < most and sum(p.foreign <= IDLE for p in pairs) < wanted:
        start, busy, own = time.perf_counter(), _busy_s(), time.process_time()
        if len(pairs) % 2:
            two = wall_s(work, items, 2)
            one = wall_s(work, items, 1)
        else:
            one = wall_s(work, items, 1)
            two = wall_s(work, items, 2)
        spent = _busy_s() - busy - (time.process_time() - own)
        foreign = max(spent, 0.0) / (cores * (time.perf_counter() - start))
        pairs.append(Pair(ratio=one / two, foreign=foreign))
        if foreign > IDLE:
            time.sleep(0.5)
    return pairs
