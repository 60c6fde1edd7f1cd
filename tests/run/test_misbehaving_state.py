"""What a workload leaves behind ends with its process, wherever its tasks ran."""

from __future__ import annotations

import pytest

from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster

from .misbehaving_rounds import measured, misbehaving_spec
from .misbehaving_workloads import SPEC
from .test_misbehaving import said, sleepers


@pytest.fixture(autouse=True)
def workloads(odd_workloads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASKPERF_WORKLOADS", SPEC)


def test_exits_nonsense_and_changed_state(ledger: FilesystemStore) -> None:
    broken = "returned something else than it must"
    expected = {
        "state threads": "measured",
        "thread threads": "measured",
        "process threads": "measured",
        "build-handlers threads": "measured",
        "state processes": "measured",
        "sys-exit threads": "product SystemExit: enough",
        "ctrl-c threads": "product KeyboardInterrupt",
        "sys-exit processes": "product SystemExit: enough",
        "unpicklable processes": "product RuntimeError: Unpicklable: this one holds a lock",
        "build-exits threads": "product SystemExit: enough",
        "build-ctrl-c threads": "product KeyboardInterrupt",
        "check-exits threads": "product SystemExit: enough",
        "build-none threads": f"product ProductError: build of workload 'build-none' {broken}",
        "build-empty threads": f"product ProductError: build of .* {broken}",
        "build-number threads": f"product ProductError: build of .* {broken}",
        "check-none threads": f"product ProductError: check of workload 'check-none' {broken}",
        "check-nan threads": f"product ProductError: check of .* {broken}",
        "check-more threads": f"product ProductError: check of .* {broken}",
        "check-less threads": f"product ProductError: check of .* {broken}",
        "check-text threads": f"product ProductError: check of .* {broken}",
    }
    cells = [(word.split()[0], word.split()[1]) for word in expected]
    spec = misbehaving_spec(cells, ledger, timeout_s=20.0)
    lines: list[str] = []
    said(measured(spec, ledger, cells, lines), expected)
    renewed = [line for line in lines if "the measuring process is renewed" in line]
    assert len(renewed) == 5, renewed
    assert "in driver the working folder is /" in renewed[0]
    assert "the garbage collector is off" in renewed[0]
    assert "a thread 'left-over' still runs" in renewed[1]
    assert "a process still runs: sleep 3601" in renewed[2]
    assert "handler of SIGTERM changed" in renewed[3]
    assert "in process " in renewed[4] and "the working folder is /" in renewed[4]


def test_a_lane_survives_what_its_workers_are_made_to_do(
    cluster: Cluster, ledger: FilesystemStore
) -> None:
    expected = {
        "gil remote": r"timeout after \d",
        "eating remote-threads": r"product MemoryExceeded: 1 times a nanny ended a worker "
        r"that held up to [\d,]+ MiB: tcp://",
        "state remote": "measured",
        "process remote": "measured",
        "unpicklable remote": "product .*this one holds a lock",
    }
    cells = [(word.split()[0], word.split()[1]) for word in expected]
    timeouts = {"gil": 2.0}
    spec = misbehaving_spec(
        cells, ledger, scheduler=cluster.address, timeout_s=30.0, timeouts=timeouts, grace_s=20.0
    )
    lines: list[str] = []
    before = sleepers()
    said(measured(spec, ledger, cells, lines), expected)
    renewed = [line for line in lines if "the measuring process is renewed" in line]
    assert len(renewed) == 2, renewed
    assert "in lane-" in renewed[0] and "the working folder is /" in renewed[0]
    assert "in lane-" in renewed[1] and "a process still runs: sleep 3601" in renewed[1]
    assert sleepers() - before == set()
