"""Schedulers that do not answer, and functions that travel as source."""

from __future__ import annotations

import contextlib
import http.server
import pickle
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import live_workers, open_client
from daskperf_tasks.deploy import imports, install, lease_slot, paths
from daskperf_tasks.errors import ClusterError, HarnessError
from daskperf_tasks.preflight import kernel, probe
from tests.dask_cluster import Cluster, start_cluster


def _threads() -> set[str]:
    return {t.name for t in threading.enumerate() if "greet" in t.name or "IO loop" in t.name}


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_closed_port() -> None:
    port = _free_port()
    started = time.monotonic()
    with (
        pytest.raises(ClusterError, match="nothing listens at the scheduler's address") as seen,
        open_client(f"tcp://127.0.0.1:{port}", timeout_s=30.0),
    ):
        pass
    assert time.monotonic() - started < 8.0
    text = str(seen.value)
    assert f"tcp://127.0.0.1:{port}" in text and "refused" in text
    assert "`dask scheduler` runs" in text and "daskperf lane up" in text


def test_a_scheduler_that_is_just_starting_is_waited_for(tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=0)
    try:
        hidden = _free_port()
        relay = threading.Timer(0.5, _forward, (hidden, int(cluster.address.rpartition(":")[2])))
        relay.daemon = True
        relay.start()
        with open_client(f"tcp://127.0.0.1:{hidden}", timeout_s=10.0) as client:
            assert live_workers(client, timeout_s=5.0) == ()
    finally:
        cluster.stop()


def _forward(port: int, target: int) -> None:
    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", port)) as server:
        server.settimeout(10)
        with contextlib.suppress(TimeoutError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", target))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()


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


class _Web(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


def _speaks_first(connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example ESMTP\r\n")
    connection.recv(1000)


def _closes(connection: socket.socket) -> None:
    connection.recv(10)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize(
    ("talk", "said"), [(_speaks_first, "220 mail"), (_closes, "HTTP/1.1 400"), (None, "<!DOCTYPE")]
)
def test_something_that_is_no_scheduler(
    talk: Callable[[socket.socket], None] | None, said: str
) -> None:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            assert talk is not None
            with contextlib.suppress(OSError):
                talk(self.request)

    handler = Handler if talk else _Web
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started = time.monotonic()
        with (
            pytest.raises(ClusterError, match="something that is no Dask scheduler answers") as e,
            open_client(f"tcp://127.0.0.1:{server.server_address[1]}", timeout_s=2.0),
        ):
            pass
        server.shutdown()
    assert time.monotonic() - started < 6.0
    assert said in str(e.value) and "MemoryError" not in str(e.value)


def test_a_worker_or_nanny_is_no_scheduler(cluster: Cluster) -> None:
    with open_client(cluster.address, timeout_s=10.0) as client:
        worker = live_workers(client, timeout_s=5.0)[0]
    for address, kind in ((worker.address, "Worker"), (str(worker.nanny), "Nanny")):
        with (
            pytest.raises(ClusterError, match="something that is no Dask scheduler") as seen,
            open_client(address, timeout_s=5.0),
        ):
            pass
        assert kind in str(seen.value)


def test_a_host_name_that_nobody_knows() -> None:
    with (
        pytest.raises(ClusterError, match="the scheduler's host name is unknown") as seen,
        open_client("tcp://no-such-host.invalid:1", timeout_s=2.0),
    ):
        pass
    assert "no-such-host.invalid" in str(seen.value)


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
        lease_slot.take,
        lease_slot.renew,
        lease_slot.give_back,
        lease_slot.look,
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
