from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import MatrixError
from daskperf_tasks.plan.build import planned
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.option import Option
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.plan.matrix_text import render

from .matrices import EVERY, HEAD, experiments

FIRST = len(HEAD.splitlines())
TABLE = """\
[[experiment]]
kind = "task-size"
name = "mine"
tasks = [2, 4]
total_steps = 4096
workers = 2
required = false
repeats = 7
timeout_s = 5
"""


def test_a_good_table() -> None:
    (row,) = experiments(TABLE).experiments
    assert (row.kind, row.name, row.required) == ("task-size", "mine", False)
    assert (row.repeats, row.timeout_s) == (7, 5.0)
    assert row.options == (("tasks", (2, 4)), ("total_steps", (4096,)), ("workers", (2,)))


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('"task-size"', '"task-sise"', 2, "unknown kind 'task-sise'; did you mean 'task-size'?"),
        ('kind = "task-size"', "", 1, "'kind' is missing; valid are chunks, granularity"),
        ('"task-size"', "3", 2, "unknown kind 3"),
        ('"mine"', '"Mine"', 3, "'name' is 'Mine': lower case letters"),
        ('"mine"', "3", 3, "'name' is 3: it must be a string"),
        ("tasks =", "task =", 4, "unknown key 'task' in an experiment of kind 'task-size'; did"),
        ("tasks =", "chunk =", 4, "unknown key 'chunk' in an experiment of kind 'task-size'"),
        ("[2, 4]", "[2, 0]", 4, "'tasks' must be a whole number from 1 to 10,000,000, not 0"),
        ("[2, 4]", '[2,\n "x"]', 5, "'tasks' must be a whole number from 1 to 10,000,000, not 'x'"),
        ("[2, 4]", "[2, 2]", 4, "'tasks' lists 2 twice"),
        ("[2, 4]", "[]", 4, "'tasks' must have 1 to 100 values"),
        ("[2, 4]", "[128]", 5, "'steps' of '128 tasks': 32 is below 64"),
        ("[2, 4]", "[67, 71]", 5, "no number near it is a multiple of all numbers of tasks"),
        ("4096", "63", 5, "'total_steps' must be a whole number from 64"),
        ("4096", "1.5", 5, "'total_steps' must be a whole number from 64"),
        ("workers = 2", "workers = [1, 2]", 6, "'workers' must be one value, not a list"),
        ("workers = 2", "workers = 3", 6, "'workers' is 3, and 'processes' has 2 within this"),
        ("workers = 2", 'environment = "remot"', 6, "'environment' cannot be 'remot'; did you me"),
        ("required = false", "required = 0", 7, "'required' must be true or false, not 0"),
        ("repeats = 7", "repeats = 0", 8, "'repeats' must be a whole number from 1 to 1,000"),
        ("timeout_s = 5", "timeout_s = 0", 9, "'timeout_s' must be a number from 0.1"),
    ],
)
def test_mistakes_name_line_option_and_nearest(old: str, new: str, line: int, says: str) -> None:
    assert old in TABLE
    with pytest.raises(MatrixError) as caught:
        experiments(TABLE.replace(old, new, 1))
    assert f"x.toml:{FIRST + line}: " in caught.value.message
    assert says in caught.value.message
    assert caught.value.exit_code == 2


def test_two_experiments_of_one_name() -> None:
    with pytest.raises(MatrixError) as caught:
        experiments(TABLE + TABLE)
    where = f"x.toml:{FIRST + 12}: an experiment named 'mine' is already in the table of line"
    assert f"{where} {FIRST + 1}: give it a 'name' of its own" in caught.value.message
    named = TABLE.replace('"mine"', '"other"')
    assert [e.name for e in experiments(TABLE + named).experiments] == ["mine", "other"]


def test_one_id_cannot_stand_for_two_amounts_of_work() -> None:
    double = '[[experiment]]\nkind = "task-size"\ntasks = [4]\ntotal_steps = 8192\nrepeats = 7\n'
    with pytest.raises(MatrixError) as caught:
        experiments(TABLE + double)
    assert f"x.toml:{FIRST + 10}: experiment 'task-size' needs a cell that the" in str(caught.value)
    assert "(units = 2, repeats = 7, timeout_s = 5, here units = 4," in str(caught.value)


def test_a_matrix_needs_something_to_measure() -> None:
    with pytest.raises(MatrixError, match=r"no \[\[workload\]\] and no \[\[experiment\]\] table"):
        experiments("")
    with pytest.raises(MatrixError, match="must be written as tables"):
        load_matrix("experiment = 3\n" + HEAD, where="x.toml", registry=EVERY)
    with pytest.raises(MatrixError, match="the most are 100"):
        experiments("".join(TABLE.replace("mine", f"e{i}") for i in range(101)))


def test_cells_of_experiments_count_as_those_of_workloads() -> None:
    row = (
        '[[workload]]\nname = "aggregates"\nunits = 1\nenvironments = ["local"]\n'
        f"params.n = {list(range(2, 10_001))}\n"
    )
    with pytest.raises(MatrixError, match="with this experiment there are 10,001 cells; the most"):
        experiments(row + TABLE)


def values(option: Option) -> st.SearchStrategy[object]:
    """Values that an option takes, within what two cores have."""
    words = {
        "pattern": ["trivial", "stencil", "fft", "tree"],
        "kernel": ["compute", "memory", "imbalance"],
    }
    numbers = {
        "workers": st.integers(1, 2),
        "tasks": st.sampled_from([1, 2, 4, 8, 16]),
        "total_steps": st.integers(2**20, 2**24),
        "size": st.integers(4_000, 9_000),
        "chunk": st.integers(100, 500),
    }
    one: st.SearchStrategy[object] = (
        st.sampled_from(list(option.choices) or words[option.name])
        if option.limits is None
        else numbers.get(option.name, st.integers(1, 64))
    )
    return st.lists(one, min_size=1, max_size=4, unique=True) if option.many else one


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Up to three tables with some of their options."""
    out = []
    for i in range(draw(st.integers(1, 3))):
        spec = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        out += ["[[experiment]]", f'kind = "{spec.kind}"', f'name = "e{i}"', f"repeats = {i + 1}"]
        if draw(st.booleans()):
            out.append(f"timeout_s = {draw(st.floats(0.1, 1e4))!r}")
        for option in spec.options:
            if draw(st.booleans()):
                value = draw(values(option))
                out.append(f"{option.name} = {str(value).lower() if value is True else value!r}")
    return "\n".join(out) + "\n"


@given(tables())
def test_rendered_text_is_the_same_matrix(text: str) -> None:
    try:
        matrix = experiments(text)
    except MatrixError as err:
        # Two tables drew one cell with other repeats, or tasks that need another total.
        assert "measures otherwise" in err.message or "no number near" in err.message, text
        return
    again = load_matrix(render(matrix), where="x.toml", registry=EVERY)
    assert replace(again, text="") == replace(matrix, text="")
    assert render(again) == render(matrix)
    assert planned(again, EVERY) == planned(matrix, EVERY)
