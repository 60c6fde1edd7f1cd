"""What several parts of the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_infra.local import stack


@pytest.fixture(scope="session")
def small_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a running stack without Airflow; tests heal what they break."""
    home = tmp_path_factory.mktemp("stack") / "state"
    stack.up(home, airflow=False)
    try:
        yield home
    finally:
        stack.down(home)
