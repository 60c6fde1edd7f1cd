from __future__ import annotations

import pytest

from daskperf_tasks.cluster.connect import LiveWorker
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.preflight.calibrate import summarise
from daskperf_tasks.preflight.kernel import run_threads
from daskperf_tasks.preflight.local_host import calibrate_here


def crew(**threads: int) -> tuple[LiveWorker, ...]:
    return tuple(
        LiveWorker(
            label=name,
            name=name,
            address="tcp://10.0.0.1:1",
            host="10.0.0.1",
            nanny="tcp://10.0.0.1:2",
            nthreads=n,
            memory_limit_bytes=0,
            status="running",
        )
        for name, n in threads.items()
    )


def test_clipped_and_unstable_workers_are_named() -> None:
    times = {"a": (1.0, 1.0, 1.0), "b": (1.0, 2.0, 0.5), "c": (10.0, 10.0, 10.0)}
    found = summarise(crew(a=2, b=2, c=4), times, ((1.0,), (1.0,), (2.0,)), repeated=True)
    by_name = {w.worker: w for w in found.workers}
    assert (by_name["c"].raw_index, by_name["c"].index, by_name["c"].clipped) == (0.1, 0.25, True)
    assert not by_name["b"].stable and by_name["a"].stable
    assert found.effective_threads == 2 + 2 + 1
    assert found.local_effective_threads == 2 + 2 + 4 * 0.5
    assert not found.stable
    assert "unstable: b" in found.note and "clipped: c" in found.note
    assert "more repeats" in found.note and "repeated with more" in found.note


def test_a_quiet_lane() -> None:
    times = {"a": (1.0, 1.0, 1.01)}
    found = summarise(crew(a=3), times, Missing(missing="no reason"), repeated=False)
    assert (found.effective_threads, found.stable) == (3.0, True)
    assert found.note == "stable, nothing clipped"
    assert found.local_effective_threads == Missing(missing="no reason")


def test_the_kernel_runs_on_all_threads() -> None:
    runs = run_threads(2, 3)
    assert len(runs) == 3 and all(r > 0 for r in runs)


def test_the_local_host() -> None:
    found = calibrate_here([1, 2], runs=2, timeout_s=60.0)
    assert not isinstance(found, Missing)
    assert [len(runs) for runs in found] == [2, 2]


def test_the_local_host_within_its_limit() -> None:
    found = calibrate_here([1], runs=10_000, timeout_s=0.5)
    assert isinstance(found, Missing) and "driver's host" in found.missing


@pytest.mark.parametrize("layout", [[]])
def test_no_layout(layout: list[int]) -> None:
    assert calibrate_here(layout, runs=1, timeout_s=5.0) == ()
