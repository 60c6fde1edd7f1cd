from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daskperf_tasks.collect.task_stream import TaskRow
from daskperf_tasks.model.block import Failure, HostLoad, Member, Timeout
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Warmup
from daskperf_tasks.run.child import child_environment
from daskperf_tasks.run.look import Look, between
from daskperf_tasks.run.progress import block_line
from daskperf_tasks.run.protocol import disturbed, membership_change, warm
from daskperf_tasks.run.spec import RoundSpec, round_spec
from daskperf_tasks.run.unmeasured import unmeasured_block
from tests import sample_documents

from .rounds import small_plan, small_spec

USUAL = Warmup(min_repeats=1, max_repeats=3, tolerance=0.1)


@pytest.mark.parametrize(
    ("makespans", "warmup", "over"),
    [
        ([], USUAL, False),
        ([1.0], USUAL, False),
        ([1.0, 1.05], USUAL, True),
        ([1.0, 0.8], USUAL, False),
        ([1.0, 0.8, 0.5], USUAL, True),
        ([1.0, 1.0], replace(USUAL, min_repeats=3), False),
        ([], replace(USUAL, min_repeats=0, max_repeats=0), True),
    ],
)
def test_warming_up_ends_stable_or_at_its_cap(
    makespans: list[float], warmup: Warmup, over: bool
) -> None:
    assert warm(makespans, warmup) is over


def test_membership_in_words() -> None:
    a, b = (Member(name=n, worker_id=n, nthreads=2) for n in "ab")
    assert membership_change([a, b], [b, a]) is None
    assert membership_change([a, b], [b]) == "worker a was lost during the block"
    assert membership_change([a], [a, b]) == "worker b joined during the block"
    again = replace(a, worker_id="z")
    says = membership_change([a, b], [again])
    assert says == "worker b was lost and worker a was restarted during the block"
    assert "from 2 to 1 threads" in str(membership_change([a], [replace(a, nthreads=1)]))


def test_the_host_load_guard() -> None:
    load = HostLoad(
        load_1min_before=0,
        load_1min_after=0,
        foreign_cpu_cores=0.7,
        steal_fraction=0.0,
        cpu_model="x",
    )
    assert disturbed(load, None) is None
    assert disturbed(load, 0.8) is None
    assert "0.70 cores" in str(disturbed(load, 0.5))
    unknown = replace(load, foreign_cpu_cores=Missing(missing="short"))
    assert disturbed(unknown, 0.5) is None


ROW = TaskRow(
    key="k",
    name="k",
    worker="w",
    worker_name="w",
    thread=1,
    nbytes=1,
    spans=(("transfer", 0.0, 0.5), ("compute", 1.0, 3.0)),
)
LOOK = Look(
    members=(),
    worker_cpu_s={"w": 1.0},
    scheduler_cpu_s=2.0,
    peak_rss_mib=10.0,
    rows=(ROW, ROW),
    transfer_bytes=7.0,
    fine={"w": {"execute/thread-cpu/seconds": 1.0}},
)


def test_what_lies_between_two_looks() -> None:
    later = replace(
        LOOK,
        worker_cpu_s={"w": 4.5},
        scheduler_cpu_s=2.25,
        fine={"w": {"execute/thread-cpu/seconds": 4.0}},
    )
    used = between(LOOK, later)
    assert (used.task_wall_s, used.transfer_s, used.task_cpu_s) == (4.0, 1.0, 3.0)
    assert (used.worker_cpu_s, used.scheduler_cpu_s, used.transfer_bytes) == (3.5, 0.25, 7.0)


def test_what_is_not_known_has_its_reason() -> None:
    lost = Missing(missing="rows were lost")
    used = between(LOOK, replace(LOOK, rows=lost, worker_cpu_s={"x": 1.0}, fine=lost))
    assert used.task_wall_s == used.transfer_s == used.task_cpu_s == lost
    assert used.worker_cpu_s == Missing(missing="workers came or went during the repeat")


def test_a_spec_survives_json_and_goes_on_where_the_blocks_say() -> None:
    plan = small_plan([("counts", "threads"), ("sleeps", "threads")], max_attempts=2)
    spec = small_spec(plan, Path("/x"))
    assert loads(dumps(spec), RoundSpec) == spec
    first, second = spec.turns
    failed = unmeasured_block(spec, second, Timeout(after_s=1.0))
    valid = replace(sample_documents.block(), cell_id=first.planned.cell_id, round=0, arm="subject")
    again = round_spec(
        plan,
        plan.rounds[0],
        subject=sample_documents.subject(),
        wheel_folder="",
        scheduler="",
        layout=spec.layout,
        ledger="/x",
        blocks=[failed, valid],
    )
    assert [(t.planned.cell_id, t.attempt) for t in again.turns] == [(second.planned.cell_id, 2)]


def test_the_measuring_process_gets_a_clean_environment() -> None:
    spec = replace(small_spec(small_plan([("counts", "threads")]), Path("/x")), wheel_folder="/w/1")
    env = child_environment(
        spec,
        {
            "AIRFLOW__CORE__FERNET_KEY": "secret",
            "_AIRFLOW_PARSING": "1",
            "AIRFLOW_CONN_S3": "secret",
            "PYTHONHASHSEED": "0",
            "PYTHONSTARTUP": "/x",
            "PYTHONPATH": "/mine:/w/1",
            "HOME": "/root",
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": "/ca",
        },
    )
    assert not [k for k in env if "AIRFLOW" in k]
    assert env["PYTHONPATH"].split(":")[0] == "/w/1"
    assert env["PYTHONPATH"].split(":")[-1] == "/mine"
    assert env["OMP_NUM_THREADS"] == "1"
    assert env["PYTHONHASHSEED"] not in ("0", "random")
    assert (env["HOME"], env["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"]) == ("/root", "/ca")
    later = replace(spec, round=replace(spec.round, index=1))
    assert child_environment(later, {})["PYTHONHASHSEED"] != env["PYTHONHASHSEED"]


def test_lines_for_people() -> None:
    spec = small_spec(small_plan([("counts", "threads")]), Path("/x"))
    (turn,) = spec.turns
    block = sample_documents.block()
    line = block_line(spec, turn, block, unit="aggregate")
    assert line.startswith("round 1/1 subject  counts threads: ")
    assert "repeats, median" in line and "aggregates/s" in line
    assert "INVALID: w left" in block_line(spec, turn, replace(block, invalid_reason="w left"))
    failure = Failure(fault="product", error_type="ValueError", message="a\nb", traceback="")
    again = replace(turn, attempt=2)
    assert block_line(spec, again, replace(block, outcome=failure)).endswith(
        "(attempt 2): product failure, ValueError: a"
    )
    timeout = replace(block, outcome=Timeout(after_s=2.0))
    assert block_line(spec, turn, timeout).endswith("timeout after 2.0 s")
