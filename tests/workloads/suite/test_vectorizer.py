from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload, libraries_of
from daskperf_tasks.workloads.suite.corpus import Digest
from daskperf_tasks.workloads.suite.vectorizer import VECTORIZER, hashed_rows
from tests.workloads.suite.frames_and_texts import check, compute, shape

SMALL = {"n": 20, "p": 4, "words": 40}


def test_it_is_a_workload() -> None:
    assert isinstance(VECTORIZER, Workload)
    assert libraries_of(VECTORIZER) == ("sklearn",)
    assert VECTORIZER.own_units({"n": 77}) == 77
    assert VECTORIZER.unit_cost_s({}) > 0


@pytest.mark.parametrize("seed", [0, 1, 10**15 - 1])
@pytest.mark.parametrize(
    "params",
    [
        SMALL,
        {"n": 1, "p": 1},
        {"n": 7, "p": 7, "words": 2},
        {"n": 40, "p": 3, "words": 2, "features": 16},
        {"n": 1300, "p": 13, "words": 30},
    ],
)
def test_rows_equal_plain_python(params: dict[str, Any], seed: int) -> None:
    results = compute(VECTORIZER, params, seed)
    assert len(results) == params["p"]
    checked = check(VECTORIZER, results, params, seed)
    assert checked.right_units == params["n"]
    assert ("the others hold" in checked.text) == (params["n"] > 1000)


def test_the_partitions_change_no_document() -> None:
    one = compute(VECTORIZER, SMALL | {"p": 1}, 5)
    four = compute(VECTORIZER, SMALL, 5)
    assert sum(part.entries for part in four) == one[0].entries
    assert sum(part.weighed for part in four) == pytest.approx(one[0].weighed, abs=1e-9)


def test_the_tasks_make_sparse_matrices() -> None:
    matrix = hashed_rows(1, 0, 5, 40, 2**25)
    assert matrix.shape == (5, 2**25)
    assert matrix.format == "csr"


def test_wrong_rows_are_refused() -> None:
    first, *others = compute(VECTORIZER, SMALL, 3)

    def tried(*results: Any) -> None:
        check(VECTORIZER, results, SMALL, 3)

    tried(first, *others)
    with pytest.raises(CorrectnessError, match="missing or one too many"):
        tried(*others)
    for wrong in (
        None,
        replace(first, rows=4),
        replace(first, entries=10**6),
        replace(first, squares=first.squares + 0.5),
        replace(first, squares=float("nan")),
        replace(first, squares=float("inf")),
    ):
        with pytest.raises(CorrectnessError, match="documents can have this result"):
            tried(wrong, *others)
    for wrong in (others[0], replace(first, weighed=first.weighed + 1e-5)):
        with pytest.raises(CorrectnessError, match="counted and hashed in plain Python"):
            tried(wrong, *others)
    with pytest.raises(CorrectnessError):
        check(VECTORIZER, (first, *others), SMALL, 4)


def test_partitions_that_are_not_counted_again_must_still_be_possible() -> None:
    params = {"n": 1300, "p": 13, "words": 30}
    results = list(compute(VECTORIZER, params, 0))
    results[12] = Digest(rows=100, entries=2000, squares=99.5, weighed=0.0)
    with pytest.raises(CorrectnessError, match="partition 12"):
        check(VECTORIZER, tuple(results), params, 0)


def test_the_graph_is_the_paper_s_with_a_digest_for_every_matrix() -> None:
    assert shape(VECTORIZER, {"n": 1_000_000, "p": 300}) == (600, 300, 1)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="more partitions than documents"):
        VECTORIZER.own_units({"n": 3})
    for name, value in (("n", 0), ("p", 0), ("words", 1), ("features", 2**31), ("n", 1.5)):
        with pytest.raises(ValueError, match=r"below|above|not of type"):
            VECTORIZER.params[name].check(value)
