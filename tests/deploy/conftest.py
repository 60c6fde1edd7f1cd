from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dask_cluster import Cluster, start_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers on one host that share the folder of wheels."""
    folder = tmp_path_factory.mktemp("cluster")
    running = start_cluster(folder, env={"DASKPERF_WHEEL_DIR": str(folder / "host")})
    yield running
    running.stop()


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return tmp_path / "wheels"
