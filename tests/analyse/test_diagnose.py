from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daskperf_tasks.analyse.diagnose import diagnose, scores
from daskperf_tasks.analyse.signal_table import CLASSES, MIN_SIGNALS, RULES
from daskperf_tasks.analyse.stream import stream_facts
from daskperf_tasks.analyse.summarise import summaries
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.facts import Calibration, Preflight
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.plan import PlannedCell
from daskperf_tasks.model.results import Diagnosis

from .synthetic_run import (
    Simulated,
    block,
    calibration,
    cell,
    failure,
    noisy_blocks,
    plan,
    planned,
    preflight,
    sample,
    simulate,
)


def diagnosed(
    cells: list[PlannedCell],
    blocks: list[BlockResult],
    streams: dict[str, Any] | None = None,
    *,
    cal: Calibration | None = None,
    seen: Preflight | None = None,
) -> Diagnosis:
    p = plan(cells)
    seen = seen or preflight()
    return diagnose(p, blocks, summaries(p, blocks, cal, seen), cal, seen, streams)


def one(sim: Simulated, p: PlannedCell, *, stream: bool = True, **kwargs: Any) -> Diagnosis:
    return diagnosed(
        [p],
        sim.blocks,
        {p.cell_id: sim.stream} if stream else None,
        cal=kwargs.pop("cal", calibration()),
        **kwargs,
    )


REMOTE = planned(cell("remote"))


def test_every_class_has_at_least_three_signals_in_the_table() -> None:
    for cls in CLASSES:
        assert sum(r.cls == cls for r in RULES) >= MIN_SIGNALS
    assert all(0 <= r.strength(x) <= 1 for r in RULES for x in (0.0, 1e-9, 0.3, 1.0, 1e9))
    assert all(r.strength(r.zero) == 0 and r.strength(r.full) == 1 for r in RULES)


@pytest.mark.parametrize("stream", [True, False])
def test_long_tasks_on_equal_workers_are_compute_bound(stream: bool) -> None:
    found = one(simulate(REMOTE, tasks=16, task_s=0.1), REMOTE, stream=stream)
    assert found.primary == "compute-bound"
    assert found.cells[0].confidence > 0.7
    assert "hotspot" in found.actions[0].title
    assert known(found.actions[0].expected_ratio) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("stream", [True, False])
def test_tiny_tasks_are_scheduler_bound(stream: bool) -> None:
    sim = simulate(REMOTE, tasks=400, task_s=0.0005, overhead_s=0.0015, scheduler_us=500.0)
    found = one(sim, REMOTE, stream=stream)
    assert found.primary == "scheduler-bound"
    assert found.cells[0].confidence > 0.5
    batch = found.actions[0]
    assert batch.title == "Make tasks bigger"
    # 0.5 ms of work and about 1.5 ms around it: at best a quarter is left.
    assert 0.2 < (known(batch.expected_ratio) or 0) < 0.4
    assert "from 400 tasks" in batch.change


@pytest.mark.parametrize("stream", [True, False])
def test_waiting_for_payloads_is_transfer_bound(stream: bool) -> None:
    sim = simulate(REMOTE, tasks=40, task_s=0.02, transfer_s=0.05, transfer_bytes=8 * 2.0**20)
    found = one(sim, REMOTE, stream=stream)
    assert found.primary == "transfer-bound"
    assert found.actions[0].title.startswith("Move less data")
    assert known(found.actions[0].expected_ratio) == pytest.approx(0.02 / 0.07, abs=0.06)


def test_a_slow_worker_is_straggler_bound_and_named() -> None:
    sim = simulate(REMOTE, tasks=24, task_s=0.05, speeds=(1.0, 1.0, 0.35), static=True)
    found = one(sim, REMOTE, cal=calibration((1.0, 1.0, 0.5)), seen=preflight(3))
    assert found.primary == "straggler-bound"
    assert "w3" in found.actions[0].title
    ratio = known(found.actions[0].expected_ratio)
    # Two of three threads idle for 65 % of the makespan.
    assert ratio == pytest.approx(1 - 2 / 3 * 0.65, abs=0.06)


def test_equal_workers_are_not_called_stragglers() -> None:
    sim = simulate(REMOTE, tasks=24, task_s=0.05)
    table = scores(one(sim, REMOTE).cells[0].signals)
    assert table["straggler-bound"][0] < 0.15


def gil_run(processes_too: bool = False) -> Diagnosis:
    p = planned(cell("threads", "integrate", implementation="python"))

    def make(m: float) -> Any:
        # 4 threads take turns on one core: wall adds up to 4, CPU to 1.
        return sample(m, units=16, tasks=16, task_wall_s=3.9 * m, task_cpu_s=0.98 * m)

    blocks = noisy_blocks(p, makespan_s=2.0, threads=4, processes=1, members=(), make=make)
    return diagnosed([p], blocks, seen=preflight(4))


def test_threads_under_one_lock_are_compute_bound_with_the_lock_as_signal() -> None:
    found = gil_run()
    assert found.primary == "compute-bound"
    signal = found.cells[0].signals[0]
    assert "GIL" in signal.name
    assert "4 threads in 1 process used 0.98 cores although 4 were free" in signal.says
    action = found.actions[0]
    assert action.title.startswith("Use processes, or release the GIL")
    assert "env=threads to env=processes" in action.change
    assert known(action.expected_ratio) == pytest.approx(0.25, abs=0.05)


def test_two_threads_on_two_cores_in_parallel_are_no_lock() -> None:
    p = planned(cell("threads", "integrate", implementation="cython"))
    blocks = noisy_blocks(
        p,
        makespan_s=1.0,
        threads=2,
        processes=1,
        members=(),
        make=lambda m: sample(m, tasks=16, task_wall_s=1.9 * m, task_cpu_s=1.85 * m),
    )
    found = diagnosed([p], blocks)
    assert found.primary == "compute-bound"
    assert not any("GIL" in s.name for s in found.cells[0].signals)


def test_oversubscribed_cores_are_not_taken_for_the_lock() -> None:
    # 2 threads on 1 core: CPU / wall is a half, but no core is free.
    p = planned(cell("remote-threads"))
    blocks = noisy_blocks(
        p,
        makespan_s=1.0,
        threads=2,
        processes=1,
        members=("w1",),
        make=lambda m: sample(m, task_wall_s=1.9 * m, task_cpu_s=0.95 * m, worker_cpu_s=0.97 * m),
    )
    found = diagnosed([p], blocks, cal=calibration())
    assert not any("GIL" in s.name for s in found.cells[0].signals)
    assert found.primary == "compute-bound"


def test_cores_that_others_use_are_not_asked_for() -> None:
    p = planned(cell("threads"))
    blocks = noisy_blocks(
        p,
        makespan_s=1.0,
        threads=2,
        processes=1,
        members=(),
        make=lambda m: sample(m, task_wall_s=1.95 * m, task_cpu_s=1.0 * m),
    )
    busy = [replace(b, host_load=replace(b.host_load, foreign_cpu_cores=1.0)) for b in blocks]
    quiet = {s.name: s for s in diagnosed([p], blocks).cells[0].signals}
    loaded = {s.name: s for s in diagnosed([p], busy).cells[0].signals}
    assert any("GIL" in name for name in quiet)
    assert not any("GIL" in name for name in loaded)
    assert loaded["CPU cores used / usable"].says == "1 of 1 usable cores were used"


def test_transfers_behind_computing_are_not_promised_as_a_gain() -> None:
    # 78 % of the thread time is transfer, but threads idle for a tenth of it only.
    blocks = noisy_blocks(
        REMOTE,
        makespan_s=1.0,
        make=lambda m: sample(
            m,
            task_wall_s=1.8 * m,
            task_cpu_s=0.3 * m,
            transfer_s=1.56 * m,
            transfer_bytes=2.0**30,
            worker_cpu_s=0.4 * m,
        ),
    )
    actions = diagnosed([REMOTE], blocks).actions
    (action,) = [a for a in actions if a.title.startswith("Move less data")]
    assert known(action.expected_ratio) == pytest.approx(0.9, abs=0.02)


def test_threads_without_figures_are_undetermined_with_reasons() -> None:
    p = planned(cell("threads"))
    found = diagnosed([p], noisy_blocks(p, makespan_s=1.0))
    assert (found.primary, found.confidence) == ("undetermined", 0.0)
    assert all(isinstance(s.value, Missing) for s in found.cells[0].signals)
    assert found.cells[0].signals[0].says == "not taken: not asked for"
    assert len(found.actions) == 3
    assert all(a.title.startswith("Measuring: ") for a in found.actions)
    assert all(isinstance(a.expected_ratio, Missing) for a in found.actions)


def test_tasks_that_sleep_are_not_compute_bound() -> None:
    sim = simulate(REMOTE, tasks=16, task_s=0.1, cpu_share=0.01)
    found = one(sim, REMOTE)
    assert found.primary == "undetermined"


def test_wrong_answers_come_before_everything() -> None:
    sim = simulate(REMOTE, tasks=16, task_s=0.1)
    blocks = [
        replace(b, samples=tuple(replace(s, success_rate=0.9) for s in b.samples))
        for b in sim.blocks
    ]
    found = diagnosed([REMOTE], blocks, cal=calibration())
    assert (found.primary, found.secondary, found.confidence) == (
        "correctness",
        "compute-bound",
        1.0,
    )
    assert len([s for s in found.cells[0].signals if s.speaks_for == "correctness"]) == 3
    assert found.actions[0].title.startswith("Repair the wrong")
    assert [a.rank for a in found.actions] == [1, 2, 3]


def test_a_block_refused_by_the_check_is_correctness() -> None:
    blocks = [failure(REMOTE, error="CorrectnessError", message="unit 3 differs")]
    found = diagnosed([REMOTE], blocks)
    assert found.primary == "correctness"
    assert "unit 3 differs" in " ".join(s.says for s in found.cells[0].signals)


def test_a_run_without_blocks_still_has_a_diagnosis() -> None:
    found = diagnosed([REMOTE, planned(cell("local"))], [])
    assert (found.primary, found.confidence) == ("undetermined", 0.0)
    assert [c.signals for c in found.cells] == [(), ()]
    assert len(found.actions) == 3


def test_every_signal_speaks_with_numbers_and_knows_its_opposite() -> None:
    sim = simulate(REMOTE, tasks=24, task_s=0.05, transfer_s=0.01, transfer_bytes=2.0**20)
    fine = {"execute/thread-cpu/seconds": 1.0, "gather-dep/network/seconds": 0.5}
    blocks = [replace(b, fine_metrics=fine) for b in sim.blocks]
    found = diagnosed([REMOTE], blocks, {REMOTE.cell_id: sim.stream}, cal=calibration())
    signals = found.cells[0].signals
    assert len(signals) == len(RULES)
    for s in signals:
        assert not isinstance(s.value, Missing), s
        assert any(ch.isdigit() for ch in s.says), s
        assert s.opposite
    (moved,) = [s for s in signals if s.name == "communication share of fine metrics"]
    assert moved.value == pytest.approx(1 / 3)


def test_stream_facts_of_a_drawn_schedule() -> None:
    # Worker a: tasks 0-2 and 3-5; receives 2-3. Worker b: one task 0-10.
    rows = [
        ("a", 1, "compute", "f", 0.0, 2.0),
        ("a", 1, "transfer", "f", 2.0, 3.0),
        ("a", 1, "compute", "f", 3.0, 5.0),
        ("b", 2, "compute", "g", 0.0, 10.0),
    ]
    names = ("worker", "thread", "action", "name", "start_s", "stop_s")
    facts = stream_facts([dict(zip(names, r, strict=True)) for r in rows])
    assert facts is not None
    assert facts.awaiting_share == pytest.approx(1 / 20)
    assert facts.gap_share == 0.0
    assert facts.tail_share == pytest.approx(5 / 20)
    assert facts.finish_lag == pytest.approx(0.5)
    assert facts.imbalance == pytest.approx(10 / 7)
    assert (facts.top_name, facts.top_share) == ("g", pytest.approx(10 / 14))


def test_stream_facts_read_arrow_and_give_none_for_what_is_no_stream() -> None:
    import pyarrow as pa

    sim = simulate(REMOTE, tasks=8, task_s=0.1)
    assert stream_facts(pa.table(sim.stream)) == stream_facts(sim.stream)
    assert stream_facts(None) is None
    assert stream_facts([]) is None
    assert stream_facts({"worker": ["a"]}) is None


def test_a_blocks_samples_of_zero_length_do_not_break_it() -> None:
    found = diagnosed([REMOTE], [block(REMOTE, [sample(0.0)])])
    assert found.primary == "undetermined"
