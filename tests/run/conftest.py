from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.store.filesystem import FilesystemStore
from tests.dask_cluster import Cluster, start_cluster

from .odd_workloads import SPEC


@pytest.fixture(autouse=True)
def odd_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASKPERF_WORKLOADS", SPEC)


@pytest.fixture
def ledger(tmp_path: Path) -> FilesystemStore:
    return FilesystemStore(tmp_path / "ledger")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = start_cluster(tmp_path_factory.mktemp("lane"), workers=2, nthreads=2)
    yield running
    running.stop()
