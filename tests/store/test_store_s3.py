"""What only an object server does: refuse, be away, hang."""

from __future__ import annotations

import http.server
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.errors import StoreError
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import NoSuchKey, StoreUnreachable
from daskperf_tasks.store.s3 import S3Store
from tests.object_server import (
    BUCKET,
    SECRET_KEY,
    ObjectServer,
    free_port,
    start_object_server,
)


def test_the_environment_says_where_and_who(
    object_server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in object_server.env.items():
        monkeypatch.setenv(name, value)
    store = open_store(f"s3://{BUCKET}/by-environment")
    store.put("x", b"1")
    assert object_server.path("by-environment/x").read_bytes() == b"1"


def test_the_endpoint_of_a_profile_is_addressed_by_path(
    object_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"[default]\nendpoint_url = {object_server.url}\nregion = eu-north-1\n", encoding="utf-8"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, object_server.env[name])
    store = open_store(f"s3://{BUCKET}/by-profile")
    store.put("x", b"1")
    assert object_server.path("by-profile/x").read_bytes() == b"1"


def test_a_listing_goes_through_all_pages(tmp_path: Path) -> None:
    many = tmp_path / "objects" / BUCKET / "x" / "many"
    many.mkdir(parents=True)
    for n in range(1003):
        (many / f"{n:04}").touch()
    server = start_object_server(tmp_path)
    try:
        store = open_store(f"s3://{BUCKET}/x", client_options=server.client_options)
        assert [o.key for o in store.list("many/")] == [f"many/{n:04}" for n in range(1003)]
    finally:
        server.stop()


def test_a_wrong_key_is_refused_without_telling_it(object_server: ObjectServer) -> None:
    options = {**object_server.client_options, "aws_secret_access_key": "wrong-and-secret"}
    store = open_store(f"s3://{BUCKET}/x", client_options=options)
    with pytest.raises(StoreError, match="refused to write") as caught:
        store.put("x", b"1", replace=True)
    text = str(caught.value)
    assert object_server.url in text
    assert "wrong-and-secret" not in text
    assert SECRET_KEY not in text
    assert not isinstance(caught.value, NoSuchKey | StoreUnreachable)


def test_a_missing_bucket_is_named_and_can_be_made(object_server: ObjectServer) -> None:
    store = open_store("s3://not-there-yet/x", client_options=object_server.client_options)
    assert isinstance(store, S3Store)
    with pytest.raises(StoreError, match="bucket does not exist") as caught:
        store.put("x", b"1")
    assert "not-there-yet" in str(caught.value)
    assert not isinstance(caught.value, NoSuchKey)
    store.create_bucket()
    store.create_bucket()
    store.put("x", b"1")
    assert store.get("x") == b"1"


def _fails_in_time(store: S3Store, limit_s: float = 11.0) -> StoreUnreachable:
    begin = time.monotonic()
    with pytest.raises(StoreUnreachable, match="does not answer") as caught:
        store.put("x", b"1")
    assert time.monotonic() - begin < limit_s
    return caught.value


def test_nobody_listens() -> None:
    port = free_port()
    options = {
        "endpoint_url": f"http://127.0.0.1:{port}",
        "aws_access_key_id": "who",
        "aws_secret_access_key": "secret-of-nobody",
    }
    store = S3Store("perf", "x", client_options=options)
    error = _fails_in_time(store)
    assert f"http://127.0.0.1:{port}" in str(error)
    assert "secret-of-nobody" not in str(error)
    assert "spool" in str(error)


def test_an_endpoint_with_a_password_is_shown_without_it() -> None:
    options = {
        "endpoint_url": f"http://me:secret-of-me@127.0.0.1:{free_port()}",
        "aws_access_key_id": "who",
        "aws_secret_access_key": "secret-of-nobody",
    }
    error = _fails_in_time(S3Store("perf", "x", client_options=options))
    assert "secret-of-me" not in str(error)
    assert "127.0.0.1" in str(error)


def test_a_server_that_accepts_and_never_answers() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        options = {
            "endpoint_url": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "aws_access_key_id": "who",
            "aws_secret_access_key": "secret-of-nobody",
        }
        _fails_in_time(S3Store("perf", "x", client_options=options))


def test_no_credentials_at_all(
    object_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = open_store(f"s3://{BUCKET}/x", client_options={"endpoint_url": object_server.url})
    with pytest.raises(StoreError, match="no credentials") as caught:
        store.put("x", b"1")
    assert "AWS_ACCESS_KEY_ID" in str(caught.value)


class _Liar(http.server.BaseHTTPRequestHandler):
    """Says yes to everything and gives back other bytes."""

    known: bool = False

    def do_HEAD(self) -> None:
        self._answer(200, b"")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).known = True
        self._answer(200, b"")

    def do_GET(self) -> None:
        self._answer(*((200, b"rotten") if self.known else (404, b"")))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output quiet."""


@pytest.fixture
def liar() -> Iterator[str]:
    _Liar.known = False
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Liar)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_store_that_gives_back_other_bytes_is_found_out(liar: str) -> None:
    options = {
        "endpoint_url": liar,
        "aws_access_key_id": "who",
        "aws_secret_access_key": "what",
    }
    with pytest.raises(StoreError, match="other bytes came back") as caught:
        S3Store("perf", "x", client_options=options).put("x", b"fresh!")
    assert caught.value.expected != caught.value.found
    assert liar in str(caught.value)


def test_a_server_that_was_away_for_a_while_is_used_again(tmp_path: Path) -> None:
    server = start_object_server(tmp_path)
    try:
        store = open_store(f"s3://{BUCKET}", client_options=server.client_options)
        store.put("x", b"1")
        server.stop()
        with pytest.raises(StoreUnreachable):
            store.get("x")
        server.start()
        assert store.get("x") == b"1"
    finally:
        server.stop()


def test_a_client_killed_in_mid_upload_leaves_no_object(
    object_server: ObjectServer, s3: S3Store
) -> None:
    client = (
        "import sys\n"
        "from daskperf_tasks.store.open import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "store.exists('x')\n"
        "print('ready', flush=True)\n"
        "for n in range(10**6):\n"
        "    store.put(f'd/{n}', bytes([n % 256]) * 8_000_000)\n"
        "    print(n, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", client, s3.url],
        stdout=subprocess.PIPE,
        env={**object_server.env, "PATH": ""},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    found = list(s3.list("d/"))
    assert found
    assert {o.size_bytes for o in found} == {8_000_000}
