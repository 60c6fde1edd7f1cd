"""Cells that take a number of workers, in every environment."""

from __future__ import annotations

from daskperf_tasks.collect.task_stream import from_parquet
from daskperf_tasks.model.block import Failure, Success
from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.run.spec import Layout
from daskperf_tasks.run.supervise import run_round
from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster

from .odd_workloads import SPEC
from .rounds import RUN, plan_of_text, small_spec


def plan_of(environments: list[str], workers: list[int]) -> Plan:
    text = f"""
    [matrix]
    name = "small"
    rounds = 1
    repeats = 1
    max_attempts = 1
    timeout_s = 20
    warmup = {{ min_repeats = 0, max_repeats = 0 }}
    [[workload]]
    name = "sleeps"
    units = 4
    environments = {environments!r}
    workers = {workers!r}
    """
    return plan_of_text(text, SPEC)


def test_tasks_keep_to_the_workers_of_their_cell(cluster: Cluster, ledger: FilesystemStore) -> None:
    envs = ["threads", "processes", "local", "remote", "remote-threads", "remote-processes"]
    plan = plan_of(envs, [1, 2])
    spec = small_spec(plan, ledger.root, scheduler=cluster.address)
    assert run_round(spec, store=ledger, log=print).valid == 12

    # Threads and processes that could work at once.
    expected = {
        ("threads", 1): (1, 1),
        ("threads", 2): (2, 1),
        ("processes", 1): (1, 1),
        ("processes", 2): (2, 2),
        ("local", 1): (2, 1),
        ("local", 2): (4, 2),
        ("remote", 1): (2, 1),
        ("remote", 2): (4, 2),
        ("remote-threads", 1): (1, 1),
        ("remote-threads", 2): (2, 1),
        ("remote-processes", 1): (1, 1),
        ("remote-processes", 2): (2, 2),
    }
    seen = {}
    for block in blocks(ledger):
        cell = parse_cell_id(block.cell_id)
        assert isinstance(block.outcome, Success), block
        seen[cell.env, cell.workers] = (block.threads, block.processes)
        assert isinstance(block.task_stream, str)
        rows = from_parquet(ledger.get(f"profiles/{RUN}/{block.task_stream}")).to_pylist()
        rows = [r for r in rows if r["action"] == "compute"]
        used = {(r["worker"], r["thread"]) for r in rows}
        assert len({worker for worker, _ in used}) <= block.processes
        assert most_at_once(rows) <= block.threads
        [sample] = block.measured
        # four sleeps of 0.25 s
        assert sample.makespan_s >= 1.0 / block.threads
    assert seen == expected


def test_more_workers_than_there_are(cluster: Cluster, ledger: FilesystemStore) -> None:
    plan = plan_of(["threads", "processes", "remote", "remote-threads"], [500, 2])
    spec = small_spec(
        plan, ledger.root, scheduler=cluster.address, layout=Layout(workers=2, threads=2)
    )
    report = run_round(spec, store=ledger, log=print)
    assert (report.valid, report.failed) == (4, 4)
    for block in blocks(ledger):
        cell = parse_cell_id(block.cell_id)
        if cell.workers == 2:
            assert block.valid
            continue
        assert isinstance(block.outcome, Failure)
        assert block.outcome.fault == "input"
        assert f"more workers than there are in {cell.env!r}" in block.outcome.message
        assert "workers = 500" in block.outcome.message


def test_ids_name_the_number_of_workers() -> None:
    text = plan_of(["remote"], [1]).cells[0].cell_id
    assert text == "sleeps/v1;workers=1;env=remote;sched=ws"
    cell = parse_cell_id(text)
    assert (cell.workers, cell.params, cell.label) == (1, (), "sleeps workers=1")
    assert cell.counterpart_id == "sleeps/v1;workers=1;env=local;sched=ws"


def blocks(ledger: FilesystemStore):  # type: ignore[no-untyped-def]
    from daskperf_tasks.model.block import BlockResult
    from daskperf_tasks.model.codec import loads

    for item in ledger.list(f"profiles/{RUN}/blocks/"):
        yield loads(ledger.get(item.key), BlockResult)


def most_at_once(rows: list[dict[str, float]]) -> int:
    # A worker's clock readings of successive tasks may overlap by a little.
    slack = 0.01
    moments = [(r["start_s"] + slack, 1) for r in rows]
    moments += [(r["stop_s"] - slack, -1) for r in rows]
    running = most = 0
    for _, step in sorted(moments):
        running += step
        most = max(most, running)
    return most
