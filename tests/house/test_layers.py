"""The dependency rule, and what each side may load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent.parent
HEAVY = ("airflow", "boto3", "great_expectations", "apprise", "matplotlib", "scipy", "bokeh")


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_nobody_imports_upwards() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("module", ["daskperf_tasks.run.round_main", "daskperf_tasks.workloads"])
def test_the_worker_side_is_light(module: str) -> None:
    assert loaded_by(f"import {module}") & set(HEAVY) == set()


def test_the_command_line_answers_without_anything_heavy() -> None:
    loaded = loaded_by("import daskperf_tasks.cli")
    assert "click" in loaded
    assert loaded & {*HEAVY, "dask", "distributed", "numpy", "pandas", "pyarrow"} == set()


def test_stages_load_nothing_heavy_before_they_run() -> None:
    loaded = loaded_by("import daskperf_tasks.stages")
    assert loaded & {*HEAVY, "distributed", "pandas", "pyarrow"} == set()
