"""build_wheel: versions, reuse, reproducible bytes, failures."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from packaging.version import Version

from daskperf_tasks.deploy import build
from daskperf_tasks.deploy.build import (
    BuiltWheel,
    SourceState,
    build_wheel,
    compose_version,
    digest_of,
    read_source_state,
    source_files,
)
from daskperf_tasks.errors import DeployError, InputError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "9f8e7d6c" * 8

SMALL_SETUP = """\
import os
from setuptools import setup
setup(version=os.environ["DASKPERF_KERNELS_VERSION"])
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A source tree without compiled code, in a repository of its own, not yet committed."""
    tree = tmp_path / "repository" / "small"
    (tree / "src" / "small_thing").mkdir(parents=True)
    (tree / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=77"]\n'
        'build-backend = "setuptools.build_meta"\n'
        '[project]\nname = "small-thing"\ndynamic = ["version"]\n'
        '[tool.daskperf]\nbase-version = "1.2"\n'
    )
    (tree / "setup.py").write_text(SMALL_SETUP)
    (tree / "src" / "small_thing" / "__init__.py").write_text("ANSWER = 42\n")
    git(tree.parent, "init", "-q", "-b", "main")
    return tree


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env={**environment, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit_all(tree: Path) -> str:
    git(tree, "add", "--all", ":/")
    git(tree, "commit", "-q", "-m", "Change something")
    return git(tree, "rev-parse", "HEAD")


# ---- the version, values in and values out


def state(*, commits: int = 42, dirty: bool = False) -> SourceState:
    return SourceState(
        digest=DIGEST, commit=COMMIT, commits=commits, dirty=dirty, changed_s=1764547200
    )


def test_version_of_each_state() -> None:
    unknown = SourceState(digest=DIGEST, commit_missing="git is not installed")
    assert compose_version("0.1.0", state()) == "0.1.0.dev42+g01234567"
    assert (
        compose_version("0.1.0", state(dirty=True))
        == "0.1.0.dev42+g01234567.dirty.1764547200.h9f8e7d6c"
    )
    assert compose_version("0.1.0", unknown) == "0.1.0.dev0+src.0.h9f8e7d6c"
    assert compose_version("0.1.0", state(), debug=True) == "0.1.0.dev42+g01234567.debug"


def test_versions_are_canonical_and_sort_by_commit() -> None:
    unknown = SourceState(digest=DIGEST, commit_missing="git is not installed")
    versions = [
        compose_version("0.1.0", unknown),
        compose_version("0.1.0", state(commits=9)),
        compose_version("0.1.0", state(commits=9, dirty=True)),
        compose_version("0.1.0", replace(state(commits=9, dirty=True), changed_s=1764547201)),
        compose_version("0.1.0", state(commits=10)),
        compose_version("0.1.1", state(commits=2)),
    ]
    assert [str(Version(v)) for v in versions] == versions
    assert sorted(versions, key=Version) == versions


@pytest.mark.parametrize("base", ["", "1.", "v1", "1.0+x", "1.0.dev1", "١.٠"])
def test_base_that_is_no_plain_release(base: str) -> None:
    with pytest.raises(InputError, match="not a plain release"):
        compose_version(base, state())


# ---- what the sources are


def test_source_files_leave_out_what_builds_leave_behind(small: Path) -> None:
    before = source_files(small)
    digest = digest_of(small)
    for name in ("build/lib/a.py", "small.egg-info/b.toml", "src/__pycache__/c.py", ".x/d.py"):
        (small / name).parent.mkdir(parents=True, exist_ok=True)
        (small / name).write_text("left behind")
    for name in ("_made.c", "_made.so", "_made.html"):
        (small / "src" / "small_thing" / name).write_text("left behind")
    assert source_files(small) == before
    assert digest_of(small) == digest
    assert [path.as_posix() for path in before] == [
        "pyproject.toml",
        "setup.py",
        "src/small_thing/__init__.py",
    ]


def test_digest_sees_content_and_names(small: Path) -> None:
    digests = {digest_of(small)}
    module = small / "src" / "small_thing" / "__init__.py"
    module.write_text("ANSWER = 43\n")
    digests.add(digest_of(small))
    module.rename(module.with_name("other.py"))
    digests.add(digest_of(small))
    assert len(digests) == 3


def test_never_committed(small: Path) -> None:
    found = read_source_state(small)
    assert found.commit is None
    assert found.commit_missing is not None
    assert "does not have any commits" in found.commit_missing


def test_committed_repository_with_uncommitted_sources(small: Path) -> None:
    (small.parent / "README").write_text("x")
    git(small.parent, "add", "README")
    git(small.parent, "commit", "-q", "-m", "Begin")
    assert read_source_state(small).commit_missing == "the sources were never committed"


def test_no_repository(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    found = read_source_state(tmp_path)
    assert found.commit is None
    assert found.commit_missing is not None
    assert "not a git repository" in found.commit_missing


def test_no_git(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_all(small)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_source_state(small).commit_missing == "git is not installed"


def test_commit_is_the_last_that_touched_the_sources(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = commit_all(small)
    (small.parent / "elsewhere.py").write_text("x")
    commit_all(small)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))  # as a git hook would have it
    found = read_source_state(small)
    assert (found.commit, found.commits, found.dirty) == (first, 1, False)
    (small / "src" / "small_thing" / "more.py").write_text("x")
    third = commit_all(small)
    found = read_source_state(small)
    assert (found.commit, found.commits, found.dirty) == (third, 3, False)


def test_dirty_means_the_sources(small: Path) -> None:
    commit_all(small)
    module = small / "src" / "small_thing" / "__init__.py"
    (small.parent / "elsewhere.py").write_text("x")
    module.with_name("_made.c").write_text("x")
    assert not read_source_state(small).dirty
    module.write_text("ANSWER = 43\n")
    assert read_source_state(small).dirty
    git(small, "checkout", "-q", "--", ".")
    assert not read_source_state(small).dirty
    module.with_name("new.pyx").write_text("x")
    assert read_source_state(small).dirty
    module.with_name("new.pyx").unlink()
    module.unlink()
    assert read_source_state(small).dirty


# ---- building


def test_kernels_wheel(kernels_wheel: BuiltWheel, kernels_source: Path) -> None:
    assert kernels_wheel.name == "daskperf-kernels"
    assert kernels_wheel.version.startswith("0.1.0")
    assert (kernels_wheel.commit is None) == (kernels_wheel.commit_missing is not None)
    assert not kernels_wheel.reused
    assert f"daskperf_kernels-{kernels_wheel.version}-cp3" in kernels_wheel.path.name
    left = {path.suffix for path in kernels_source.rglob("*")} & {".c", ".so", ".egg-info"}
    assert not left
    assert [path.name for path in kernels_wheel.path.parent.iterdir()] == [kernels_wheel.path.name]


def test_a_second_build_takes_the_wheel_that_is_there(
    kernels_wheel: BuiltWheel, kernels_source: Path
) -> None:
    stamp = kernels_wheel.path.stat().st_mtime_ns
    again = build_wheel(kernels_source, kernels_wheel.path.parent)
    assert again.reused
    assert (again.path, again.sha256) == (kernels_wheel.path, kernels_wheel.sha256)
    assert again.path.stat().st_mtime_ns == stamp


@pytest.mark.deep
def test_the_same_sources_give_the_same_bytes(copy_of_kernels: Path, tmp_path: Path) -> None:
    once, twice = (build_wheel(copy_of_kernels, tmp_path / name) for name in ("once", "twice"))
    assert not twice.reused
    assert once.sha256 == twice.sha256


def test_each_change_of_the_sources_makes_its_wheel(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "wheels"
    module = small / "src" / "small_thing" / "__init__.py"
    commit = commit_all(small)
    clean = build_wheel(small, out)
    assert clean.version == f"1.2.dev1+g{commit[:8]}"
    assert (clean.commit, clean.commit_missing, clean.dirty) == (commit, None, False)

    module.write_text("ANSWER = 43\n")
    changed = build_wheel(small, out)
    assert changed.version.startswith(f"{clean.version}.dirty.")
    assert changed.version.endswith(f".h{digest_of(small)[:8]}")
    assert changed.dirty
    with zipfile.ZipFile(changed.path) as wheel:
        assert wheel.read("small_thing/__init__.py") == b"ANSWER = 43\n"

    assert build_wheel(small, out).reused
    module.write_text("ANSWER = 42\n")
    back = build_wheel(small, out)
    assert (back.reused, back.sha256) == (True, clean.sha256)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [clean.path.name, changed.path.name]
    )


def test_a_broken_wheel_is_built_again(small: Path, tmp_path: Path) -> None:
    first = build_wheel(small, tmp_path, base_version="3.0")
    assert first.version.startswith("3.0.dev0+src")
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[: len(whole) // 2])
    second = build_wheel(small, tmp_path, base_version="3.0")
    assert not second.reused
    assert second.path.read_bytes() == whole  # file times and order are fixed, too


def test_flags_of_the_callers_shell_stay_out(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("CFLAGS", "LDFLAGS", "DASKPERF_KERNELS_ANNOTATE", "GIT_DIR")
    for name in names:
        monkeypatch.setenv(name, "-march=native -ffast-math")
    monkeypatch.setenv("DASKPERF_KERNELS_DEBUG", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    check = (
        f"import os\nassert not [k for k in {names!r} if k in os.environ]\n"
        'assert os.environ["DASKPERF_KERNELS_DEBUG"] == "0"\n'
    )
    (small / "setup.py").write_text(check + SMALL_SETUP)
    assert build_wheel(small, tmp_path / "wheels").path.is_file()


def test_a_compile_error_is_shown(copy_of_kernels: Path, tmp_path: Path) -> None:
    module = copy_of_kernels / "src" / "daskperf_kernels" / "_integrate.pyx"
    module.write_text(module.read_text() + "\ncdef double broken() nogil:\n    return no_such()\n")
    with pytest.raises(DeployError) as caught:
        build_wheel(copy_of_kernels, tmp_path / "wheels")
    text = str(caught.value)
    assert "building the wheel of daskperf-kernels" in text
    assert "_integrate.pyx" in text
    assert "no_such" in text
    assert str(copy_of_kernels) in text
    assert not list((tmp_path / "wheels").iterdir())
    assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_a_c_compiler_that_fails_is_shown(
    copy_of_kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'fatal error: no more registers' >&2\nexit 3\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(DeployError, match="fatal error: no more registers"):
        build_wheel(copy_of_kernels, tmp_path / "wheels")


def test_a_project_that_ignores_the_version(small: Path, tmp_path: Path) -> None:
    (small / "setup.py").write_text('from setuptools import setup\nsetup(version="7")\n')
    with pytest.raises(DeployError, match="ignored the version") as caught:
        build_wheel(small, tmp_path / "wheels")
    assert caught.value.found is not None
    assert "small_thing-7-" in caught.value.found


def test_no_source_tree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no readable project file") as caught:
        build_wheel(tmp_path / "absent", tmp_path / "wheels")
    assert caught.value.where == str(tmp_path / "absent" / "pyproject.toml")
    assert not (tmp_path / "wheels").exists()


def test_project_file_without_base_version(small: Path, tmp_path: Path) -> None:
    file = small / "pyproject.toml"
    file.write_text(file.read_text().replace("base-version", "other"))
    with pytest.raises(InputError, match="does not say what to build"):
        build_wheel(small, tmp_path / "wheels")


def test_a_build_that_hangs_is_ended_with_its_children(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "pid"
    hanging = tmp_path / "python"
    hanging.write_text(
        f"#!/bin/sh\nsleep 600 &\necho $! > {pid_file}.part\nmv {pid_file}.part {pid_file}\nwait\n"
    )
    hanging.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(hanging))
    monkeypatch.setattr(build, "BUILD_TIMEOUT_S", 3.0)
    with pytest.raises(DeployError, match="took too long"):
        build_wheel(small, tmp_path / "wheels")
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} is still running"
        time.sleep(0.02)
    assert not list((tmp_path / "wheels").iterdir())
