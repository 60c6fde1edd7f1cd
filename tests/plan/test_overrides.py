from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.errors import InputError
from daskperf_tasks.plan.build import planned_cells
from daskperf_tasks.plan.matrix import Matrix
from daskperf_tasks.plan.matrix_file import load_matrix, read_matrix
from daskperf_tasks.plan.overrides import apply

from .matrices import GOOD, REGISTRY

NIGHTLY = Path(__file__).resolve().parents[2] / "matrix" / "nightly.toml"


def load(text: str) -> Matrix:
    return load_matrix(text, where="matrix/x.toml", registry=REGISTRY)


def test_overrides_are_in_the_text_too() -> None:
    changed = apply(
        load(GOOD), registry=REGISTRY, n=[32], repeats=9, rounds=1, environments=["local"]
    )
    assert load(changed.text).workloads == changed.workloads
    assert (changed.repeats, changed.rounds) == (9, 1)
    cells = planned_cells(changed, REGISTRY)
    assert [c.cell_id for c in cells] == ["aggregates/v2;n=32;env=local;sched=ws"]
    assert cells[0].request.repeats == 9


def test_cells_are_chosen_by_id_or_label() -> None:
    changed = apply(
        load(GOOD), registry=REGISTRY, cells=["aggregates n=256", "integrate/*env=threads*"]
    )
    ids = [c.cell_id for c in planned_cells(changed, REGISTRY)]
    assert len(ids) == 4
    assert ids[0] == "aggregates/v2;n=256;env=local;sched=ws"
    with pytest.raises(InputError, match="no cell matches"):
        planned_cells(apply(load(GOOD), registry=REGISTRY, cells=["nothing"]), REGISTRY)


def test_overrides_that_say_nothing() -> None:
    matrix = load(GOOD)
    assert apply(matrix, registry=REGISTRY) is matrix
    with pytest.raises(InputError, match="did you mean 'remote'"):
        apply(matrix, registry=REGISTRY, environments=["remotee"])
    with pytest.raises(InputError):
        apply(matrix, registry=REGISTRY, n=[])
    with pytest.raises(InputError):
        apply(matrix, registry=REGISTRY, repeats=0)
    only = load(
        GOOD.replace('name = "aggregates"', 'name = "integrate"').replace("n = [128, 256]", "")
    )
    with pytest.raises(InputError, match="no workload of this matrix has a parameter n"):
        apply(only, registry=REGISTRY, n=[3])


@pytest.mark.parametrize("n", [1, 0, -3, 65_537, 10**200])
def test_n_has_the_limits_of_the_workload(n: int) -> None:
    with pytest.raises(InputError) as caught:
        apply(load(GOOD), registry=REGISTRY, n=[128, n])
    assert "option n is out of the limits of workload 'aggregates'" in caught.value.message
    assert caught.value.expected == "2 to 65,536"
    assert caught.value.found in (str(n) if n < 10**40 else "", "a number of about 201 digits")
    assert "--n" in (caught.value.where or "")


@pytest.mark.parametrize("n", [2, 65_536])
def test_n_at_its_limits_is_taken(n: int) -> None:
    changed = apply(load(GOOD), registry=REGISTRY, n=[n])
    assert dict(changed.workloads[0].params)["n"] == (n,)
    assert load(changed.text).workloads == changed.workloads


def test_n_reaches_a_workload_that_has_it_by_default() -> None:
    matrix = load(GOOD.replace("n = [128, 256]", "per_task = 4"))
    changed = apply(matrix, registry=REGISTRY, n=[32])
    assert changed.workloads[0].params == (("n", (32,)), ("per_task", (4,)))


def test_tables_that_differ_in_n_only_share_the_values() -> None:
    matrix = load_matrix(read_matrix(NIGHTLY), where="nightly", registry=REGISTRY)
    changed = apply(matrix, registry=REGISTRY, n=[64, 300, 128])
    tables = [(dict(r.params)["n"], r.units) for r in changed.workloads if r.name == "aggregates"]
    assert tables == [((64, 128), 768), ((300,), 384)]
    one = apply(matrix, registry=REGISTRY, n=[1000])
    ids = [c.cell_id for c in planned_cells(one, REGISTRY)]
    assert len(ids) == len(set(ids)) == 10


def test_one_cell_in_two_tables_is_refused() -> None:
    again = '[[workload]]\nname = "aggregates"\nunits = 8\nenvironments = ["local"]\nparams.n = 7\n'
    with pytest.raises(InputError, match="one cell in two of its tables"):
        apply(load(GOOD + again), registry=REGISTRY, n=[32])


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        ("repeats", 1001, "1 to 1,000"),
        ("rounds", 100_000_000, "1 to 1,000"),
        ("rounds", True, "1 to 1,000"),
    ],
)
def test_numbers_have_the_limits_of_a_file(option: str, value: int, limit: str) -> None:
    with pytest.raises(InputError) as caught:
        apply(load(GOOD), registry=REGISTRY, **{option: value})  # type: ignore[arg-type]
    assert option in caught.value.message
    assert limit in (caught.value.expected or "")
    assert caught.value.found == repr(value)


def test_options_cannot_make_more_cells_or_blocks_than_a_file() -> None:
    with pytest.raises(InputError, match="too many cells"):
        apply(load(GOOD), registry=REGISTRY, n=range(2, 7000))
    with pytest.raises(InputError, match="too many blocks"):
        apply(load(GOOD), registry=REGISTRY, n=range(2, 2000), rounds=1000)
