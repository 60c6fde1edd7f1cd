"""The default subject as it is on a worker: unpacked from its wheel, on the import path."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.deploy.build import build_wheel
from tests.workloads.patterns.environments import ENVIRONMENTS, Compute, environment

SOURCE = Path(__file__).resolve().parents[2] / "kernels"


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def compute(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Compute]:
    with environment(request.param, tmp_path_factory.mktemp(request.param)) as opened:
        yield opened


@pytest.fixture(scope="session")
def kernels_on_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build_wheel(SOURCE, tmp_path_factory.mktemp("wheel"))
    folder = tmp_path_factory.mktemp("kernels")
    with zipfile.ZipFile(built.path) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.fixture
def kernels(kernels_on_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(kernels_on_path))
    for name in [m for m in sys.modules if m.split(".")[0] == "daskperf_kernels"]:
        monkeypatch.delitem(sys.modules, name)
    yield kernels_on_path
    for name in [m for m in sys.modules if m.split(".")[0] == "daskperf_kernels"]:
        del sys.modules[name]
