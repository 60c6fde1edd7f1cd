from __future__ import annotations

import pytest

from daskperf_tasks.analyse.metrics_of import metrics_of
from daskperf_tasks.analyse.summarise import summaries
from daskperf_tasks.analyse.threads import effective_threads
from daskperf_tasks.model.block import Timeout
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.metrics import METRICS
from daskperf_tasks.model.results import CellSummary, Estimate

from .synthetic_run import (
    BLOCKED,
    block,
    calibration,
    cell,
    failure,
    noisy_blocks,
    plan,
    planned,
    preflight,
    sample,
)


def value(summary: CellSummary, name: str) -> float:
    found = summary.metrics[name]
    assert isinstance(found, Estimate), found
    return found.value


def test_metrics_are_those_of_the_registry_and_follow_its_formulas() -> None:
    s = sample(
        2.0,
        units=8,
        tasks=4,
        task_wall_s=3.0,
        task_cpu_s=2.4,
        transfer_bytes=2.0**21,
        transfer_s=0.4,
        scheduler_cpu_s=0.002,
    )
    got = metrics_of(s, threads=2, effective_threads=1.6)
    assert list(got) == list(METRICS)
    expected = {
        "makespan_s": 2.0,
        "throughput_per_s": 4.0,
        "throughput_per_thread": 2.0,
        "throughput_per_effective_thread": 2.5,
        "aot_us": 5e5,
        "task_wall_ms": 750.0,
        "task_cpu_ms": 600.0,
        "cpu_per_wall": 0.8,
        "busy_fraction": 0.75,
        "transfer_mib": 2.0,
        "transfer_fraction": 0.1,
        "scheduler_cpu_us_per_task": 500.0,
        "success_rate": 1.0,
    }
    assert {k: got[k] for k in expected} == pytest.approx(expected)
    assert got["worker_cpu_s"] == Missing(missing="not asked for")


def test_a_makespan_of_zero_and_an_empty_graph_are_reasons() -> None:
    got = metrics_of(sample(0.0, tasks=0), threads=2, effective_threads=2.0)
    assert got["throughput_per_s"] == Missing(missing="the makespan is not above 0")
    assert got["aot_us"] == Missing(missing="the makespan is not above 0")
    assert metrics_of(sample(1.0, tasks=0), threads=2, effective_threads=2.0)["aot_us"] == Missing(
        missing="the graph had no tasks"
    )


def test_only_measure_samples_of_valid_blocks_count() -> None:
    p = planned(cell("remote"))
    blocks = [
        block(p, [sample(50.0, phase="warmup"), sample(1.0), sample(1.2)], round_=0),
        block(p, [sample(9.0)], round_=1, attempt=1, invalid_reason="worker w2 left"),
        block(p, [sample(1.1), sample(70.0, phase="profile")], round_=1, attempt=2),
        failure(p, round_=2),
    ]
    found = summaries(plan([p]), blocks, None, None)["remote"].cells[0]
    assert (found.state, found.reason) == ("measured", None)
    assert (found.blocks_valid, found.blocks_invalid, found.samples) == (2, 2, 3)
    assert value(found, "makespan_s") == 1.1
    assert found.metrics["throughput_per_effective_thread"] == Missing(
        missing="the run has no calibration"
    )
    assert found.metrics["task_wall_ms"] == Missing(missing="not asked for")


def test_a_second_valid_attempt_of_a_round_is_not_counted_twice() -> None:
    p = planned(cell("local"))
    blocks = [block(p, [sample(1.0)], attempt=1), block(p, [sample(3.0)], attempt=2)]
    found = summaries(plan([p]), blocks, None, None)["local"].cells[0]
    assert (found.samples, value(found, "makespan_s")) == (1, 1.0)


def test_failed_and_missing_cells_come_back_with_reasons() -> None:
    bad, slow, never = (planned(cell("remote", n=n)) for n in (1, 2, 3))
    blocks = [
        failure(bad, message="worker w2 left\nmore"),
        block(slow, [], outcome=Timeout(after_s=60.0)),
    ]
    cells = summaries(plan([bad, slow, never]), blocks, None, None)["remote"].cells
    assert [(c.state, c.reason) for c in cells] == [
        ("failed", "infra: ClusterError: worker w2 left"),
        ("failed", "ended at its limit after 60 s"),
        ("missing", "no block of it was run"),
    ]
    assert set(cells[2].metrics.values()) == {Missing(missing="no block of it was run")}


def test_a_blocked_preflight_is_the_reason_of_missing_cells() -> None:
    seen = preflight(findings=(BLOCKED,))
    found = summaries(plan([cell("local"), cell("remote")]), [], None, seen)
    reasons = {c.reason for s in found.values() for c in s.cells}
    assert reasons == {"preflight forbade measuring (version-mismatch on host2)"}
    assert "w2 on host2" in found["remote"].topology
    assert found["local"].topology == "unknown: nothing of this side was run"


def test_each_arm_has_its_own_summary() -> None:
    p = planned(cell("local"))
    blocks = noisy_blocks(p, makespan_s=1.0) + noisy_blocks(p, makespan_s=2.0, arm="reference")
    cells = summaries(plan([p], arms=("subject", "reference")), blocks, None, None)["local"].cells
    assert [c.arm for c in cells] == ["subject", "reference"]
    assert value(cells[1], "makespan_s") == pytest.approx(2 * value(cells[0], "makespan_s"))


@pytest.mark.parametrize(
    ("env", "threads", "processes", "members", "expected"),
    [
        ("remote", 2, 2, ("w1", "w2"), 1.5),
        ("remote-threads", 1, 1, ("w2",), 0.5),
        ("remote-threads", 2, 1, ("w2", "w1"), 2.0),
        ("remote-threads", 1, 1, ("other",), 0.75),
        ("remote-processes", 2, 2, ("w1", "w2"), 1.5),
        ("local", 2, 2, (), 2.0),
        ("threads", 1, 1, (), 1.0),
    ],
)
def test_effective_threads_follow_the_rule(
    env: str, threads: int, processes: int, members: tuple[str, ...], expected: float
) -> None:
    p = planned(cell(env))  # type: ignore[arg-type]
    b = block(p, [sample()], threads=threads, processes=processes, members=members)
    assert effective_threads(b, calibration((1.0, 0.5))) == pytest.approx(expected)


def test_effective_threads_without_calibration_are_a_reason() -> None:
    b = block(planned(cell("remote")), [sample()])
    assert effective_threads(b, None) == Missing(missing="the run has no calibration")
