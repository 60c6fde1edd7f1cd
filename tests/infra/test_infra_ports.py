from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from daskperf_infra.local import ports


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"])
def held(request: pytest.FixtureRequest) -> Iterator[int]:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((request.param, 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_in_use_is_not_taken(held: int) -> None:
    assert not ports.is_free(held)
    chosen = ports.choose(held, taken=())
    assert chosen != held
    assert ports.is_free(chosen)


def test_the_holder_is_named(held: int) -> None:
    assert ports.holder(held).startswith(f"pid {os.getpid()} (")


def test_a_free_port_is_taken_unless_spoken_for() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    assert ports.choose(free, taken=()) == free
    assert ports.choose(free, taken={free}) != free


def test_nobody_holds_a_free_port() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    assert "pid" not in ports.holder(free)
