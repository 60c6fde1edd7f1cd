"""Rounds on this machine's own schedulers, in real measuring processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from daskperf_tasks.collect.task_stream import from_parquet
from daskperf_tasks.errors import HarnessError
from daskperf_tasks.model.block import Failure, Success, Timeout
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.run.single import check_driver
from daskperf_tasks.run.spec import Layout
from daskperf_tasks.run.supervise import run_round
from daskperf_tasks.store.filesystem import FilesystemStore

from .rounds import RUN, blocks_of, measuring_processes, small_plan, small_spec

ROOT = Path(__file__).resolve().parents[2]


def test_every_block_gets_its_own_outcome(ledger: FilesystemStore) -> None:
    cells = [
        (name, env)
        for env in ("threads", "processes")
        for name in ("counts", "raises", "lies", "exits", "hangs", "sleeps")
    ]
    plan = small_plan(cells, timeout_s=2.5, units=4)
    lines: list[str] = []
    report = run_round(small_spec(plan, ledger.root), store=ledger, log=lines.append)
    blocks = blocks_of(ledger)
    assert set(blocks) == {(name, env, 1) for name, env in cells}
    assert (report.valid, report.invalid, report.failed) == (4, 0, 8)
    assert len(lines) == 12
    for env in ("threads", "processes"):
        for name in ("counts", "sleeps"):
            assert blocks[name, env, 1].valid, blocks[name, env, 1]
            assert len(blocks[name, env, 1].measured) == 2
        raised = blocks["raises", env, 1].outcome
        assert isinstance(raised, Failure)
        assert (raised.fault, raised.error_type) == ("product", "ZeroDivisionError")
        assert "unit 2 divides by zero" in raised.message
        assert "fail" in raised.traceback
        lied = blocks["lies", env, 1].outcome
        assert isinstance(lied, Failure)
        assert (lied.fault, lied.error_type) == ("product", "CorrectnessError")
        left = blocks["exits", env, 1].outcome
        assert isinstance(left, Failure)
        assert left.fault == "product"
        assert left.error_type == ("ProcessDied" if env == "threads" else "BrokenProcessPool")
        hung = blocks["hangs", env, 1].outcome
        assert isinstance(hung, Timeout)
        assert 2.4 < hung.after_s < 20
    assert measuring_processes() == []


def test_what_a_sample_holds(ledger: FilesystemStore) -> None:
    plan = small_plan(
        [("sleeps", "threads"), ("sleeps", "processes")], units=4, repeats=3, warmups=1
    )
    spec = small_spec(plan, ledger.root, layout=Layout(workers=2, threads=2))
    assert run_round(spec, store=ledger, log=print).valid == 2
    for (_, env, _), block in blocks_of(ledger).items():
        assert isinstance(block.outcome, Success)
        assert block.correctness == "doubled"
        assert (block.threads, block.processes) == ((2, 1) if env == "threads" else (2, 2))
        assert [s.phase for s in block.samples] == ["warmup", "warmup", *["measure"] * 3]
        assert [s.repeat for s in block.samples] == list(range(5))
        for sample in block.samples:
            # four sleeps of 0.25 s on two threads
            assert 0.5 <= sample.makespan_s < 5
            assert isinstance(sample.task_wall_s, float) and 1.0 <= sample.task_wall_s < 4
            assert isinstance(sample.task_cpu_s, float) and sample.task_cpu_s < 0.2
            assert isinstance(sample.transfer_bytes, Missing)
            assert isinstance(sample.scheduler_cpu_s, Missing)
            assert isinstance(sample.peak_rss_mib, float) and sample.peak_rss_mib > 10
            assert isinstance(sample.worker_cpu_s, float) and 0 <= sample.worker_cpu_s < 2
            assert isinstance(sample.client_cpu_s, Missing) is (env == "threads")
            assert (sample.tasks, sample.units, sample.success_rate) == (4, 4, 1.0)
        assert isinstance(block.task_stream, str)
        table = from_parquet(ledger.get(f"profiles/{RUN}/{block.task_stream}"))
        assert table.num_rows == 4 * 5
        rows = table.to_pylist()
        assert {r["name"] for r in rows} == {"sleeps"}
        assert {r["key"][-2] for r in rows} == set("0123")
        assert len({(r["worker"], r["thread"]) for r in rows}) == 2
        assert all(r["stop_s"] - r["start_s"] >= 0.25 for r in rows)
    assert ledger.exists(f"profiles/{RUN}/local/workers.json")
    assert ledger.exists(f"profiles/{RUN}/local/environment.json")
    assert ledger.exists(f"profiles/{RUN}/logs/round-0.log")


def test_attempts_are_bounded_and_a_second_call_measures_nothing_again(
    ledger: FilesystemStore,
) -> None:
    plan = small_plan([("counts", "threads"), ("raises", "threads")], max_attempts=2)
    spec = small_spec(plan, ledger.root)
    report = run_round(spec, store=ledger, log=print)
    assert (report.valid, report.failed) == (1, 1)
    blocks = blocks_of(ledger)
    assert set(blocks) == {
        ("counts", "threads", 1),
        ("raises", "threads", 1),
        ("raises", "threads", 2),
    }
    lines: list[str] = []
    again = run_round(spec, store=ledger, log=lines.append)
    assert lines == []
    assert (again.valid, again.failed) == (1, 1)
    assert blocks_of(ledger) == blocks


def test_a_measuring_process_that_is_killed_costs_one_attempt(
    ledger: FilesystemStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASKPERF_TEST_MARK", str(tmp_path / "mark"))
    cells = [("counts", "threads"), ("kills-driver", "threads"), ("sleeps", "threads")]
    plan = small_plan(cells, max_attempts=2, units=2)
    report = run_round(small_spec(plan, ledger.root), store=ledger, log=print)
    assert (report.valid, report.failed) == (3, 0)
    blocks = blocks_of(ledger)
    dead = blocks["kills-driver", "threads", 1].outcome
    assert isinstance(dead, Failure)
    assert (dead.fault, dead.error_type) == ("infra", "ProcessDied")
    assert "killed by SIGKILL in the middle of the block: by the system when" in dead.message
    assert blocks["kills-driver", "threads", 2].valid
    assert len(blocks) == 4


def test_a_crash_is_the_products_and_a_kill_from_outside_is_not(ledger: FilesystemStore) -> None:
    cells = [(n, env) for n in ("killed", "crashes") for env in ("threads", "processes")]
    plan = small_plan(cells, units=4)
    assert run_round(small_spec(plan, ledger.root), store=ledger, log=print).failed == 4
    found = {}
    for (name, env, _), block in blocks_of(ledger).items():
        assert isinstance(block.outcome, Failure)
        found[name, env] = (block.outcome.fault, block.outcome.error_type)
        assert ("by the system when memory ran out" in block.outcome.message) is (name == "killed")
    assert found == {
        ("killed", "threads"): ("infra", "ProcessDied"),
        ("killed", "processes"): ("infra", "ClusterError"),
        ("crashes", "threads"): ("product", "ProcessDied"),
        ("crashes", "processes"): ("product", "BrokenProcessPool"),
    }


def test_another_wheel_on_the_path_is_refused(ledger: FilesystemStore, tmp_path: Path) -> None:
    from dataclasses import replace

    spec = small_spec(small_plan([("counts", "threads")]), ledger.root)
    wrong = replace(spec, import_name="psutil", subject_version="0.0", wheel_folder=str(tmp_path))
    with pytest.raises(HarnessError, match="another wheel"):
        check_driver(wrong)
    report = run_round(wrong, store=ledger, log=print)
    assert report.failed == 1
    outcome = blocks_of(ledger)["counts", "threads", 1].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.fault, outcome.error_type) == ("harness", "HarnessError")


def test_nothing_outlives_its_supervisor(ledger: FilesystemStore) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.run.rounds import small_plan, small_spec\n"
        "from daskperf_tasks.run.supervise import run_round\n"
        "from daskperf_tasks.store.filesystem import FilesystemStore\n"
        "store = FilesystemStore(sys.argv[1])\n"
        "plan = small_plan([('hangs', 'processes')], timeout_s=120.0)\n"
        "run_round(small_spec(plan, store.root), store=store, log=print)\n"
    )
    supervisor = subprocess.Popen(
        [sys.executable, "-c", script, str(ledger.root)],
        cwd=ledger.root.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
    )
    try:
        family = _wait_for_family(supervisor.pid)
    finally:
        supervisor.send_signal(signal.SIGKILL)
        supervisor.wait()
    gone, alive = psutil.wait_procs(family, timeout=30)
    assert alive == []
    assert len(gone) == len(family)


def _wait_for_family(pid: int) -> list[psutil.Process]:
    """The measuring process and its two pool processes, once they are there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        family = psutil.Process(pid).children(recursive=True)
        pool = []
        for process in family:
            with contextlib.suppress(psutil.Error):
                if any("spawn_main" in word for word in process.cmdline()):
                    pool.append(process)
        if len(pool) == 2:
            return family
        time.sleep(0.1)
    raise AssertionError("the pool did not start")
