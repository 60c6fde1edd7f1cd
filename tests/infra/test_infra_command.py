from __future__ import annotations

import json
from pathlib import Path

import pytest

from daskperf_infra.local.command import main


def test_the_status_of_a_running_stack(
    small_stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--home", str(small_stack), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    states = {s["name"]: s["state"] for s in document["services"]}
    assert states["object-server"] == states["lane-b"] == "running"
    assert states["airflow-web"] == "stopped"

    assert main(["up", "--no-airflow", "--home", str(small_stack)]) == 0
    text = capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("object-server"))
    assert "http://127.0.0.1:" in line
    assert str(small_stack / "logs" / "object-server.log") in line


def test_a_stack_that_does_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = str(tmp_path / "none")
    assert main(["status", "--home", home]) == 1
    assert main(["down", "--home", home]) == 0
    assert not (tmp_path / "none").exists()
    assert "stopped" in capsys.readouterr().out


def test_what_cannot_be_done_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "stack.json").write_text("{}")
    assert main(["status", "--home", str(tmp_path)]) == 3
    assert "stack.json" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["sideways"])
    assert caught.value.code == 2
