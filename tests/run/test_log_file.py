from __future__ import annotations

from pathlib import Path

from daskperf_tasks.run.log_file import trim


def test_a_long_log_keeps_its_ends(tmp_path: Path) -> None:
    log = tmp_path / "round-0.log"
    log.write_bytes(b"begin" + b"." * 1000 + b"the end")
    trim(log, 100)
    text = log.read_bytes()
    assert text.startswith(b"begin" + b"." * 20 + b"\n... 912 bytes left out ...\n")
    assert text.endswith(b"." * 68 + b"the end")
    assert list(tmp_path.iterdir()) == [log]


def test_a_short_one_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "round-0.log"
    log.write_bytes(b"x" * 100)
    trim(log, 100)
    assert log.read_bytes() == b"x" * 100
