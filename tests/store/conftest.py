from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.s3 import S3Store
from tests.object_server import BUCKET, ObjectServer, start_object_server

_PREFIXES = (f"prefix-{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def object_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    server = start_object_server(tmp_path_factory.mktemp("s3"))
    yield server
    server.stop()


@pytest.fixture
def s3(object_server: ObjectServer) -> S3Store:
    """A prefix of its own on the real server."""
    store = open_store(
        f"s3://{BUCKET}/{next(_PREFIXES)}", client_options=object_server.client_options
    )
    assert isinstance(store, S3Store)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> FilesystemStore:
    return FilesystemStore(tmp_path / "store")


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest) -> ArtifactStore:
    """What holds for every store is tested on both."""
    chosen: ArtifactStore = request.getfixturevalue(request.param)
    return chosen
