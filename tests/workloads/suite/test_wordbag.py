from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload, libraries_of
from daskperf_tasks.workloads.suite.wordbag import WORDBAG, bag_of_words
from tests.workloads.suite.frames_and_texts import check, compute, shape

SMALL = {"n": 20, "p": 4, "words": 40}


def test_it_is_a_workload() -> None:
    assert isinstance(WORDBAG, Workload)
    assert libraries_of(WORDBAG) == ("sklearn",)
    assert WORDBAG.own_units({"n": 77}) == 77
    assert WORDBAG.unit_cost_s({}) > 0


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
def test_bags_equal_plain_python(params: dict[str, Any], seed: int) -> None:
    results = compute(WORDBAG, params, seed)
    assert len(results) == params["p"]
    checked = check(WORDBAG, results, params, seed)
    assert checked.right_units == params["n"]
    assert ("the others hold" in checked.text) == (params["n"] > 1000)


def test_texts_are_normalised_before_they_are_counted() -> None:
    bags = bag_of_words(["Ba, ba! 42 KO", "ba ba ko"], 2**18)
    assert (bags[0] != bags[1]).nnz == 0
    assert sorted(bags[0].data) == [1.0, 2.0]


def test_wrong_bags_are_refused() -> None:
    (title, body), *others = compute(WORDBAG, SMALL, 3)

    def tried(*results: Any) -> None:
        check(WORDBAG, results, SMALL, 3)

    tried((title, body), *others)
    with pytest.raises(CorrectnessError, match="missing or one too many"):
        tried(*others)
    for wrong in (
        None,
        (title,),
        (title, None),
        (body, title),
        (title, replace(body, rows=4)),
        (replace(title, squares=4.5), body),
        (title, replace(body, weighed=-1.0)),
    ):
        with pytest.raises(CorrectnessError, match="documents can have this result"):
            tried(wrong, *others)
    for wrong in (others[0], (title, replace(body, weighed=body.weighed + 1e-5))):
        with pytest.raises(CorrectnessError, match="differ from bags counted"):
            tried(wrong, *others)
    with pytest.raises(CorrectnessError):
        check(WORDBAG, ((title, body), *others), SMALL, 4)


def test_the_graph_is_that_of_the_paper() -> None:
    assert shape(WORDBAG, {"n": 100_000, "p": 50}) == (250, 200, 2)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="more partitions than documents"):
        WORDBAG.own_units({"n": 3})
    for name, value in (("n", 0), ("p", 0), ("words", 1), ("features", 2**31), ("p", "2")):
        with pytest.raises(ValueError, match=r"below|above|not of type"):
            WORDBAG.params[name].check(value)
