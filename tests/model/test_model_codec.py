from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daskperf_tasks.errors import SchemaError
from daskperf_tasks.model import codec
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import Stored, canonical_hash, dumps, encode, loads
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from tests import sample_documents as documents
from tests.model.stored_classes import STORED

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))


def any_of(cls: type) -> st.SearchStrategy[Any]:
    """Objects of a class, its fields with defaults included."""
    return st.builds(cls, **{f.name: ... for f in dataclasses.fields(cls)})


@pytest.mark.parametrize("cls", STORED, ids=lambda c: c.SCHEMA)
def test_whatever_is_written_is_read_back_equal(cls: type[Stored]) -> None:
    @settings(
        max_examples=15,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(any_of(cls))
    def round_trip(value: Stored) -> None:
        assert loads(dumps(value), cls) == value

    round_trip()


@pytest.mark.parametrize("metrics", [{}, {"missing": 0.5}, {"a/b/c": 1.5}, Missing(missing="why")])
def test_a_mapping_and_a_reason_in_its_place_are_told_apart(metrics: Any) -> None:
    block = dataclasses.replace(documents.block(), fine_metrics=metrics)
    assert loads(dumps(block), BlockResult).fine_metrics == metrics


@pytest.mark.parametrize("value", [True, 1, 0, 1.0, 0.5, "1", "true", -7, 1e300])
def test_a_scalar_keeps_its_type(value: Any) -> None:
    plan = documents.plan()
    cell = dataclasses.replace(plan.cells[0].cell, params=(("x", value),))
    planned = dataclasses.replace(plan.cells[0], cell=cell)
    back = loads(dumps(dataclasses.replace(plan, cells=(planned,))), Plan)
    (found,) = (v for _, v in back.cells[0].cell.params)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(SchemaError, match="not finite"):
        encode({"x": [value]})


def test_a_type_without_a_spelling_is_refused() -> None:
    with pytest.raises(SchemaError, match="cannot be stored") as caught:
        encode({"x": {1, 2}})
    assert caught.value.found == "set"


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(dumps(documents.plan())), **fields})


def test_a_newer_version_says_what_to_do() -> None:
    with pytest.raises(SchemaError, match="written by a newer daskperf") as caught:
        loads(changed(version=Plan.VERSION + 1), Plan, where="profiles/x/plan.json")
    assert caught.value.where == "profiles/x/plan.json"
    assert caught.value.found == f"version {Plan.VERSION + 1}"
    assert "upgrade daskperf" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON document"),
        ('{"schema": "daskperf.plan", "version": 1', "no JSON document"),
        ("[]", "another kind"),
        (changed(schema="daskperf.block"), "another kind"),
        (changed(version=0), "no valid version"),
        (changed(version="1"), "no valid version"),
        (changed(version=True), "no valid version"),
        (changed(surprise=1), "unknown field in Plan"),
        (changed(seed="7"), "does not fit its schema"),
        (changed(seed=True), "does not fit its schema"),
        (changed(arms=["somebody"]), "does not fit its schema"),
        (changed(rounds={}), "does not fit its schema"),
        (changed(cells=[None]), "does not fit its schema"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        loads(text, Plan)


def test_an_error_names_the_place_inside_the_document() -> None:
    document = json.loads(dumps(documents.plan()))
    document["cells"][1]["request"]["warmup"]["min_repeats"] = "two"
    with pytest.raises(SchemaError) as caught:
        loads(json.dumps(document), Plan, where="plan.json")
    assert caught.value.where == "plan.json.cells[1].request.warmup.min_repeats"
    assert caught.value.expected == "int"
    assert caught.value.found == "'two'"


def test_a_missing_field_is_named() -> None:
    document = json.loads(dumps(documents.plan()))
    del document["seed"]
    with pytest.raises(SchemaError, match="a field of Plan is missing") as caught:
        loads(json.dumps(document), Plan)
    assert caught.value.expected == "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown(Stored):
    SCHEMA: ClassVar[str] = "tests.grown"
    VERSION: ClassVar[int] = 3

    length_m: float
    colour: str


def test_old_versions_climb_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_UPGRADES", {})

    @codec.register_upgrade("tests.grown", 1)
    def to_2(doc: codec.Document) -> codec.Document:
        return {"length_m": doc["length_cm"] / 100}

    @codec.register_upgrade("tests.grown", 2)
    def to_3(doc: codec.Document) -> codec.Document:
        return {**doc, "colour": "unknown"}

    old = '{"schema": "tests.grown", "version": 1, "length_cm": 250}'
    assert loads(old, Grown) == Grown(length_m=2.5, colour="unknown")
    middle = '{"schema": "tests.grown", "version": 2, "length_m": 1}'
    assert loads(middle, Grown) == Grown(length_m=1.0, colour="unknown")


def test_a_version_without_a_step_is_our_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_UPGRADES", {})
    with pytest.raises(SchemaError, match="no upgrade step from version 1") as caught:
        loads('{"schema": "tests.grown", "version": 1}', Grown)
    assert "defect of daskperf" in str(caught.value)


def test_the_hash_of_a_request_is_a_contract() -> None:
    request = documents.planned("local").request
    assert request.hash == documents.planned("remote").request.hash
    assert request.hash == "1c62ef7b77a114cbe727e42177780e0e0ee6cfe01a608b2971076a490f8c7a6a"
    assert dataclasses.replace(request, seed=8).hash != request.hash


def test_the_canonical_hash_does_not_depend_on_order() -> None:
    assert canonical_hash({"a": 1, "b": (2, 3)}) == canonical_hash({"b": [2, 3], "a": 1})
    assert canonical_hash({"a": 1}) != canonical_hash({"a": 1.0})
