from __future__ import annotations

import subprocess
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


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the stack's business."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
