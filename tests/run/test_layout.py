from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from daskperf_tasks.model.block import Member
from daskperf_tasks.model.facts import LaneWorker
from daskperf_tasks.run.deaths import TERMINATED, killed_from_outside
from daskperf_tasks.run.identity import find_subject, plain_version, same_version
from daskperf_tasks.run.layout import layout_fault, pinned


def lane(*names: str, nthreads: int | None = 2) -> list[LaneWorker]:
    return [LaneWorker(name=n, nthreads=nthreads) for n in names]


def there(*names: str, nthreads: int = 2) -> list[Member]:
    return [Member(name=n, worker_id=n, nthreads=nthreads) for n in names]


ADDRESS = "tcp://10.0.0.7:4001"


@pytest.mark.parametrize(
    ("members", "expected", "says"),
    [
        (there("a", "b"), lane("b", "a"), None),
        (there("a"), lane("a", "b"), "worker b is missing: 1 of 2 workers"),
        (there(), lane("a"), "worker a is missing: 0 of 1 workers"),
        (there("a", "c"), lane("a", "b"), "worker b is missing: 2 of 2 workers"),
        (there("a", "b", "c"), lane("a", "b"), "worker c joined: 3 workers instead of 2"),
        (there("a"), lane("", ""), "a worker is missing: 1 of 2 workers"),
        (there(), lane("", ""), "2 workers are missing: 0 of 2 workers"),
        (there("a", "b", "c"), lane("", ""), "too many workers: 3 workers instead of 2"),
        (there("a", "b"), lane("", ""), None),
        (there(ADDRESS, "a"), lane("tcp://10.0.0.7:3999", "a"), None),
        (there("a"), lane("tcp://10.0.0.7:3999", "a"), "a worker is missing: 1 of 2 workers"),
        (there("a", nthreads=1), lane("a"), "worker a has 1 threads instead of 2"),
        (there("a", nthreads=1), lane(""), "worker a has 1 threads instead of 2"),
        (there("a", nthreads=1), lane("a", nthreads=None), None),
        (there("a", nthreads=1), lane("", nthreads=None), None),
    ],
)
def test_the_workers_against_the_layout(
    members: list[Member], expected: list[LaneWorker], says: str | None
) -> None:
    assert layout_fault(members, expected) == says


def test_workers_of_unlike_sizes() -> None:
    mixed = [*lane("a"), *lane("b", nthreads=4)]
    members = [*there("a"), *there("b", nthreads=4)]
    assert layout_fault(members, mixed) is None
    assert layout_fault(members, pinned(members)) is None
    nameless = [LaneWorker(name="", nthreads=n) for n in (4, 2)]
    assert layout_fault(members, nameless) is None
    assert layout_fault(there("a", "b"), nameless) == "worker b has 2 threads instead of 4"


@pytest.mark.parametrize(
    ("codes", "by"),
    [
        ([-signal.SIGKILL], "SIGKILL"),
        ([-signal.SIGTERM], "SIGTERM"),
        ([TERMINATED], "SIGTERM"),
        ([-signal.SIGKILL, -signal.SIGTERM, 0], "SIGKILL"),
        ([-signal.SIGSEGV, -signal.SIGTERM], None),
        ([-signal.SIGABRT], None),
        ([-signal.SIGFPE], None),
        ([-signal.SIGILL], None),
        ([3, -signal.SIGTERM], None),
        ([1], None),
        ([], None),
    ],
)
def test_whose_fault_a_death_is(codes: list[int], by: str | None) -> None:
    says = killed_from_outside(codes)
    assert (says is None) is (by is None)
    assert by is None or str(says).startswith(f"killed by {by}: ")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("2.1", "2.1.0", True),
        ("2.1.0", "2.1.0.0", True),
        ("1.0.DEV3", "1.0.dev3", True),
        ("0.1.0+gabc", "0.1.0+gABC", True),
        ("2.1", "2.1.1", False),
        ("2.1", "2.10", False),
        ("0.1.0+gabc", "0.1.0", False),
        ("not a version", "Not a version", True),
    ],
)
def test_versions_as_they_are_spelled(
    monkeypatch: pytest.MonkeyPatch, a: str, b: str, same: bool
) -> None:
    assert same_version(a, b) is same
    assert (plain_version(a) == plain_version(b)) is same
    monkeypatch.setitem(sys.modules, "packaging.version", None)
    assert same_version(a, b) is same


def test_a_subject_that_is_not_there_or_does_not_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = find_subject("no_such_subject", "0" * 64)
    assert not gone.on_path
    assert "No module named 'no_such_subject'" in str(gone.error)
    folder = tmp_path / ("1" * 64)
    folder.mkdir()
    (folder / "breaks_on_import.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(str(folder))
    broken = find_subject("breaks_on_import", folder.name)
    assert broken.on_path
    assert "ZeroDivisionError" in str(broken.error)
    elsewhere = find_subject("psutil", folder.name)
    assert elsewhere.folder == ""
    assert elsewhere.error is None and elsewhere.versions
