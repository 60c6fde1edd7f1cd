from __future__ import annotations

from typing import Any

import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite.bag import BAG
from daskperf_tasks.workloads.suite.people import AGES, some_people
from tests.workloads.suite.frames_and_texts import check, compute, facts

FORMS = ["optimized", "low-level"]


def by_pairs(n: int, seed: int) -> int:
    """The same question pair by pair."""
    older = [person for person in some_people(seed, 0, n) if person["age"] > 30]
    return sum(len("".join(y["name"])) for x in older for y in older if x["age"] > y["age"])


def test_it_is_a_workload() -> None:
    assert isinstance(BAG, Workload)
    assert BAG.own_units({}) == 1000**2
    assert BAG.unit_cost_s({}) > 0


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("seed", [0, 1, 10**15 - 1])
@pytest.mark.parametrize(("n", "p"), [(2, 2), (3, 2), (40, 2), (40, 7), (41, 10)])
def test_both_forms_give_what_all_pairs_give(graph: str, seed: int, n: int, p: int) -> None:
    params = {"n": n, "p": p, "graph": graph}
    results = compute(BAG, params, seed)
    assert results == (by_pairs(n, seed),)
    assert check(BAG, results, params, seed).right_units == n * n


def test_a_wrong_number_is_refused() -> None:
    params = {"n": 40, "p": 4}
    (right,) = compute(BAG, params, 3)
    check(BAG, (right,), params, 3)
    for wrong in ((right + 1,), (float(right),), (), (right, right), (None,)):
        with pytest.raises(CorrectnessError, match="letters is wrong"):
            check(BAG, wrong, params, 3)
    with pytest.raises(CorrectnessError):
        check(BAG, (right,), params, 4)


def test_people_do_not_depend_on_their_partition() -> None:
    whole = some_people(5, 0, 30)
    assert whole == some_people(5, 0, 7) + some_people(5, 7, 30)
    assert whole[:5] != some_people(6, 0, 5)
    assert some_people(5, 3, 3) == []


def test_people_are_of_all_ages_and_have_all_fields() -> None:
    people = some_people(0, 0, 3000)
    assert {person["age"] for person in people} == set(range(AGES[0], AGES[1] + 1))
    fields = {"name", "age", "occupation", "telephone", "address", "credit-card"}
    assert all(set(person) == fields for person in people)
    assert len({person["name"] for person in people}) > 2500
    assert len({person["credit-card"]["number"] for person in people}) == 3000
    assert len({person["occupation"] for person in people}) == 16


@pytest.mark.parametrize(("p", "paper"), [(10, 236), (50, 5_458)])
def test_the_graphs_beside_the_paper_s(p: int, paper: int) -> None:
    def tasks(graph: str) -> int:
        return facts(BAG, {"n": 25_000, "p": p, "graph": graph}).tasks

    # The set order decides which of the p partitions are fused with their filter.
    assert paper - p * p - p <= tasks("optimized") <= paper - p * p
    assert tasks("low-level") == {10: 536, 50: 12_959}[p]


def test_more_partitions_than_people_are_refused() -> None:
    for ask in (BAG.own_units, lambda params: BAG.build(params, units=1, seed=0)):
        with pytest.raises(InputError, match="more partitions than people"):
            ask({"n": 9, "p": 10})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("n", 1), ("n", 10**6), ("n", True), ("p", 1), ("p", 401), ("p", 2.0), ("graph", "")],
)
def test_bad_parameters_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"below|above|type|none of"):
        BAG.params[name].check(wrong)
