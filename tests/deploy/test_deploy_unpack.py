from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.deploy.tree import base_folder, files_sha256, is_wheel_folder, standing
from daskperf_tasks.deploy.unpack import _fits, check_tags, install_wheel
from tests.wheels import make_wheel, subject_and_bytes

FILES = {"toy/__init__.py": "X = 1\n", "toy/data/table.txt": "1\n"}


def _install(tmp_path: Path, wheel: Path) -> dict[str, Any]:
    base = tmp_path / "daskperf-wheels"
    base.mkdir(exist_ok=True)
    subject, _ = subject_and_bytes(wheel, "toy")
    return install_wheel(str(wheel), wheel.name, subject.sha256, str(base))


def test_files_land_below_their_own_hash(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "w", "toy", "1.0", FILES)
    found = _install(tmp_path, wheel)
    folder = Path(found["folder"])
    assert is_wheel_folder(str(folder))
    assert (folder / "toy/data/table.txt").read_text() == "1\n"
    assert (folder / "toy-1.0.dist-info/METADATA").is_file()
    assert found["reused"] is False
    assert standing(str(folder.parent), folder.name) == found["files_sha256"]
    assert sorted(p.name for p in folder.parent.iterdir()) == [folder.name, f"{folder.name}.json"]


def test_the_data_folder_is_laid_out(tmp_path: Path) -> None:
    files = FILES | {
        "toy-1.0.data/purelib/more/a.py": "",
        "toy-1.0.data/platlib/more/b.py": "",
        "toy-1.0.data/scripts/run": "#!python\n",
        "toy-1.0.data/headers/toy.h": "",
        "toy-1.0.data/data/share/x": "",
    }
    folder = Path(_install(tmp_path, make_wheel(tmp_path / "w", "toy", "1.0", files))["folder"])
    for place in ("more/a.py", "more/b.py", "bin/run", "include/toy/toy.h", "share/x"):
        assert (folder / place).is_file(), place


def test_it_is_reused_and_bytecode_does_not_count(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "w", "toy", "1.0", FILES)
    first = _install(tmp_path, wheel)
    cache = Path(first["folder"]) / "toy/__pycache__"
    cache.mkdir()
    (cache / "x.pyc").write_bytes(b"x")
    again = _install(tmp_path, wheel)
    assert again["reused"] is True
    assert again["files_sha256"] == first["files_sha256"]


@pytest.mark.parametrize("harm", ["changed", "added", "removed", "receipt"])
def test_a_harmed_folder_is_replaced(tmp_path: Path, harm: str) -> None:
    wheel = make_wheel(tmp_path / "w", "toy", "1.0", FILES)
    first = _install(tmp_path, wheel)
    folder = Path(first["folder"])
    match harm:
        case "changed":
            (folder / "toy/__init__.py").write_text("X = 2\n")
        case "added":
            (folder / "toy/more.py").write_text("")
        case "removed":
            (folder / "toy/data/table.txt").unlink()
        case "receipt":
            folder.with_name(f"{folder.name}.json").unlink()
    assert standing(str(folder.parent), folder.name) is None
    again = _install(tmp_path, wheel)
    assert again["files_sha256"] == first["files_sha256"] == files_sha256(str(folder))
    assert (folder / "toy/__init__.py").read_text() == "X = 1\n"
    assert len(list(folder.parent.iterdir())) == 2


def test_wrong_bytes_are_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "w", "toy", "1.0", FILES)
    with pytest.raises(ValueError, match=f"expected {'0' * 64}, found"):
        install_wheel(str(wheel), wheel.name, "0" * 64, str(tmp_path))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../evil.py", "leaves its folder"),
        ("/etc/evil.py", "leaves its folder"),
        ("toy/../../evil.py", "leaves its folder"),
        ("toy\\..\\evil.py", "leaves its folder"),
        ("C:/evil.py", "leaves its folder"),
        ("toy-1.0.data/elsewhere/x", "expected one of purelib"),
        ("toy-1.0.data/purelib/toy/__init__.py", "two files of the wheel belong at"),
    ],
)
def test_names_that_play_tricks(tmp_path: Path, name: str, said: str) -> None:
    wheel = make_wheel(tmp_path / "w", "toy", "1.0", FILES | {name: "x"})
    with pytest.raises(ValueError, match=said):
        _install(tmp_path, wheel)
    assert not list(tmp_path.rglob("evil.py"))
    assert not list((tmp_path / "daskperf-wheels").iterdir())


def test_what_record_does_not_vouch_for(tmp_path: Path) -> None:
    broken = make_wheel(tmp_path / "a", "toy", "1.0", FILES, broken_record=True)
    with pytest.raises(ValueError, match=r"sha256 of toy/__init__.py: expected .* found"):
        _install(tmp_path, broken)
    extra = make_wheel(tmp_path / "b", "toy", "1.0", FILES, unlisted={"toy/extra.py": ""})
    with pytest.raises(ValueError, match=r"toy/extra.py is in the wheel but not in its RECORD"):
        _install(tmp_path, extra)
    link = make_wheel(tmp_path / "c", "toy", "1.0", FILES, links={"toy/link": "/etc/passwd"})
    with pytest.raises(ValueError, match="symbolic link"):
        _install(tmp_path, link)
    newer = make_wheel(tmp_path / "d", "toy", "1.0", FILES, wheel_version="2.0")
    with pytest.raises(ValueError, match=r"expected 1.x, found 2.0"):
        _install(tmp_path, newer)


def test_no_archive(tmp_path: Path) -> None:
    wheel = tmp_path / "toy-1.0-py3-none-any.whl"
    wheel.write_bytes(b"no zip")
    with pytest.raises(ValueError, match="no zip archive"):
        _install(tmp_path, wheel)


def test_tags() -> None:
    check_tags("toy-1.0-py3-none-any.whl")
    check_tags("toy-1.0-2-py2.py3-none-any.whl")
    for name in ("toy-1.0-cp27-cp27m-win_amd64.whl", "toy-1.0-py3-none-win32.whl"):
        with pytest.raises(ValueError, match="not for this interpreter or platform"):
            check_tags(name)
    with pytest.raises(ValueError, match="no wheel's file name"):
        check_tags("toy.whl")


def test_the_rough_twin_agrees_with_packaging() -> None:
    from packaging.tags import sys_tags

    for tag in list(sys_tags())[:40]:
        if tag.abi == "abi3" or tag.interpreter.startswith("cp"):
            assert _fits([tag.interpreter], [tag.abi], [tag.platform]), tag
    own = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert not _fits(["cp27"], ["cp27m"], ["any"])
    assert not _fits([own], [own], ["win32"])
    assert not _fits(["cp399"], ["abi3"], ["any"])


@given(st.text(max_size=80))
def test_only_our_own_folders_are_recognised(text: str) -> None:
    assert not is_wheel_folder(text)
    assert not is_wheel_folder(f"/x/{text}/{'a' * 63}")
    assert is_wheel_folder(f"/x/daskperf-wheels/{'a' * 64}")


def test_the_base_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = str(tmp_path / "dask-scratch-space")
    assert base_folder(scratch) == str(tmp_path / "daskperf-wheels")
    monkeypatch.setenv("DASKPERF_WHEEL_DIR", str(tmp_path / "given"))
    assert base_folder(scratch) == str(tmp_path / "given" / "daskperf-wheels")
    (tmp_path / "given" / "daskperf-wheels").rmdir()
    (tmp_path / "given" / "daskperf-wheels").symlink_to(tmp_path)
    assert base_folder(scratch).rpartition("-")[2].isdigit()
