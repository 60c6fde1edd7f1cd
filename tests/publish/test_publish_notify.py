"""Notification over real HTTP to a listener on loopback."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from daskperf_tasks.publish.notify import NO_CHANNEL, notify
from tests.object_server import free_port


@dataclass
class Listener:
    port: int = 0
    status: int = 200
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def listener() -> Iterator[Listener]:
    state = Listener()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.heard.append((self.path, json.loads(body)))
            self.send_response(state.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_channel_gets_title_and_body(listener: Listener) -> None:
    said = notify(
        "night is green", "## Measured\n- 12 cells", f"json://127.0.0.1:{listener.port}/hook"
    )
    assert said == f"channel 1 of 1: sent to json://127.0.0.1:{listener.port}/..."
    ((path, message),) = listener.heard
    assert path == "/hook"
    assert message["title"] == "night is green"
    assert "## Measured" in message["message"]
    assert "- 12 cells" in message["message"]


@pytest.mark.parametrize("urls", ["", "  ", (), [""]])
def test_without_a_channel_it_says_so_and_how_to_have_one(urls: str | list[str]) -> None:
    assert notify("t", "b", urls) == NO_CHANNEL
    assert "DASKPERF_NOTIFY" in NO_CHANNEL


def test_one_broken_channel_does_not_silence_the_others(listener: Listener) -> None:
    closed = free_port()
    urls = (
        f"json://127.0.0.1:{closed}/a nosuch://u:p@x no-url "
        f"json://127.0.0.1:{listener.port}/a json://127.0.0.1:{listener.port}/b"
    )
    lines = notify("t", "b", urls).splitlines()
    assert lines[0].startswith(f"channel 1 of 5: not sent to json://127.0.0.1:{closed}/...: ")
    assert "onnection" in lines[0]
    assert lines[1] == "channel 2 of 5: not sent: nosuch://... is no URL that apprise knows"
    assert lines[2].startswith("channel 3 of 5: not sent: it ...")
    assert lines[3:] == [
        f"channel {n} of 5: sent to json://127.0.0.1:{listener.port}/..." for n in (4, 5)
    ]
    assert [path for path, _ in listener.heard] == ["/a", "/b"]


def test_a_refusal_is_reported(listener: Listener) -> None:
    listener.status = 500
    said = notify("t", "b", f"json://127.0.0.1:{listener.port}")
    assert "not sent to" in said
    assert "500" in said


SECRETS = ("s3cretUser", "s3cretWord", "s3cretPath", "s3cretHeader", "s3cretValue")


@pytest.mark.parametrize("scheme", ["json", "nosuch"])
@pytest.mark.parametrize("reachable", [True, False])
def test_secrets_of_a_url_are_never_shown(
    listener: Listener, scheme: str, reachable: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    port = listener.port if reachable else free_port()
    url = (
        f"{scheme}://s3cretUser:s3cretWord@127.0.0.1:{port}/s3cretPath"
        "?+X-Token=s3cretHeader&:key=s3cretValue"
    )
    said = notify("t", "b", [url])
    printed = capfd.readouterr()
    for secret in SECRETS:
        assert secret not in said + printed.out + printed.err


def test_a_token_in_the_place_of_a_host_is_masked() -> None:
    said = notify("t", "b", "slack://T1JJ3T3L2/A1BRTD4JD/not-a-valid-token-for-slack/#general")
    assert "T1JJ3T3L2" not in said
    assert "not sent" in said


def test_a_channel_that_raises_is_reported(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apprise

    class Broken(apprise.NotifyBase):  # type: ignore[misc]
        def send(self, *args: object, **kwargs: object) -> bool:
            raise RuntimeError("token s3cretWord is wrong")

        def url(self, privacy: bool = False, *args: object, **kwargs: object) -> str:
            return "broken://host/x"

    real = apprise.Apprise.instantiate

    def instantiate(url: str) -> Any:
        return Broken() if url.startswith("broken") else real(url)

    monkeypatch.setattr(apprise.Apprise, "instantiate", staticmethod(instantiate))
    lines = notify("t", "b", f"broken://s3cretWord json://127.0.0.1:{listener.port}").splitlines()
    assert lines[0] == "channel 1 of 2: not sent to broken://...: RuntimeError"
    assert "sent to json" in lines[1]
