"""What a workload does wrong becomes its own cell's failure, with the reason, and nobody else's."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import psutil
import pytest

from daskperf_tasks.run.spec import Layout
from daskperf_tasks.store.filesystem import FilesystemStore

from .misbehaving_rounds import measured, misbehaving_spec
from .misbehaving_workloads import MIB, SPEC
from .rounds import RUN, measuring_processes

#: More than a measuring process with its pool needs, less than the eater takes.
LIMIT = 1000 * MIB


@pytest.fixture(autouse=True)
def workloads(odd_workloads: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASKPERF_WORKLOADS", SPEC)


def sleepers() -> set[int]:
    """What ``leave_a_process`` leaves."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cmdline() == ["sleep", "3601"]:
                found.add(process.pid)
    return found


def said(found: dict[str, str], expected: dict[str, str]) -> None:
    wrong = {k: (v, found[k]) for k, v in expected.items() if not re.search(v, found[k])}
    assert wrong == {}
    assert found.keys() == expected.keys()


def test_hangs_deaths_and_nonsense_in_the_measuring_process(ledger: FilesystemStore) -> None:
    ended = "product ProcessDied: the measuring process ended with code"
    expected = {
        "looping threads": r"timeout after \d",
        "gil threads": r"timeout after \d",
        "eating threads": r"product MemoryExceeded: .* used .*, more than the 1000 MiB that "
        "the round allows; killed in the middle of the block",
        "unpicklable threads": "product Unpicklable: this one holds a lock",
        "base threads": "product OutOfTheTree: no Exception, but a BaseException",
        "wordless threads": r"product Wordless: \(its text cannot be had: TypeError\)",
        "long threads": "product ValueError: long long",
        "check-half threads": "measured",
        "closing threads": "measured|ProcessDied",
        "timer threads": "measured",
        "clock threads": "measured",
        "others threads": "product ValueError: the others hang",
        "pipes threads": "measured",
        "group threads": "ProcessDied: .* killed by SIGTERM|RuntimeError|timeout",
        "lock threads": "product CorrectnessError",
        "none threads": "product CorrectnessError",
        "much threads": "product CorrectnessError",
        "leaving threads": f"{ended} 3 in the middle of the block",
        "crashing threads": "product ProcessDied: .* ended by SIGSEGV in the middle of the block",
        "printing threads": "measured",
        "process threads": "measured",
        "build-swallows threads": r"timeout after \d",
        "build-handlers-hangs threads": r"timeout after \d",
        "build-fails threads": "product ZeroDivisionError: nothing can be divided by zero",
        "build-ends threads": f"{ended} 4 in the middle of the block",
        "build-empty threads": "product (ValueError|ProductError): ",
        "check-hangs threads": r"timeout after \d",
        "check-ends threads": f"{ended} 4 in the middle of the block",
    }
    cells = [(word.split()[0], word.split()[1]) for word in expected]
    spec = misbehaving_spec(
        cells, ledger, timeouts={"eating": 20.0, "much": 20.0}, memory_limit_bytes=LIMIT
    )
    before = sleepers()
    lines: list[str] = []
    said(measured(spec, ledger, cells, lines), expected)
    assert any("time.perf_counter was replaced" in line for line in lines)
    assert measuring_processes() == []
    # Not even one that moved to a session of its own outlives its measuring process.
    assert sleepers() - before == set()
    log = Path(ledger.root, "profiles", RUN, "logs", "round-0.log")
    assert log.read_text(errors="replace").count('"cell_id": "x"') > 100_000


def test_hangs_and_deaths_in_a_pool_of_processes(ledger: FilesystemStore) -> None:
    expected = {
        "gil processes": r"timeout after \d",
        "eating processes": r"product MemoryExceeded: .* used .*, more than the 1000 MiB",
        "not-unpickled processes": "product TypeError: .*TwoArguments",
        "lock processes": "product TypeError: cannot pickle",
        "none processes": "product CorrectnessError",
        "leaving processes": "product BrokenProcessPool",
        "printing processes": "measured",
    }
    cells = [(word.split()[0], word.split()[1]) for word in expected]
    spec = misbehaving_spec(
        cells, ledger, timeouts={"eating": 20.0, "much": 20.0}, memory_limit_bytes=LIMIT
    )
    said(measured(spec, ledger, cells), expected)
    assert measuring_processes() == []


def test_a_local_cluster(ledger: FilesystemStore) -> None:
    expected = {
        "eating local": "product MemoryExceeded: .* used .*, more than the 1000 MiB",
        "unpicklable local": "product .*this one holds a lock",
        "lock local": "product TypeError: Could not serialize object of type lock",
        "none local": "product CorrectnessError",
    }
    cells = [(word.split()[0], word.split()[1]) for word in expected]
    spec = misbehaving_spec(cells, ledger, memory_limit_bytes=LIMIT, timeout_s=20.0)
    assert spec.layout == Layout(workers=2, threads=2)
    said(measured(spec, ledger, cells), expected)
    assert measuring_processes() == []
