"""The kernels under test come from the wheel that users get, built once a session."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from daskperf_tasks.deploy.build import BuiltWheel, build_wheel

SOURCE = Path(__file__).resolve().parents[2] / "kernels"
#: Names the folder of an unpacked wheel to test instead: so the debug build gets the same tests.
OTHER_KERNELS = "DASKPERF_TEST_KERNELS"


@pytest.fixture(scope="session")
def kernels_source() -> Path:
    return SOURCE


@pytest.fixture(scope="session")
def kernels_wheel(tmp_path_factory: pytest.TempPathFactory) -> BuiltWheel:
    return build_wheel(SOURCE, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def kernels_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel's content, as it lies on the path of a worker."""
    other = os.environ.get(OTHER_KERNELS)
    if other:
        return Path(other)
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(request.getfixturevalue("kernels_wheel").path) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="session")
def kernels(kernels_folder: Path) -> ModuleType:
    """The package, imported from the unpacked wheel."""
    sys.path.insert(0, str(kernels_folder))
    try:
        package = importlib.import_module("daskperf_kernels")
    finally:
        sys.path.remove(str(kernels_folder))
    assert Path(str(package.__file__)).is_relative_to(kernels_folder)
    return package


@pytest.fixture(params=["cython", "python"])
def implementation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run_with_path() -> Callable[..., str]:
    """Run code in a new interpreter with folders first on its path; return what it prints."""

    def run(code: str, *folders: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def copy_of_kernels(tmp_path: Path) -> Path:
    """A copy of the kernels' sources that a test may break."""
    copy = tmp_path / "kernels"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("build", "*.c", "*.egg-info"))
    return copy
