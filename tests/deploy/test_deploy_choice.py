"""A wheel that is not what the matrix measures is refused before anything is begun."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daskperf_tasks.asking import Ask, plan_of
from daskperf_tasks.deploy.choice import check_fits, choose_reference
from daskperf_tasks.deploy.sources import wheel_by_hand
from daskperf_tasks.errors import WheelError
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.settings import Settings, read_settings
from daskperf_tasks.workloads.registry import load_registry
from tests.dask_cluster import CHECKOUT
from tests.wheels import make_wheel

RUN = "20261130T010203Z-616263"
RUN_SMOKE = [sys.executable, "-m", "daskperf_tasks", "run", "smoke"]
KERNELS = {"daskperf_kernels/__init__.py": ""}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"DASKPERF_HOME": str(tmp_path / "home")})


@pytest.fixture
def plan(settings: Settings) -> Plan:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    return plan_of(settings, Ask(matrix="smoke"), run_id=RUN, created_at=now, arms=("subject",))


def test_the_wheel_has_to_hold_what_the_workloads_import(plan: Plan, tmp_path: Path) -> None:
    registry = load_registry()
    good, _ = wheel_by_hand(make_wheel(tmp_path, "daskperf-kernels", "1.0", KERNELS))
    check_fits(good, plan, registry)
    for name, files in (
        ("other", {"other/__init__.py": ""}),
        ("daskperf-kernels", {"renamed/__init__.py": ""}),
    ):
        wrong, _ = wheel_by_hand(make_wheel(tmp_path / name, name, "1.0", files))
        with pytest.raises(WheelError, match="not what the matrix measures") as seen:
            check_fits(wrong, plan, registry)
        assert "daskperf_kernels" in str(seen.value) and wrong.import_name in str(seen.value)


def test_the_reference_has_to_be_the_same_distribution(settings: Settings, tmp_path: Path) -> None:
    subject, _ = wheel_by_hand(make_wheel(tmp_path, "Daskperf.Kernels", "1.0", KERNELS))
    old = make_wheel(tmp_path / "old", "daskperf-kernels", "0.9", KERNELS)
    other = make_wheel(tmp_path / "other", "other", "0.9", {"other/__init__.py": ""})
    lane = {"before": RUN, "lane": "lab", "matrix": "smoke"}
    reference, _, _ = choose_reference(settings, str(old), subject, **lane)
    assert reference is not None and reference.version == "0.9"
    with pytest.raises(WheelError, match="another distribution") as seen:
        choose_reference(settings, str(other), subject, **lane)
    assert "other" in str(seen.value) and subject.name in str(seen.value)


@pytest.mark.parametrize("tag", ["cp27-cp27mu-manylinux1_x86_64", "cp311-cp311-win_amd64"])
def test_a_wheel_of_another_platform(tmp_path: Path, tag: str) -> None:
    wheel = make_wheel(tmp_path, "daskperf-kernels", "1.0", KERNELS, tag=tag)
    with pytest.raises(WheelError, match="cannot be installed by this Python") as seen:
        wheel_by_hand(wheel)
    assert tag in str(seen.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--subject", "other-1.0-py3-none-any.whl"), "not what the matrix measures"),
        (("--scheduler", "garbage"), "not the address of a Dask scheduler"),
    ],
)
def test_the_command_line_ends_at_once(tmp_path: Path, words: tuple[str, str], said: str) -> None:
    make_wheel(tmp_path, "other", "1.0", {"other/__init__.py": ""})
    home = tmp_path / "home"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DASKPERF_", "AWS_"))}
    done = subprocess.run(
        [*RUN_SMOKE, "--scheduler", "tcp://127.0.0.1:1", *words],
        env=kept | {"DASKPERF_HOME": str(home), "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not list(home.glob("spool/profiles/*"))


def test_a_wheel_that_brings_a_planned_workload_fits(plan: Plan, tmp_path: Path) -> None:
    other, _ = wheel_by_hand(make_wheel(tmp_path, "other", "1.0", {"other/__init__.py": ""}))
    registry = load_registry()
    check_fits(other, plan, registry, own={"integrate"})
    with pytest.raises(WheelError, match="not what the matrix measures"):
        check_fits(other, plan, registry, own={"something-else"})
