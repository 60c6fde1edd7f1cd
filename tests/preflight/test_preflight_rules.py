from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from daskperf_tasks.model.facts import Finding, Lane, LaneWorker, ProcessFacts
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.preflight.rules import DISTRIBUTIONS, findings

VERSIONS = dict.fromkeys(DISTRIBUTIONS, "1.0")
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SHA = "a" * 64
SUBJECT = Subject(
    name="toy",
    version="2.0",
    sha256=SHA,
    file="toy-2.0-py3-none-any.whl",
    size_bytes=1,
    import_name="toy",
    source="s",
    chosen_by="c",
)


def process(role: str, name: str, ip: str = "10.0.0.1", **more: Any) -> ProcessFacts:
    worker = role == "worker"
    base: dict[str, Any] = {
        "role": role,
        "name": name,
        "address": f"tcp://{ip}:1" if role != "client" else "",
        "host": f"host-{ip}",
        "pid": 1,
        "python": "3.11.7",
        "versions": VERSIONS | ({"toy": "2.0"} if worker else {}),
        "locations": {"toy": f"/x/daskperf-wheels/{SHA}"} if worker else {},
        "cpu_model": "cpu",
        "cores": 8,
        "nthreads": 4 if worker else 0,
        "memory_limit_bytes": 2**33 if worker else 0,
        "load_1min": 0.5,
        "loopback": False,
        "nanny": worker,
        "thread_settings": THREADS,
    }
    return ProcessFacts(**(base | more))


LANE = Lane(
    name="lab",
    scheduler="tcp://10.0.0.1:1",
    workers=(
        LaneWorker(name="a", host="10.0.0.2", nthreads=4, memory_gib=8.0),
        LaneWorker(name="b", host="host-10.0.0.3"),
    ),
)
CLIENT, SCHEDULER = process("client", "client"), process("scheduler", "scheduler")
A, B = process("worker", "a", "10.0.0.2"), process("worker", "b", "10.0.0.3")


def judge(*workers: ProcessFacts, **more: Any) -> tuple[Finding, ...]:
    options: dict[str, Any] = {"lane": LANE, "subject": SUBJECT} | more
    scheduler = options.pop("scheduler", SCHEDULER)
    return findings((CLIENT, scheduler, *workers), **options)


def short(found: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return [(f.level, f.code, f.name) for f in found]


def with_(worker: ProcessFacts, **more: Any) -> ProcessFacts:
    return dataclasses.replace(worker, **more)


def versions(worker: ProcessFacts, **more: str) -> ProcessFacts:
    return with_(worker, versions=worker.versions | more)


def test_a_lane_as_it_should_be() -> None:
    assert judge(A, B) == ()


def test_missing_and_unexpected_workers_block() -> None:
    found = judge(A, process("worker", "c", "10.0.0.4"))
    assert short(found) == [("block", "worker-missing", "b"), ("block", "worker-unexpected", "c")]
    assert found[0].host == "host-10.0.0.3" and found[0].found == "visible: a, c"
    assert found[1].expected == "only a, b"


def test_no_worker_at_all() -> None:
    codes = [f.code for f in judge()]
    assert codes == ["no-workers", "worker-missing", "worker-missing"]


def test_a_lane_without_layout_is_noted() -> None:
    lane = dataclasses.replace(LANE, workers=())
    assert short(judge(A, B, lane=lane)) == [("note", "layout-not-stated", "")]


def test_threads_memory_host() -> None:
    other = with_(A, nthreads=3, memory_limit_bytes=2**32, address="tcp://10.9.9.9:1")
    found = judge(other, B)
    assert short(found) == [
        ("block", "worker-threads", "a"),
        ("warn", "worker-memory", "a"),
        ("warn", "worker-host", "a"),
    ]
    assert (found[0].expected, found[0].found) == ("4 threads", "3")
    assert (found[1].expected, found[1].found) == ("a memory limit of 8 GiB", "4 GiB")
    assert judge(with_(A, memory_limit_bytes=int(7.8 * 2**30)), B) == ()
    assert judge(with_(A, memory_limit_bytes=0), B)[0].found == "no limit"


@pytest.mark.parametrize("name", ["dask", "distributed", "msgpack", "daskperf"])
def test_versions_that_block(name: str) -> None:
    (found,) = judge(A, versions(B, **{name: "0.9"}))
    assert (found.level, found.code, found.role) == ("block", "version-mismatch", "worker")
    assert (found.name, found.host) == ("b", "host-10.0.0.3")
    assert (found.expected, found.found) == (f"{name} 1.0 (as the client)", f"{name} 0.9")
    assert f"pip install {name}==1.0" in found.todo


@pytest.mark.parametrize("name", ["numpy", "pandas", "cloudpickle", "tornado"])
def test_versions_that_warn(name: str) -> None:
    assert short(judge(A, versions(B, **{name: "0.9"}))) == [("warn", "version-mismatch", "b")]


def test_the_scheduler_counts_too() -> None:
    found = judge(A, B, scheduler=versions(SCHEDULER, dask="0.9"))
    assert short(found) == [("block", "version-mismatch", "scheduler")]
    lacking = judge(A, B, scheduler=versions(SCHEDULER, pandas="missing"))
    assert short(lacking) == [("note", "not-installed", "scheduler")]


def test_daskperf_missing_on_a_worker_blocks() -> None:
    (found,) = judge(A, versions(B, daskperf="missing"))
    assert (found.level, found.code) == ("block", "not-installed")
    assert "pip install daskperf==1.0" in found.todo


def test_python_minor_blocks_and_micro_warns() -> None:
    assert short(judge(A, with_(B, python="3.12.1"))) == [("block", "version-mismatch", "b")]
    assert short(judge(A, with_(B, python="3.11.9"))) == [("warn", "version-mismatch", "b")]


def test_another_subject_blocks() -> None:
    (found,) = judge(A, versions(B, toy="1.9"))
    assert (found.level, found.code, found.found) == ("block", "subject-version", "toy 1.9")
    (found,) = judge(A, versions(B, toy="missing"))
    assert found.found == "toy missing"
    (found,) = judge(A, with_(B, locations={"toy": "/usr/lib/site-packages"}))
    assert (found.level, found.code) == ("block", "subject-hash")
    assert found.expected == f"the wheel {SHA}" and "/usr/lib/site-packages" in found.found
    assert judge(A, versions(B, toy="1.9"), subject=None) == ()


def test_no_nanny() -> None:
    alone = with_(B, nanny=False)
    assert short(judge(A, alone)) == [("block", "no-nanny", "b")]
    assert short(judge(A, alone, subject=None)) == [("block", "no-nanny", "b")]


def test_hosts() -> None:
    assert short(judge(A, with_(B, cpu_model="other"))) == [
        ("note", "cpu-models-differ", "a"),
        ("note", "cpu-models-differ", "b"),
    ]
    assert short(judge(with_(A, load_1min=8.5), B)) == [("warn", "load-above-cores", "a")]
    assert short(judge(with_(A, cores=3), B)) == [("warn", "threads-above-cores", "a")]


def test_loopback_is_noted_and_shares_its_cores() -> None:
    lane = dataclasses.replace(
        LANE, workers=tuple(dataclasses.replace(w, host=None) for w in LANE.workers)
    )
    both = [with_(w, host="h", address="tcp://127.0.0.1:1", loopback=True, cores=4) for w in (A, B)]
    found = judge(*both, lane=lane)
    assert short(found) == [
        ("note", "threads-above-cores", "a"),
        ("note", "loopback-worker", "a"),
        ("note", "loopback-worker", "b"),
    ]
    assert "8 (a, b)" in found[0].found
    assert "loopback cluster tests" in found[1].todo


def test_native_threads() -> None:
    (found,) = judge(A, with_(B, thread_settings={"OMP_NUM_THREADS": "1"}))
    assert (found.level, found.code) == ("note", "native-threads-unset")
    assert found.found == "OPENBLAS_NUM_THREADS, MKL_NUM_THREADS not set"


def test_the_worst_comes_first_and_every_finding_says_all() -> None:
    found = judge(
        with_(versions(A, dask="0"), load_1min=99.0), with_(B, thread_settings={}, nanny=False)
    )
    levels = [f.level for f in found]
    assert levels == sorted(levels, key=("block", "warn", "note").index)
    for one in found:
        assert all((one.role, one.host, one.name, one.expected, one.found, one.todo)), one
