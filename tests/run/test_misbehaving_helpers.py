"""The parts that keep workloads apart, one by one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from daskperf_tasks.errors import ProductError
from daskperf_tasks.model.block import Failure, Success, Timeout
from daskperf_tasks.run import memory_watch, traces
from daskperf_tasks.run.contract import built_by, checked_by
from daskperf_tasks.run.deaths import explained
from daskperf_tasks.run.scheduler_path import put_on_path, take_off_path
from daskperf_tasks.run.scheduler_wheel import brings_workloads
from daskperf_tasks.workloads.protocol import Built

from .misbehaving_workloads import ALL, Bad
from .rounds import small_plan

BY_NAME = {workload.name: workload for workload in ALL}


def test_what_a_workload_returns_is_held_against_the_protocol() -> None:
    [planned] = small_plan([("counts", "threads")], units=3).cells
    request = replace(planned.request, params=())
    good = BY_NAME["good"]
    assert isinstance(built_by(good, request), Built)  # type: ignore[arg-type]
    assert checked_by(good, (0, 2, 4), request).right_units == 3  # type: ignore[arg-type]
    for name in ("build-none", "build-empty", "build-number"):
        with pytest.raises(ProductError, match=f"build of workload '{name}'"):
            built_by(BY_NAME[name], request)  # type: ignore[arg-type]
    for name in ("check-none", "check-nan", "check-more", "check-less", "check-text"):
        with pytest.raises(ProductError, match=f"check of workload '{name}'"):
            checked_by(BY_NAME[name], (0, 2, 4), request)  # type: ignore[arg-type]
    with pytest.raises(ProductError, match="whose repr raises") as seen:
        checked_by(Bad("shy", says=(Shy(),)), (), request)  # type: ignore[arg-type]
    assert "Checked(right_units" in str(seen.value)


class Shy:
    def __repr__(self) -> str:
        raise ValueError("no")


def test_the_memory_of_a_family() -> None:
    code = "x = b'x' * (200 * 2**20); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"
        family = memory_watch.family_of(os.getpid())
        assert family[0] == os.getpid() and child.pid in family
        assert 200 * 2**20 <= memory_watch.used_bytes([child.pid]) < 300 * 2**20
        child.communicate(b"\n")
    assert memory_watch.used_bytes([child.pid]) == 0
    free = memory_watch.free_bytes()
    limit = memory_watch.limit_now()
    assert free is not None and limit is not None
    assert limit.limit_bytes > 0
    assert "80% of what was free" in str(limit.exceeded_by(2**60))


def test_what_changed_in_a_process() -> None:
    before = traces.look()
    assert traces.difference(before, before) == ()
    after = replace(
        before,
        folder="/elsewhere",
        environ={**before.environ, "NEW": "1"},
        collector=(False, before.collector[1]),
        dask={f"key-{i}": "1" for i in range(9)},
        processes={7: "sleep 9"},
        threads=frozenset({"left"}),
    )
    said = "; ".join(traces.difference(before, after))
    assert "the working folder is /elsewhere" in said
    assert "environment variable NEW changed" in said
    assert "more" in said and "the garbage collector is off" in said
    assert "a thread 'left' still runs" in said and "a process still runs: sleep 9" in said
    new = replace(after, pid=before.pid + 1)  # another process of the same name
    assert list(
        traces.differences({"a": before, "b": before}, {"a": after, "b": new, "c": after})
    ) == ["a"]


def test_memory_explains_a_timeout_but_no_success() -> None:
    assert explained(Success(), "a nanny ended w") == Success()
    assert explained(Timeout(after_s=2.0), None) == Timeout(after_s=2.0)
    told = explained(Timeout(after_s=2.0), "a nanny ended w")
    assert isinstance(told, Failure)
    assert told.message == "a nanny ended w; timeout after 2.0 s"


def test_one_wheel_after_the_other_on_a_path_that_stays(tmp_path: Path) -> None:
    path = list(sys.path)
    try:
        for version in ("1", "2"):
            folder = put_on_path(_archive({"a_wheel/__init__.py": f"VERSION = {version}"}))
            import a_wheel  # type: ignore[import-not-found]

            assert int(version) == a_wheel.VERSION and a_wheel.__file__.startswith(folder)
            assert sys.path[1:] == path
    finally:
        take_off_path()
    assert sys.path == path and "a_wheel" not in sys.modules
    assert not Path(folder).exists()


def _archive(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


def test_only_wheels_with_workloads_go_to_the_scheduler(tmp_path: Path) -> None:
    assert not brings_workloads("")
    info = tmp_path / "x-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1.0\n")
    assert not brings_workloads(str(tmp_path))
    (info / "entry_points.txt").write_text("[daskperf.workloads]\na = x:A\n")
    assert brings_workloads(str(tmp_path))
