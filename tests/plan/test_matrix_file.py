from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.errors import MatrixError
from daskperf_tasks.plan.build import planned_cells
from daskperf_tasks.plan.matrix import Matrix
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.plan.matrix_text import render

from .matrices import GOOD, REGISTRY

FOLDER = Path(__file__).resolve().parents[2] / "matrix"


def load(text: str) -> Matrix:
    return load_matrix(text, where="matrix/x.toml", registry=REGISTRY)


def test_a_good_file() -> None:
    matrix = load(GOOD)
    assert (matrix.name, matrix.seed, matrix.rounds, matrix.repeats) == ("nightly", 7, 3, 4)
    assert matrix.warmup.max_repeats == 3
    aggregates, integrate = matrix.workloads
    assert aggregates.params == (("n", (128, 256)),)
    assert (integrate.required, integrate.repeats, integrate.timeout_s) == (False, 2, 5.0)
    assert integrate.environments == ("threads", "processes")
    assert matrix.text == GOOD


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "repeats = 4",
            "repeat = 4",
            "5: unknown key 'repeat' in [matrix]; did you mean 'repeats'?",
        ),
        (
            "tolerance = 0.1",
            "tolerence = 0.1",
            "12: unknown key 'tolerence' in [matrix.warmup]; did you mean 'tolerance'?",
        ),
        (
            '"aggregates"',
            '"agregates"',
            "15: unknown workload 'agregates'; did you mean 'aggregates'?",
        ),
        (
            "units = 64",
            "unit = 64",
            "16: unknown key 'unit' in [[workload]]; did you mean 'units'?",
        ),
        ('"remote"]', '"remot"]', "17: unknown environment 'remot'; did you mean 'remote'?"),
        ('    "processes",', '    "threads",', "29: environment 'threads' is listed twice"),
        (
            "n = [128, 256]",
            "m = [128]",
            "19: workload 'aggregates' has no parameter 'm'; valid are n, per_task",
        ),
        (
            "n = [128, 256]",
            "n = []",
            "19: parameter 'n' of 'aggregates' has an empty list of values",
        ),
        (
            "n = [128, 256]",
            "n = [128, 'a']",
            "19: parameter 'n' of 'aggregates': 'a' is not of type int",
        ),
        ("n = [128, 256]", "n = [128, true]", "True is not of type int"),
        (
            "n = [128, 256]",
            "n = [128, 128]",
            "19: parameter 'n' of 'aggregates': 128 is listed twice",
        ),
        ("n = [128, 256]", "n = 1", "19: parameter 'n' of 'aggregates': 1 is below 2"),
        (
            '["python", "cython"]',
            '["pyhton"]',
            "31: parameter 'implementation' of 'integrate': 'pyhton' is none of 'cython', 'python'",
        ),
        ("rounds = 3", "rounds = 0", "4: 'rounds' must be a whole number from 1 to 1,000, not 0"),
        (
            "rounds = 3",
            'rounds = "3"',
            "4: 'rounds' must be a whole number from 1 to 1,000, not '3'",
        ),
        ("timeout_s = 60", "timeout_s = true", "7: 'timeout_s' must be a number"),
        ("units = 64", "", "14: 'units' is missing"),
        ("required = false", "required = 0", "24: 'required' must be true or false, not 0"),
        ('name = "nightly"', "", "1: 'name' is missing"),
        ('name = "nightly"', 'name = "Night ly"', "2: 'name' is 'Night ly': lower case letters"),
        ("max_repeats = 3", "max_repeats = 0", "11: 'max_repeats' 0 is below 'min_repeats'"),
        ("[matrix]\n", "[matrx]\n", "1: unknown key 'matrx' in the file; did you mean 'matrix'?"),
        (
            'environments = ["local", "remote"]',
            "environments = []",
            "17: 'environments' must be a list",
        ),
        (
            'environments = ["local", "remote"]',
            "environments = local",
            "17: not valid TOML: invalid value",
        ),
        ("seed = 7", "seed = 7\nseed = 8", "4: not valid TOML: cannot overwrite a value"),
        ("steps = 1000 }", "steps = 1000", "not valid TOML"),
    ],
)
def test_mistakes_name_line_key_and_nearest(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    with pytest.raises(MatrixError) as caught:
        load(GOOD.replace(old, new, 1))
    assert "matrix/x.toml:" in caught.value.message
    assert expected in caught.value.message
    assert caught.value.todo
    assert caught.value.exit_code == 2


def test_all_mistakes_are_told_at_once_in_the_order_of_lines() -> None:
    text = GOOD.replace("repeats = 4", "repeat = 4").replace("units = 16", "unitss = 16")
    with pytest.raises(MatrixError) as caught:
        load(text)
    lines = [row.split(":")[1] for row in caught.value.message.splitlines()]
    assert lines == ["5", "21", "23"]


def test_the_same_cell_twice() -> None:
    again = (
        '[[workload]]\nname = "aggregates"\nunits = 8\nenvironments = ["local"]\nparams.n = 128\n'
    )
    with pytest.raises(MatrixError, match="line 14") as caught:
        load(GOOD + again)
    assert "x.toml:32: workload 'aggregates' with {'n': 128} in 'local' is already" in str(
        caught.value
    )


@pytest.mark.parametrize("text", ["", "[matrix]\nname = 'x'\n", "matrix = 3\nworkload = [1]\n"])
def test_empty_and_odd_files(text: str) -> None:
    with pytest.raises(MatrixError):
        load(text)


def test_rendered_text_is_the_same_matrix() -> None:
    matrix = load(GOOD)
    again = load(render(matrix))
    assert render(again) == render(matrix)
    assert again.workloads == matrix.workloads


@pytest.mark.parametrize("name", ["nightly", "smoke"])
def test_the_matrices_of_this_repository(name: str) -> None:
    file = FOLDER / f"{name}.toml"
    matrix = load_matrix(file.read_text(), where=str(file), registry=REGISTRY)
    ids = {c.cell_id for c in planned_cells(matrix, REGISTRY)}
    assert matrix.name == name
    assert all(c.cell.counterpart_id in ids for c in planned_cells(matrix, REGISTRY))
    assert len(ids) == (12 if name == "nightly" else 6)


def test_parameters_that_do_not_fit_together_are_told_with_their_line() -> None:
    text = """\
[matrix]
name = "x"

[[workload]]
name = "bag"
environments = ["local"]
params = { n = 5, p = 9 }

[[workload]]
name = "tree"
environments = ["local"]
params = { e = [10, 20] }
"""
    with pytest.raises(MatrixError) as caught:
        load_matrix(text, where="m.toml", registry=REGISTRY)
    first, second = str(caught.value).splitlines()[:2]
    assert "m.toml:4: workload 'bag' with {'n': 5, 'p': 9}" in first
    assert "expected p of at most n = 5; found p = 9" in first
    assert "m.toml:9: workload 'tree' with {'e': 20}" in second
    assert 'graph = "low-level"' in second
