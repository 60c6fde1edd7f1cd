"""Rounds on a local cluster and on a real lane of two workers."""

from __future__ import annotations

import itertools
import json
import threading
import time
from dataclasses import replace

import pytest
from distributed import Client

from daskperf_tasks.collect.task_stream import from_parquet
from daskperf_tasks.model.block import Failure, Timeout
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.run.spec import Layout
from daskperf_tasks.run.supervise import run_round
from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster

from .rounds import RUN, blocks_of, measuring_processes, small_plan, small_spec

LAYOUT = Layout(workers=2, threads=2)


def test_all_distributed_environments(cluster: Cluster, ledger: FilesystemStore) -> None:
    envs = ("local", "remote", "remote-threads", "remote-processes")
    cells = [("sleeps", env) for env in envs] + [("sums", "remote"), ("raises", "remote")]
    plan = small_plan(cells, units=8, repeats=2)
    spec = small_spec(plan, ledger.root, scheduler=cluster.address, layout=LAYOUT)
    assert spec.round.profile
    report = run_round(spec, store=ledger, log=print)
    assert (report.valid, report.failed) == (5, 1)
    blocks = blocks_of(ledger)
    shape = {env: (b.threads, b.processes) for (n, env, _), b in blocks.items() if n == "sleeps"}
    assert shape == {
        "local": (4, 2),
        "remote": (4, 2),
        "remote-threads": (2, 1),
        "remote-processes": (2, 2),
    }
    for env in envs:
        block = blocks["sleeps", env, 1]
        table = from_parquet(ledger.get(f"profiles/{RUN}/{block.task_stream}")).to_pylist()
        # A worker that is kept from running for 5 ms also reports storing a result.
        assert sum(r["action"] == "compute" for r in table) == 8 * 3
        workers = {r["worker_name"] for r in table}
        assert len(workers) == (1 if env == "remote-threads" else 2)
        for sample in block.samples:
            assert sample.makespan_s >= 0.25 * 8 / block.threads
            assert isinstance(sample.task_wall_s, float) and 2.0 <= sample.task_wall_s < 4
            assert isinstance(sample.task_cpu_s, float) and sample.task_cpu_s < 1
            assert isinstance(sample.worker_cpu_s, float) and sample.worker_cpu_s < 2
            assert isinstance(sample.scheduler_cpu_s, Missing) is (env == "local")
        assert isinstance(block.fine_metrics, dict)
        assert "execute/thread-cpu/seconds" in block.fine_metrics
        assert block.members_before == block.members_after
    alone = blocks["sleeps", "remote-processes", 1].task_stream
    rows = from_parquet(ledger.get(f"profiles/{RUN}/{alone}")).to_pylist()
    for worker in {r["worker"] for r in rows}:
        spans = sorted((r["start_s"], r["stop_s"]) for r in rows if r["worker"] == worker)
        # workers correct their clock by the scheduler's now and then
        assert all(b[0] >= a[1] - 0.1 for a, b in itertools.pairwise(spans))
    raised = blocks["raises", "remote", 1].outcome
    assert isinstance(raised, Failure)
    assert (raised.fault, raised.error_type) == ("product", "ZeroDivisionError")
    moved = [s.transfer_bytes for s in blocks["sums", "remote", 1].samples]
    assert all(isinstance(m, float) for m in moved)
    for side in ("local", "remote"):
        page = ledger.get(f"profiles/{RUN}/{side}/performance_report.html").decode()
        assert "Bokeh" in page and "cdn.bokeh.org" not in page.split("<body")[0]
        workers = json.loads(ledger.get(f"profiles/{RUN}/{side}/workers.json"))["workers"]
        assert {w["nthreads"] for w in workers} == {2}
        about = json.loads(ledger.get(f"profiles/{RUN}/{side}/environment.json"))
        assert about["driver"]["distributions"]["dask"]
        assert len(about["workers"]) == 2
    assert measuring_processes() == []
    with Client(cluster.address, set_as_default=False) as client:
        info = client.scheduler_info(n_workers=-1)["workers"].values()
        assert all(not w["resources"] for w in info)
        assert client.run_on_scheduler(lambda dask_scheduler: dict(dask_scheduler.resources)) == {}


def test_a_killed_worker_costs_its_block_and_no_other(
    cluster: Cluster, ledger: FilesystemStore
) -> None:
    cells = [("sleeps", "remote"), ("counts", "remote"), ("counts", "remote-threads")]
    plan = small_plan(cells, units=12, repeats=2, max_attempts=3)
    spec = small_spec(plan, ledger.root, scheduler=cluster.address, layout=LAYOUT)
    killer = threading.Thread(target=_kill_when_busy, args=(cluster, "lane-b"))
    killer.start()
    report = run_round(spec, store=ledger, log=print)
    killer.join()
    assert (report.valid, report.invalid, report.failed) == (3, 0, 0)
    blocks = blocks_of(ledger)
    first = blocks["sleeps", "remote", 1]
    assert not first.valid
    assert "lane-b was" in str(first.invalid_reason)
    assert len(first.samples) >= 1
    assert blocks["sleeps", "remote", 2].valid
    assert set(blocks) == {
        ("sleeps", "remote", 1),
        ("sleeps", "remote", 2),
        ("counts", "remote", 1),
        ("counts", "remote-threads", 1),
    }


def test_the_only_worker_is_killed(cluster: Cluster, ledger: FilesystemStore) -> None:
    plan = small_plan([("sleeps", "remote-threads")], units=12, max_attempts=3, timeout_s=60)
    spec = small_spec(plan, ledger.root, scheduler=cluster.address, layout=LAYOUT)
    killer = threading.Thread(target=_kill_when_busy, args=(cluster, "lane-a"))
    killer.start()
    report = run_round(spec, store=ledger, log=print)
    killer.join()
    assert report.valid == 1
    first = blocks_of(ledger)["sleeps", "remote-threads", 1]
    assert isinstance(first.outcome, Failure)
    assert (first.outcome.fault, first.outcome.error_type) == ("infra", "WorkerLost")


def _kill_when_busy(cluster: Cluster, name: str) -> None:
    """Kill a worker as soon as it runs a task that sleeps."""
    deadline = time.monotonic() + 60
    with Client(cluster.address, set_as_default=False) as client:
        while time.monotonic() < deadline:
            processing = client.processing()
            names = {
                a: w["name"] for a, w in client.scheduler_info(n_workers=-1)["workers"].items()
            }
            if any(
                names.get(a) == name and any("sleeps" in str(k) for k in keys)
                for a, keys in processing.items()
            ):
                cluster.kill_worker(name)
                return
            time.sleep(0.02)


def test_a_task_that_hangs_on_the_lane(cluster: Cluster, ledger: FilesystemStore) -> None:
    cells = [("hangs", "remote"), ("counts", "remote"), ("counts", "remote-processes")]
    plan = small_plan(cells, units=4, timeout_s=3.0)
    spec = small_spec(plan, ledger.root, scheduler=cluster.address, layout=LAYOUT)
    report = run_round(spec, store=ledger, log=print)
    blocks = blocks_of(ledger)
    assert (report.valid, report.failed) == (2, 1), blocks
    assert isinstance(blocks["hangs", "remote", 1].outcome, Timeout)
    with Client(cluster.address, set_as_default=False) as client:
        executing = client.run(lambda dask_worker: len(dask_worker.state.executing))
    assert set(executing.values()) == {0}


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", ""])
def test_no_scheduler_is_an_infrastructure_failure(ledger: FilesystemStore, address: str) -> None:
    plan = small_plan([("counts", "remote"), ("counts", "threads")])
    spec = small_spec(plan, ledger.root, scheduler=address, open_timeout_s=3.0)
    report = run_round(spec, store=ledger, log=print)
    assert (report.valid, report.failed) == (1, 1)
    outcome = blocks_of(ledger)["counts", "remote", 1].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.fault, outcome.error_type) == ("infra", "ClusterError")


def test_a_worker_with_another_version_is_no_fault_of_the_wheel(
    cluster: Cluster, ledger: FilesystemStore
) -> None:
    spec = small_spec(
        small_plan([("counts", "remote")]), ledger.root, scheduler=cluster.address, layout=LAYOUT
    )
    wrong = replace(spec, import_name="psutil", subject_version="0.0")
    assert run_round(wrong, store=ledger, log=print).failed == 1
    outcome = blocks_of(ledger)["counts", "remote", 1].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.fault, outcome.error_type) == ("infra", "ClusterError")
    assert "worker lane-a serves another psutil than the deployed one" in outcome.message
