"""Preflight and calibration on a real scheduler and real workers."""

from __future__ import annotations

import dataclasses
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.deploy.switch import deploy, restore
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.facts import Calibration, Finding, Preflight
from daskperf_tasks.preflight.calibrate import calibrate
from daskperf_tasks.preflight.check import preflight
from tests.dask_cluster import Cluster, start_cluster
from tests.wheels import make_wheel, subject_and_bytes

#: Levels and codes that depend on what else this machine does.
LOAD = ("load-above-cores", "threads-above-cores")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = start_cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()


def blocking(result: Preflight) -> list[Finding]:
    return [f for f in result.findings if f.level == "block"]


def test_a_sound_lane(cluster: Cluster) -> None:
    result = preflight(cluster.address, lane=cluster.lane(), subject=None)
    assert loads(dumps(result), Preflight) == result
    assert not result.blocked
    assert [f.role for f in result.facts] == ["client", "scheduler", "worker", "worker"]
    assert [w.name for w in result.workers] == ["lane-a", "lane-b"]
    assert {f.code for f in result.findings} - set(LOAD) == {"loopback-worker"}
    first = result.workers[0]
    assert first.pid == cluster.worker_pid("lane-a")
    assert (first.nthreads, first.memory_limit_bytes) == (2, 2**30)
    assert first.loopback and first.nanny and first.cores >= 1 and first.cpu_model
    assert first.versions == result.facts[0].versions
    assert first.thread_settings["OMP_NUM_THREADS"] == "1"


def test_expected_layout_against_found(cluster: Cluster) -> None:
    lane = cluster.lane()
    a, b = lane.workers
    odd = dataclasses.replace(
        lane,
        workers=(dataclasses.replace(a, nthreads=7), dataclasses.replace(b, name="lane-z")),
    )
    result = preflight(cluster.address, lane=odd, subject=None)
    assert {(f.code, f.name) for f in blocking(result)} == {
        ("worker-threads", "lane-a"),
        ("worker-missing", "lane-z"),
        ("worker-unexpected", "lane-b"),
    }


def test_the_deployed_subject_passes_and_another_blocks(cluster: Cluster, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "toy-subject", "1.0", {"toy_subject/__init__.py": ""})
    subject, data = subject_and_bytes(wheel, "toy_subject")
    lane = cluster.lane()
    record = deploy(
        cluster.address, {"subject": (subject, data)}, lane=lane, local_root=tmp_path / "l"
    )
    try:
        assert not preflight(cluster.address, lane=lane, subject=subject).blocked
        newer = dataclasses.replace(subject, version="1.1")
        result = preflight(cluster.address, lane=lane, subject=newer)
        assert {(f.code, f.name) for f in blocking(result)} == {
            ("subject-version", "lane-a"),
            ("subject-version", "lane-b"),
        }
        rebuilt = dataclasses.replace(subject, sha256="0" * 64)
        result = preflight(cluster.address, lane=lane, subject=rebuilt)
        assert {f.code for f in blocking(result)} == {"subject-hash"}
    finally:
        restore(cluster.address, record, lane=lane)
    result = preflight(cluster.address, lane=lane, subject=subject)
    assert {f.found for f in blocking(result)} == {"toy-subject missing"}


def _shadow(folder: Path, code: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}


def test_a_worker_of_another_dask_or_without_daskperf_is_blocked(tmp_path: Path) -> None:
    other_dask = _shadow(tmp_path / "one", "import dask\ndask.__version__ = '2025.1.0'\n")
    no_daskperf = _shadow(
        tmp_path / "two",
        "import sys, importlib.metadata as m\n"
        "real = m.Distribution.from_name.__func__\n"
        "def from_name(cls, name):\n"
        "    if name == 'daskperf':\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    if name == 'numpy':\n"
        "        found = real(cls, name)\n"
        "        return type('Other', (), {'version': '1.0', 'metadata': found.metadata})()\n"
        "    return real(cls, name)\n"
        "m.Distribution.from_name = classmethod(from_name)\n"
        "sys.modules['daskperf_tasks'] = None\n",
    )
    cluster = start_cluster(tmp_path, worker_env={"lane-a": other_dask, "lane-b": no_daskperf})
    try:
        result = preflight(cluster.address, lane=cluster.lane(), subject=None)
        assert result.blocked
        seen = {(f.level, f.code, f.name): f for f in result.findings}
        dask = seen["block", "version-mismatch", "lane-a"]
        assert dask.found.startswith("dask 2025.1.0 (its metadata says ")
        assert dask.role == "worker" and dask.host == socket.gethostname()
        daskperf = seen["block", "not-installed", "lane-b"]
        assert daskperf.found == "daskperf missing" and "pip install daskperf==" in daskperf.todo
        assert seen["warn", "version-mismatch", "lane-b"].found.startswith("numpy ")
    finally:
        cluster.stop()


def test_a_scheduler_that_does_not_answer(cluster: Cluster) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        lane = cluster.lane(timeout_s=1.5)
        for check in (
            lambda: preflight(address, lane=lane, subject=None),
            lambda: calibrate(address, lane=lane),
        ):
            started = time.monotonic()
            with pytest.raises(ClusterError, match="the scheduler does not answer") as seen:
                check()
            assert time.monotonic() - started < 4.0
            assert address in str(seen.value) and "within 1.5 s" in str(seen.value)


def test_a_worker_that_does_not_answer(tmp_path: Path) -> None:
    import os
    import signal

    cluster = start_cluster(tmp_path)
    try:
        os.kill(cluster.worker_pid("lane-b"), signal.SIGSTOP)
        with pytest.raises(ClusterError, match="workers do not answer") as seen:
            preflight(cluster.address, lane=cluster.lane(timeout_s=2.0), subject=None)
        assert "worker lane-b at tcp://127.0.0.1" in str(seen.value)
        assert "lane-a" not in str(seen.value)
    finally:
        cluster.stop()


def test_calibration(cluster: Cluster) -> None:
    result = calibrate(cluster.address, lane=cluster.lane(), runs=3)
    assert loads(dumps(result), Calibration) == result
    assert [w.worker for w in result.workers] == ["lane-a", "lane-b"]
    assert result.total_threads == 4
    for worker in result.workers:
        assert len(worker.runs_s) in (3, 6)
        assert worker.median_s > 0 and 0.25 <= worker.index <= 1.25
    assert isinstance(result.effective_threads, float)
    assert result.effective_threads == pytest.approx(sum(2 * w.index for w in result.workers))
    assert isinstance(result.local_effective_threads, float)
    assert 1.0 <= result.local_effective_threads <= 5.0
    assert "clipped to [0.25, 1.25]" in result.rule


def test_nobody_to_calibrate(tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=0)
    try:
        with pytest.raises(ClusterError, match="no worker to calibrate"):
            calibrate(cluster.address, lane=cluster.lane())
        result = preflight(cluster.address, lane=cluster.lane(), subject=None)
        assert [f.code for f in blocking(result)] == ["no-workers"]
    finally:
        cluster.stop()
