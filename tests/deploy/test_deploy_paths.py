from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from daskperf_tasks.deploy.paths import set_wheel_paths, wheel_paths


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    made = [tmp_path / "daskperf-wheels" / (c * 64) for c in "ab"]
    for folder in made:
        folder.mkdir(parents=True)
    return [str(f) for f in made]


def test_set_and_set_back(folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", "/usr/lib/x"])
    monkeypatch.setenv("PYTHONPATH", "/own:/two")
    nanny = SimpleNamespace(env={"A": "1"}, pre_spawn_env={}, process=None)
    first, second = folders

    assert set_wheel_paths([first], nanny) == [first]
    assert sys.path == [first, "", "/usr/lib/x"]
    expected = f"{first}:/own:/two"
    assert os.environ["PYTHONPATH"] == nanny.env["PYTHONPATH"] == expected
    assert nanny.pre_spawn_env["PYTHONPATH"] == expected

    set_wheel_paths([second], nanny)
    set_wheel_paths([second], nanny)
    assert wheel_paths() == [second]
    assert os.environ["PYTHONPATH"] == f"{second}:/own:/two"

    set_wheel_paths([], nanny)
    assert sys.path == ["", "/usr/lib/x"]
    assert os.environ["PYTHONPATH"] == "/own:/two"
    assert nanny.env == {"A": "1", "PYTHONPATH": "/own:/two"}


def test_nothing_is_left_where_there_was_nothing(
    folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    nanny = SimpleNamespace(env={}, pre_spawn_env={"PYTHONHASHSEED": "1"}, process=None)
    set_wheel_paths(folders, nanny)
    assert os.environ["PYTHONPATH"] == ":".join(folders)
    set_wheel_paths([], nanny)
    assert "PYTHONPATH" not in os.environ
    assert (nanny.env, nanny.pre_spawn_env) == ({}, {"PYTHONHASHSEED": "1"})


def test_a_path_that_the_nanny_was_given_stays(
    folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "/outer")
    nanny = SimpleNamespace(env={"PYTHONPATH": "/given"}, pre_spawn_env={}, process=None)
    set_wheel_paths(folders[:1], nanny)
    assert nanny.env["PYTHONPATH"] == f"{folders[0]}:/given"
    set_wheel_paths([], nanny)
    assert nanny.env["PYTHONPATH"] == "/given"


def test_folders_that_are_gone_are_left_out(
    folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    Path(folders[0]).rmdir()
    assert set_wheel_paths(folders) == folders[1:]
