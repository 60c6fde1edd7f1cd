from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from daskperf_tasks import errors
from daskperf_tasks.store import protocol


def _tree(cls: type[errors.DaskperfError]) -> Iterator[type[errors.DaskperfError]]:
    yield cls
    for sub in cls.__subclasses__():
        yield from _tree(sub)


KINDS = [
    c for c in _tree(errors.DaskperfError) if c.__module__ in (errors.__name__, protocol.__name__)
]


@pytest.mark.parametrize("cls", KINDS, ids=lambda c: c.__name__)
def test_an_error_crosses_processes_with_all_its_fields(cls: type[errors.DaskperfError]) -> None:
    error = cls("it broke", where="lane-a", expected="4", found="3", todo="look")
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(back) is cls
        assert (back.message, back.where, back.expected, back.found, back.todo) == (
            "it broke",
            "lane-a",
            "4",
            "3",
            "look",
        )
        assert str(back) == str(error)


@pytest.mark.parametrize("cls", KINDS, ids=lambda c: c.__name__)
def test_an_error_knows_whose_fault_it_is(cls: type[errors.DaskperfError]) -> None:
    assert cls.kind in ("input", "infra", "product", "harness")
    # 130 is what a shell says of a command that Ctrl-C ended.
    assert cls.exit_code in (1, 2, 3) or (cls, cls.exit_code) == (errors.Interrupted, 130)


def test_the_text_says_what_where_expected_found_and_what_to_do() -> None:
    error = errors.StoreError("no answer", where="s3://b", expected="200", found="503", todo="wait")
    assert str(error).splitlines() == [
        "no answer",
        "  where: s3://b",
        "  expected: 200",
        "  found: 503",
        "  what to do: wait",
    ]
    assert str(errors.StoreError("no answer")) == "no answer"
