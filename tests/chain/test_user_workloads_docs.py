"""What docs/workloads.md shows can be copied and works."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import dask
import pytest

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.plan.build import planned_cells
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.registry import load_registry
from tests.wheels import make_wheel

PAGE = Path(__file__).resolve().parents[2] / "docs" / "workloads.md"


def shown(language: str) -> list[str]:
    """The code blocks of a language that the page shows, in their order."""
    found, lines = [], iter(PAGE.read_text().splitlines())
    for line in lines:
        if line.strip() == f"```{language}":
            block = []
            for inner in lines:
                if inner.strip() == "```":
                    break
                block.append(inner)
            found.append(textwrap.dedent("\n".join(block)) + "\n")
    return found


def test_the_example_can_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [module] = shown("python")
    points, matrix = shown("toml")[:2]
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "__init__.py").write_text("")
    (tmp_path / "mypackage" / "squares.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        # As the page says, for a try by the variable.
        assert 'squares = "mypackage.squares:SQUARES"' in points
        registry = load_registry({"DASKPERF_WORKLOADS": "mypackage.squares:SQUARES"})
        squares = registry["squares"]
        assert isinstance(squares, Workload)
        cells = planned_cells(load_matrix(matrix, where="mine", registry=registry), registry)
        assert len(cells) == 4
        for planned in cells:
            request = planned.request
            params = dict(request.params)
            built = squares.build(params, units=request.units, seed=request.seed)
            results = dask.compute(*built.collections, scheduler="sync")
            checked = squares.check(results, params, units=request.units, seed=request.seed)
            assert checked.right_units == request.units == 100
            wrong = (results[0] + 1, *results[1:])
            with pytest.raises(CorrectnessError):
                squares.check(wrong, params, units=request.units, seed=request.seed)
        assert squares.build({}, units=1, seed=0).collections[0].compute() == 0
    finally:
        sys.modules.pop("mypackage.squares", None)
        sys.modules.pop("mypackage", None)


def test_the_example_is_planned_from_a_wheel(tmp_path: Path) -> None:
    from daskperf_tasks.asking import Ask
    from daskperf_tasks.reading import sketch_plan
    from daskperf_tasks.settings import read_settings

    [module] = shown("python")
    matrix = tmp_path / "mine.toml"
    matrix.write_text(shown("toml")[1])
    files = {
        "mypackage/__init__.py": "",
        "mypackage/squares.py": module,
        "mypackage-1.0.dist-info/entry_points.txt": "[daskperf.workloads]\n"
        "squares = mypackage.squares:SQUARES\n",
    }
    wheel = make_wheel(tmp_path, "mypackage", "1.0", files)
    settings = read_settings({"DASKPERF_HOME": str(tmp_path / "home")})
    plan = sketch_plan(settings, Ask(matrix=str(matrix), wheel=str(wheel)))
    assert len(plan.cells) == 4
