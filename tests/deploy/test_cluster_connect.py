"""Schedulers that do not answer, and functions that travel as source."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from pathlib import Path

import pytest

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import live_workers, open_client
from daskperf_tasks.deploy import imports, install, paths
from daskperf_tasks.errors import ClusterError, HarnessError
from daskperf_tasks.preflight import kernel, probe
from tests.dask_cluster import start_cluster


def _threads() -> set[str]:
    return {t.name for t in threading.enumerate() if "greet" in t.name or "IO loop" in t.name}


def test_a_closed_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = time.monotonic()
    with (
        pytest.raises(ClusterError, match="the scheduler does not answer") as seen,
        open_client(f"tcp://127.0.0.1:{port}", timeout_s=2.0),
    ):
        pass
    assert time.monotonic() - started < 4.0
    text = str(seen.value)
    assert f"tcp://127.0.0.1:{port}" in text and "within 2 s" in text
    assert "dask scheduler" in text


def test_a_listener_that_accepts_and_stays_silent() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        before = _threads()
        started = time.monotonic()
        with (
            pytest.raises(ClusterError, match="does not answer") as seen,
            open_client(address, timeout_s=2.0),
        ):
            pass
        assert time.monotonic() - started < 4.0
        assert address in str(seen.value) and "nothing was said" in str(seen.value)
        assert _threads() <= before


def test_something_that_is_no_scheduler() -> None:
    with socket.socket() as web:
        web.bind(("127.0.0.1", 0))
        web.listen()

        def answer() -> None:
            connection, _ = web.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with (
            pytest.raises(ClusterError, match="does not answer"),
            open_client(f"tcp://127.0.0.1:{web.getsockname()[1]}", timeout_s=3.0),
        ):
            pass
        thread.join(5)


def test_an_address_that_is_none() -> None:
    for address in ("tcp://no-such-host.invalid:1", "nonsense://x:1"):
        with (
            pytest.raises(ClusterError, match="does not answer") as seen,
            open_client(address, timeout_s=2.0),
        ):
            pass
        assert address in str(seen.value)


def test_a_scheduler_that_falls_silent_later(tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=0)
    try:
        with open_client(cluster.address, timeout_s=5.0) as client:
            assert live_workers(client, timeout_s=5.0) == ()
            cluster.pause_scheduler()
            started = time.monotonic()
            with pytest.raises(ClusterError, match="does not answer"):
                live_workers(client, timeout_s=1.0)
            assert time.monotonic() - started < 3.0
            with (
                pytest.raises(ClusterError, match="does not answer"),
                open_client(cluster.address, timeout_s=1.0),
            ):
                pass
            cluster.resume_scheduler()
    finally:
        cluster.stop()


@pytest.mark.parametrize(
    "function",
    [
        install.survey,
        install.receive,
        install.install,
        install.try_import,
        paths.set_wheel_paths,
        imports.check_import,
        imports.serving,
        imports.process_id,
        kernel.calibrate_worker,
        probe.process_facts,
    ],
)
def test_a_sent_function_needs_nothing_of_ours(function: object) -> None:
    data = pickle.dumps(Sent(function))  # type: ignore[arg-type]
    arrived = pickle.loads(data)
    assert arrived.__name__ == function.__name__  # type: ignore[attr-defined]
    assert arrived.__globals__["__name__"] == "daskperf_sent"
    assert "from daskperf_tasks" not in data.decode("utf-8", "replace")
    assert "import daskperf_tasks" not in data.decode("utf-8", "replace")


def test_a_sent_function_computes_the_same() -> None:
    arrived = pickle.loads(pickle.dumps(Sent(probe.process_facts)))
    assert arrived(["dask"], [])["versions"] == probe.process_facts(["dask"], [])["versions"]


def test_a_local_function_cannot_be_sent() -> None:
    def inner() -> None:
        return None

    with pytest.raises(HarnessError, match="top level of a module"):
        Sent(inner)
