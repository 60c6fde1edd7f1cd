from __future__ import annotations

import math
import struct
import threading

import pytest

from daskperf_tasks.workloads.patterns.kernels import (
    LANES,
    WINDOW,
    compute,
    first_lanes,
    iterations,
    run_kernel,
    stream,
)


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_compute_is_the_map_in_plain_python(count: int) -> None:
    total = 0
    for lane in first_lanes().tolist():
        for _ in range(count):
            lane = 1.0 - 2.0 * math.sqrt(abs(lane))
        total += struct.unpack("<Q", struct.pack("<d", lane))[0]
    assert compute(count) == total % 2**64


def test_every_iteration_changes_the_digest_and_no_lane_dies() -> None:
    digests = [compute(k) for k in range(200)]
    assert len(set(digests)) == 200
    lanes = first_lanes()
    assert len(set(lanes.tolist())) == LANES
    assert compute(20_000) != compute(20_001)


@pytest.mark.parametrize("scratch_mib", [1, 3])
def test_stream_gives_the_same_wherever_it_goes_on(scratch_mib: int) -> None:
    expected = sum(k * (k * 7_919 % WINDOW) for k in range(1, 12))
    # The position moves on from call to call, past the end of the arrays.
    assert [stream(11, scratch_mib) for _ in range(5)] == [expected] * 5
    assert stream(0, scratch_mib) == 0


def test_stream_keeps_arrays_by_thread() -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(stream(40, 1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [stream(40, 2)] * 3


def test_imbalance_is_drawn_evenly_from_nothing_to_twice_the_grain() -> None:
    drawn = [iterations("imbalance", 10, 3, step, c) for step in range(50) for c in range(40)]
    assert set(drawn) == set(range(21))
    # Standard deviation of a mean of 2,000 even draws from 0 to 20.
    assert abs(sum(drawn) / 2_000 - 10) < 5 * math.sqrt((21**2 - 1) / 12 / 2_000)
    assert drawn != [iterations("imbalance", 10, 4, s, c) for s in range(50) for c in range(40)]


def test_the_others_run_the_grain_and_empty_nothing() -> None:
    assert [iterations(k, 7, 0, 1, 2) for k in ("compute", "memory", "empty")] == [7, 7, 0]
    assert run_kernel("empty", 0, 1) == 0
    assert run_kernel("memory", 5, 1) == stream(5, 1)
    assert run_kernel("imbalance", 5, 1) == run_kernel("compute", 5, 1) == compute(5)
