"""Builds the subject's wheel from a source tree, with a version that carries the commit.

The version says what the wheel was made of, so that two nights can be told
apart and equal sources never give two names:

===========================================  ==================================================
sources                                      version
===========================================  ==================================================
as committed                                 ``0.1.0.dev42+g1a2b3c4d``
changed since                                ``0.1.0.dev42+g1a2b3c4d.dirty.1764547200.h9f8e7d6c``
no commit known (no git, never committed)    ``0.1.0.dev0+src.1764547200.h9f8e7d6c``
===========================================  ==================================================

The commit is the last one that touched the source tree, not HEAD: a commit to
something else makes no new wheel. 42 is the number of commits up to it. The
last eight digits are a hash over the sources. A debug build appends ``.debug``.

Versions sort by commit: a wheel of an unknown commit (dev0) comes before all
others, and a changed tree after the commit that it changes. States of a tree that
are not committed sort by the time of the latest change of a source file, so that
the latest state is the highest version.

Nothing is written into the source tree: the build runs in a temporary copy, and
the wheel is moved into the output folder in one step.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import DeployError, InputError

#: What belongs to the sources, by suffix; the rest of the tree is left out of
#: the hash and of the build.
SOURCE_SUFFIXES = frozenset(
    {".py", ".pyi", ".pyx", ".pxd", ".h", ".toml", ".cfg", ".in", ".md", ".typed"}
)
#: Folders that builds and tools leave behind.
SKIPPED_FOLDERS = frozenset({"build", "dist", "__pycache__", "out"})
#: Seconds after which a build is given up.
BUILD_TIMEOUT_S = 600.0
#: Lines of the build's output that an error shows.
TAIL_LINES = 40
#: 1980-01-01, the earliest time that a zip file can hold.
EARLIEST_EPOCH_S = 315532800

# Flags from the caller's shell (-march=native, -ffast-math) would give a wheel
# that other hosts can't run or whose results differ; and its own settings must
# not leak in. GIT_* point elsewhere when a git hook runs us.
_DROPPED_PREFIXES = ("DASKPERF_KERNELS_", "GIT_")
_DROPPED = frozenset({"CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS", "SOURCE_DATE_EPOCH"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltWheel:
    """A wheel made from a source tree."""

    path: Path
    #: Name of the distribution, as its project file spells it.
    name: str
    version: str
    #: Of the wheel file, in hex.
    sha256: str
    #: Full hash of the last commit that touched the sources.
    commit: str | None
    #: Why there is no commit.
    commit_missing: str | None
    #: The sources differ from the commit.
    dirty: bool
    #: The wheel was there already and was taken as it is.
    reused: bool
    #: Wall time of this call.
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """What a source tree is made of, as far as the version needs it."""

    #: sha256 over the paths and contents of the source files, in hex.
    digest: str
    commit: str | None = None
    commit_missing: str | None = None
    #: Commits up to and including ``commit``.
    commits: int = 0
    #: Time of ``commit``, seconds since 1970.
    commit_time_s: int = EARLIEST_EPOCH_S
    dirty: bool = False
    #: Time of the latest change of a source file, seconds since 1970: orders uncommitted states.
    changed_s: int = 0


def compose_version(base: str, state: SourceState, *, debug: bool = False) -> str:
    """Return the version for sources in this state.

    Parameters
    ----------
    base : str
        A plain release, such as ``0.1.0``.
    state : SourceState
        What the sources are.
    debug : bool
        Mark a build with run-time checks.

    Raises
    ------
    InputError
        ``base`` is no plain release.

    Examples
    --------
    >>> compose_version("0.1.0", SourceState(digest="9f8e7d6c00", commit_missing="no git"))
    '0.1.0.dev0+src.0.h9f8e7d6c'
    """
    if not base.isascii() or not all(part.isdecimal() for part in base.split(".")):
        raise InputError(
            "the base version of the wheel is not a plain release",
            expected="numbers and dots, such as 0.1.0",
            found=repr(base),
            todo="correct base-version in the table [tool.daskperf] of its pyproject.toml",
        )
    if state.commit is None:
        version = f"{base}.dev0+src.{state.changed_s}.h{state.digest[:8]}"
    else:
        version = f"{base}.dev{state.commits}+g{state.commit[:8]}"
        if state.dirty:
            version += f".dirty.{state.changed_s}.h{state.digest[:8]}"
    return f"{version}.debug" if debug else version


def is_source(relative: Path) -> bool:
    """Say whether a path, relative to the source tree, belongs to the sources.

    Examples
    --------
    >>> is_source(Path("src/daskperf_kernels/_integrate.pyx"))
    True
    >>> is_source(Path("build/lib/daskperf_kernels/__init__.py"))
    False
    """
    return relative.suffix in SOURCE_SUFFIXES and not any(
        folder in SKIPPED_FOLDERS or folder.startswith(".") or folder.endswith(".egg-info")
        for folder in relative.parts[:-1]
    )


def source_files(source_dir: Path) -> tuple[Path, ...]:
    """Return the source files below a folder, relative to it, sorted."""
    files = (path.relative_to(source_dir) for path in source_dir.rglob("*") if path.is_file())
    return tuple(sorted(filter(is_source, files), key=Path.as_posix))


def digest_of(source_dir: Path) -> str:
    """Return the sha256, in hex, over the paths and contents of the source files."""
    total = hashlib.sha256()
    for relative in source_files(source_dir):
        content = (source_dir / relative).read_bytes()
        total.update(f"{relative.as_posix()}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def read_source_state(source_dir: Path) -> SourceState:
    """Ask the files and git what a source tree is made of."""
    digest = digest_of(source_dir)
    changed_s = max(
        (int((source_dir / f).stat().st_mtime) for f in source_files(source_dir)), default=0
    )
    try:
        last = _git(source_dir, "log", "-1", "--format=%H %ct", "--", ".")
        if not last:
            return SourceState(
                digest=digest,
                changed_s=changed_s,
                commit_missing="the sources were never committed",
            )
        commit, commit_time = last.split()
        return SourceState(
            digest=digest,
            commit=commit,
            commits=int(_git(source_dir, "rev-list", "--count", commit)),
            commit_time_s=max(int(commit_time), EARLIEST_EPOCH_S),
            dirty=_is_dirty(source_dir),
            changed_s=changed_s,
        )
    except FileNotFoundError:
        return SourceState(
            digest=digest, changed_s=changed_s, commit_missing="git is not installed"
        )
    except subprocess.TimeoutExpired:
        return SourceState(
            digest=digest, changed_s=changed_s, commit_missing="git did not answer within 60 s"
        )
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr).strip().splitlines()
        return SourceState(
            digest=digest,
            changed_s=changed_s,
            commit_missing=f"git: {lines[0] if lines else 'failed without a word'}",
        )


def build_wheel(
    source_dir: Path, out_dir: Path, *, base_version: str | None = None, debug: bool = False
) -> BuiltWheel:
    """Build the wheel of a source tree, or take the one that is there already.

    Parameters
    ----------
    source_dir : Path
        Holds ``pyproject.toml``; its build must take the version from the
        environment variable ``DASKPERF_KERNELS_VERSION``.
    out_dir : Path
        Where the wheel goes; made when absent. A whole wheel of the same
        version for this Python is reused.
    base_version : str, optional
        Instead of ``base-version`` in the project's table ``[tool.daskperf]``.
    debug : bool
        Build with bounds checks, for tests; never to be measured.

    Returns
    -------
    BuiltWheel

    Raises
    ------
    InputError
        No source tree there, or no usable base version.
    DeployError
        The build failed; the message ends with the last lines of its output.

    Notes
    -----
    The same sources, compiler and Python give the same bytes: file times come
    from the commit, and no path of the build machine is compiled in.
    """
    started = time.monotonic()
    name, base = _read_project(source_dir, base_version)
    state = read_source_state(source_dir)
    version = compose_version(base, state, debug=debug)
    out_dir.mkdir(parents=True, exist_ok=True)
    path = _find_wheel(out_dir, name, version)
    reused = path is not None
    if path is None:
        path = _build(source_dir, out_dir, name, version, state, debug)
    return BuiltWheel(
        path=path,
        name=name,
        version=version,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        commit=state.commit,
        commit_missing=state.commit_missing,
        dirty=state.dirty,
        reused=reused,
        took_s=time.monotonic() - started,
    )


def _read_project(source_dir: Path, base_version: str | None) -> tuple[str, str]:
    """Return the distribution's name and the base version."""
    file = source_dir / "pyproject.toml"
    try:
        project: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            "the wheel's source tree has no readable project file",
            where=str(file),
            expected="a pyproject.toml",
            found=f"{type(error).__name__}: {error}",
            todo="pass the folder that holds the distribution's pyproject.toml",
        ) from error
    name = project.get("project", {}).get("name")
    base = base_version or project.get("tool", {}).get("daskperf", {}).get("base-version")
    if not isinstance(name, str) or not isinstance(base, str):
        raise InputError(
            "the project file does not say what to build",
            where=str(file),
            expected="project.name and tool.daskperf.base-version, both strings",
            found=f"name {name!r}, base-version {base!r}",
            todo="add what is missing, or pass the base version",
        )
    return name, base


def _environment() -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if key not in _DROPPED and not key.startswith(_DROPPED_PREFIXES)
    }


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        env={**_environment(), "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.rstrip("\n")


def commit_of(checkout: Path) -> str:
    """Return the checkout's commit, marked when the tree differs, or why it is unknown."""
    try:
        commit = _git(checkout, "rev-parse", "HEAD")
        changed = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    except FileNotFoundError:
        return "unknown: git is not installed"
    except subprocess.TimeoutExpired:
        return "unknown: git did not answer within 60 s"
    except subprocess.CalledProcessError:
        return "unknown: not a git checkout, or nothing is committed"
    return f"{commit} with uncommitted changes" if changed else commit


def _is_dirty(source_dir: Path) -> bool:
    """Say whether git sees a change, an addition or a loss among the source files."""
    prefix = _git(source_dir, "rev-parse", "--show-prefix")
    form = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
    listed = _git(source_dir, "status", *form, "--", ".")
    # Each entry is two letters, a blank and a path relative to the repository.
    names = (entry[3:].removeprefix(prefix) for entry in listed.split("\0"))
    return any(is_source(Path(name)) for name in names if name)


def _find_wheel(out_dir: Path, name: str, version: str) -> Path | None:
    """Return a whole wheel of this version that this Python can install."""
    from packaging.tags import sys_tags
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    supported = frozenset(sys_tags())
    escaped = name.replace("-", "_")
    for path in sorted(out_dir.glob(f"{escaped}-{version}-*.whl")):
        try:
            tags = parse_wheel_filename(path.name)[3]
        except InvalidWheelFilename:
            continue
        if supported & tags and _is_whole(path):
            return path
    return None


def _is_whole(path: Path) -> bool:
    """Say whether every file in the wheel has its checksum."""
    try:
        with zipfile.ZipFile(path) as wheel:
            return wheel.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _build(
    source_dir: Path, out_dir: Path, name: str, version: str, state: SourceState, debug: bool
) -> Path:
    environment = _environment() | {
        "DASKPERF_KERNELS_VERSION": version,
        "DASKPERF_KERNELS_DEBUG": "1" if debug else "0",
        "SOURCE_DATE_EPOCH": str(state.commit_time_s),
        "PYTHONHASHSEED": "0",
    }
    with tempfile.TemporaryDirectory(prefix="daskperf-build-") as scratch:
        tree = Path(scratch, "source")
        for relative in source_files(source_dir):
            target = tree / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source_dir / relative, target)
            target.chmod(0o644)
        # A commit between the first look and the copy would put a lie in the version.
        if digest_of(tree) != state.digest:
            raise DeployError(
                "the sources changed while the wheel was being built",
                where=str(source_dir),
                todo="build again when nothing edits the source tree",
            )
        output, exit_code = _run_build(tree, Path(scratch, "wheel"), environment)
        made = sorted(Path(scratch, "wheel").glob("*.whl"))
        if exit_code or len(made) != 1:
            tail = "\n".join(output.splitlines()[-TAIL_LINES:])
            raise DeployError(
                f"building the wheel of {name} {version} failed",
                where=str(source_dir),
                expected="exit code 0 and one wheel",
                found=f"exit code {exit_code} and {len(made)} wheels; the build's last words:\n"
                + tail.replace(str(tree), str(source_dir)),
                todo="correct what the compiler or the build backend names",
            )
        if not made[0].name.startswith(f"{name.replace('-', '_')}-{version}-"):
            raise DeployError(
                "the build ignored the version that it was given",
                where=str(source_dir),
                expected=f"{name} {version}",
                found=made[0].name,
                todo="let setup.py take the version from DASKPERF_KERNELS_VERSION",
            )
        # The scratch folder may lie on another file system: copy, then rename.
        arriving = out_dir / f".{made[0].name}.{os.getpid()}.part"
        try:
            shutil.copyfile(made[0], arriving)
            arriving.replace(out_dir / made[0].name)
        finally:
            arriving.unlink(missing_ok=True)
        return out_dir / made[0].name


def _run_build(tree: Path, wheel_dir: Path, environment: dict[str, str]) -> tuple[str, int]:
    """Run the build backend; return its output and exit code."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    # In a session of its own, so that a compiler that hangs ends with its parents.
    with subprocess.Popen(
        [*command, "--outdir", str(wheel_dir), str(tree)],
        cwd=tree.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=BUILD_TIMEOUT_S)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise DeployError(
                "building the wheel took too long",
                where=str(tree),
                expected=f"at most {BUILD_TIMEOUT_S:.0f} s",
                found="still running, so it was ended",
                todo="look at the load of this machine, then build again",
            ) from error
    return output, process.returncode
