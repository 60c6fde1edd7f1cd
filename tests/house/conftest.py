"""What the tests of the commands share."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from daskperf_tasks.cli import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STORE", "WHEELS", "LANE", "SUBJECT", "NOTIFY"):
        monkeypatch.delenv(f"DASKPERF_{name}", raising=False)
    monkeypatch.setenv("DASKPERF_HOME", str(tmp_path))
    return tmp_path


def call(*words: str) -> Result:
    return CliRunner().invoke(main, words)
