"""The wheel as it is installed: its modules, its version, and the GIL."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from daskperf_tasks.deploy.build import BuiltWheel, build_wheel

PRINT_VERSION = "import daskperf_kernels; print(daskperf_kernels.__version__)"


def test_version_is_the_wheels(kernels: ModuleType, kernels_wheel: BuiltWheel) -> None:
    assert kernels.__version__ == kernels_wheel.version


def test_both_implementations_are_there(kernels: ModuleType) -> None:
    assert kernels.available_implementations() == ("cython", "python")
    for module in (kernels._integrate, kernels._aggregate):
        assert Path(module.__file__).suffix == ".so"


def test_wheel_holds_what_types_and_debugging_need(kernels_wheel: BuiltWheel) -> None:
    with zipfile.ZipFile(kernels_wheel.path) as wheel:
        names = {name.removeprefix("daskperf_kernels/") for name in wheel.namelist()}
    assert {"py.typed", "_integrate.pyi", "_aggregate.pyi", "_integrate.pyx"} <= names
    assert not [name for name in names if name.endswith((".c", ".html"))]


def test_version_beside_the_package_wins_over_another_on_the_path(
    kernels_folder: Path,
    kernels_wheel: BuiltWheel,
    tmp_path: Path,
    run_with_path: Callable[..., str],
) -> None:
    other = tmp_path / "other"
    metadata = other / "daskperf_kernels-9.9.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: daskperf-kernels\nVersion: 9.9\n")
    assert run_with_path(PRINT_VERSION, other, kernels_folder) == kernels_wheel.version

    bare = tmp_path / "bare"
    shutil.copytree(kernels_folder / "daskperf_kernels", bare / "daskperf_kernels")
    assert run_with_path(PRINT_VERSION, bare, other) == "9.9"


def test_without_compiled_modules_the_plain_half_serves(
    kernels_folder: Path, tmp_path: Path, run_with_path: Callable[..., str]
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(kernels_folder, bare, ignore=shutil.ignore_patterns("*.so"))
    printed = run_with_path(
        "import daskperf_kernels as k\n"
        "print(k.available_implementations())\n"
        "print(k.integrate(1000, 0.5, 'python'))\n"
        "try:\n    k.aggregate(3, 0)\n"
        "except ImportError as error:\n    print(error)\n",
        bare,
    )
    names, result, error = printed.splitlines()
    assert names == "('python',)"
    assert float(result) == pytest.approx(3.141592653589793)
    assert "do not load here" in error
    assert "_aggregate" in error
    assert "implementation='python'" in error


@pytest.fixture
def gil_is_kept() -> Iterator[None]:
    """Let no thread lose the GIL unasked: who gets it got it because another let go.

    So the counts below do not depend on how busy the machine is.
    """
    usual = sys.getswitchinterval()
    sys.setswitchinterval(60.0)
    yield
    sys.setswitchinterval(usual)


def wakes_during(call: Callable[[], object]) -> int:
    """Run ``call`` in a thread; count how often this thread gets the GIL meanwhile."""
    begun = threading.Event()
    ended = threading.Event()

    def body() -> None:
        begun.set()
        call()
        ended.set()

    thread = threading.Thread(target=body)
    thread.start()
    begun.wait()
    wakes = 0
    while not ended.is_set():
        wakes += 1
        time.sleep(0.001)
    thread.join()
    return wakes


@pytest.mark.usefixtures("gil_is_kept")
def test_a_call_that_holds_the_gil_lets_nobody_run() -> None:
    # sum() over a range is one C loop: what the tests below would see if nogil were lost.
    assert wakes_during(lambda: sum(range(20_000_000))) <= 1


@pytest.mark.usefixtures("gil_is_kept")
def test_integrate_releases_the_gil(kernels: ModuleType) -> None:
    assert wakes_during(lambda: kernels.integrate(200_000_000, 0.1)) > 20


@pytest.mark.usefixtures("gil_is_kept")
def test_aggregate_releases_the_gil(kernels: ModuleType) -> None:
    assert wakes_during(lambda: kernels.aggregate(40_000, 1)) > 20


@pytest.mark.usefixtures("gil_is_kept")
def test_short_calls_finish_while_a_long_one_runs(kernels: ModuleType) -> None:
    finished = []
    ended = threading.Event()

    def short_calls() -> None:
        while not ended.is_set():
            finished.append(kernels.integrate(100_000, 0.0))

    thread = threading.Thread(target=short_calls)
    thread.start()
    before = len(finished)
    kernels.integrate(200_000_000, 0.1)
    during = len(finished) - before
    ended.set()
    thread.join()
    assert during > 20


def test_debug_build_passes_the_same_tests(
    kernels: ModuleType, kernels_source: Path, tmp_path: Path
) -> None:
    """With bounds checks; what runs plain Python only is not run a second time."""
    built = build_wheel(kernels_source, tmp_path / "wheels", debug=True)
    assert built.version == f"{kernels.__version__}.debug"
    with zipfile.ZipFile(built.path) as wheel:
        wheel.extractall(tmp_path / "debug")
    here = Path(__file__).parent
    files = [
        str(here / f"test_kernels_{name}.py")
        for name in ("aggregate", "arguments", "integrate", "surroundings")
    ]
    select = ["-m", "not deep", "-k", "not python and not without_a_grid"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, *select],
        cwd=here.parents[1],
        env={**os.environ, "DASKPERF_TEST_KERNELS": str(tmp_path / "debug")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 100


@pytest.mark.deep
def test_debug_build_catches_an_index_outside(
    copy_of_kernels: Path, tmp_path: Path, run_with_path: Callable[..., str]
) -> None:
    file = copy_of_kernels / "src" / "daskperf_kernels" / "_aggregate.pyx"
    right = "        centres[count, 0] = p.x\n"
    assert file.read_text().count(right) == 1
    file.write_text(file.read_text().replace(right, "        centres[count - n, 0] = p.x\n"))
    built = build_wheel(copy_of_kernels, tmp_path / "wheels", debug=True)
    zipfile.ZipFile(built.path).extractall(tmp_path / "debug")
    printed = run_with_path(
        "import daskperf_kernels as k\n"
        "try:\n    k.aggregate(5, 0)\n"
        "except IndexError as error:\n    print(error)\n",
        tmp_path / "debug",
    )
    assert "Out of bounds" in printed
