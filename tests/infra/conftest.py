from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is none of the stack's business."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
