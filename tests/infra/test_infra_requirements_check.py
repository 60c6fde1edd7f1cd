from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "infra" / "local" / "requirements_check.sh"


def _path(folder: Path, *programs: str) -> Path:
    """A PATH with the named programs, and an apt-get that would do nothing."""
    folder.mkdir()
    for name in ("id", *programs):
        found = shutil.which(name)
        assert found, f"this test needs {name}"
        (folder / name).symlink_to(found)
    apt = folder / "apt-get"
    apt.write_text("#!/bin/sh\nexit 1\n")
    apt.chmod(0o755)
    return folder


def _run(path: Path | None, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path or os.environ["PATH"]), "PYTHON": python}
    return subprocess.run(
        ["/bin/sh", str(SCRIPT)], env=environment, capture_output=True, text=True, check=False
    )


def test_a_machine_with_everything_passes_silently() -> None:
    done = _run(None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_missing_compiler_is_named_with_the_command(tmp_path: Path) -> None:
    done = _run(_path(tmp_path / "bin", "make"))
    assert done.returncode == 2
    assert "gcc is not on the PATH" in done.stderr
    assert "apt-get install -y gcc libc6-dev\n" in done.stderr


def test_all_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    done = _run(_path(tmp_path / "bin"), python="python-that-is-not-there")
    assert done.returncode == 2
    for what in ("python-that-is-not-there is not on the PATH", "- make", "gcc"):
        assert what in done.stderr
    assert "apt-get install -y python3 python3-venv python3-dev make gcc libc6-dev\n" in done.stderr


@pytest.mark.parametrize(
    ("answers", "missing", "packages"),
    [
        ({"version": 1}, "Python 3.11 or newer", "python3.11 python3.11-venv python3.11-dev"),
        ({"modules": 1}, "venv and ensurepip", "python3-venv"),
        ({"include": "/nowhere"}, "no /nowhere/Python.h", "python3-dev"),
    ],
)
def test_an_unfit_python_is_named(
    tmp_path: Path, answers: dict[str, object], missing: str, packages: str
) -> None:
    path = _path(tmp_path / "bin", "make", "gcc")
    python = path / "unfit"
    include = answers.get("include", "/usr/include")
    python.write_text(
        "#!/bin/sh\n"
        'case "$2" in\n'
        f"*sys.exit*) exit {answers.get('version', 0)} ;;\n"
        "*version_info*) echo 3.9.2 ;;\n"
        f"*ensurepip*) exit {answers.get('modules', 0)} ;;\n"
        f"*sysconfig*) echo {include} ;;\n"
        "esac\n"
    )
    python.chmod(0o755)
    done = _run(path, python=str(python))
    assert done.returncode == 2
    assert missing in done.stderr
    assert packages in done.stderr


def test_missing_headers_of_the_c_library_are_found(tmp_path: Path) -> None:
    path = _path(tmp_path / "bin", "make")
    compiler = path / "gcc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    done = _run(path)
    assert done.returncode == 2
    assert "apt-get install -y libc6-dev\n" in done.stderr
