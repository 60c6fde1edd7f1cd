from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore
from tests.object_server import BUCKET, ObjectServer, start_object_server

_PREFIXES = (f"ledger-{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    server = start_object_server(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


@pytest.fixture
def store(object_server: ObjectServer) -> ArtifactStore:
    """An empty ledger on the real object server."""
    return open_store(
        f"s3://{BUCKET}/{next(_PREFIXES)}", client_options=object_server.client_options
    )


@pytest.fixture
def spool(tmp_path: Path) -> FilesystemStore:
    return FilesystemStore(tmp_path / "spool")
