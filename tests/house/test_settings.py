from __future__ import annotations

from pathlib import Path

from daskperf_tasks.settings import read_settings, use_running_stack


def test_defaults_lie_in_the_state_folder(tmp_path: Path) -> None:
    found = read_settings({"DASKPERF_HOME": str(tmp_path)})
    assert found.home == tmp_path
    assert found.spool == tmp_path / "spool"
    assert found.store == (tmp_path / "store").as_uri()
    assert found.wheels == str(tmp_path / "wheels")
    assert found.lane == tmp_path / "lane.toml"
    assert found.subject == "daskperf-kernels"


def test_the_environment_decides(tmp_path: Path) -> None:
    found = read_settings(
        {
            "DASKPERF_HOME": str(tmp_path),
            "DASKPERF_STORE": "s3://bucket/prefix",
            "DASKPERF_WHEELS": "s3://bucket/wheels",
            "DASKPERF_SUBJECT": "mine",
            "DASKPERF_NOTIFY": "json://host/secret-token",
        }
    )
    assert (found.store, found.wheels, found.subject) == (
        "s3://bucket/prefix",
        "s3://bucket/wheels",
        "mine",
    )
    assert "secret-token" not in repr(found)


def test_without_a_stack_nothing_is_filled_in(tmp_path: Path) -> None:
    environ = {"DASKPERF_HOME": str(tmp_path)}
    use_running_stack(environ)
    assert environ == {"DASKPERF_HOME": str(tmp_path)}
