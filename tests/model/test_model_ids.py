"""The spelling of ids, held by literals: moving a character starts new series."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import (
    ENVIRONMENTS,
    Cell,
    block_key,
    check_name,
    check_value,
    counterpart_of,
    new_run_id,
    parse_cell_id,
    run_time,
    scheduler_of,
    side_of,
    slug,
)

SPELLINGS = {
    "aggregates/v1;n=128;env=local;sched=ws": ("aggregates", 1, (("n", 128),), "local"),
    "aggregates/v1;n=256;env=remote;sched=ws": ("aggregates", 1, (("n", 256),), "remote"),
    "integrate/v2;implementation=cython;steps=1000;env=threads;sched=none": (
        "integrate",
        2,
        (("steps", 1000), ("implementation", "cython")),
        "threads",
    ),
    "integrate/v1;implementation=python;env=processes;sched=none": (
        "integrate",
        1,
        (("implementation", "python"),),
        "processes",
    ),
    "w/v1;deep=true;share=0.5;env=remote-threads;sched=ws": (
        "w",
        1,
        (("deep", True), ("share", 0.5)),
        "remote-threads",
    ),
    "w/v1;env=remote-processes;sched=ws": ("w", 1, (), "remote-processes"),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_cell_ids_are_spelled_so(text: str) -> None:
    workload, version, params, env = SPELLINGS[text]
    cell = Cell(workload=workload, version=version, params=params, env=env, sched=scheduler_of(env))
    assert cell.id == text


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (
            "aggregates/v1;n=128;env=remote;sched=ws",
            "aggregates-v1_n-128_env-remote_sched-ws-8fb41ee1",
        ),
        (
            "integrate/v1;implementation=python;env=processes;sched=none",
            "integrate-v1_implementation-python_env-processes_sched-none-05a77d03",
        ),
    ],
)
def test_slugs_are_spelled_so(text: str, file: str) -> None:
    assert slug(text) == file


def test_block_keys_are_spelled_so() -> None:
    key = block_key("20261130T010203Z-616263", "w/v1;env=local;sched=ws", "reference", 2, 3)
    assert key == "20261130T010203Z-616263|w/v1;env=local;sched=ws|reference|r2|a3"


def test_run_ids_are_spelled_so_in_any_time_zone() -> None:
    moment = datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC)
    assert new_run_id(moment, b"abc") == "20261130T010203Z-616263"
    assert new_run_id(moment.astimezone(timezone(timedelta(hours=5))), b"abcdef") == (
        "20261130T010203Z-616263"
    )
    assert run_time("20261130T010203Z-616263") == moment


@pytest.mark.parametrize(
    "text", ["", "latest", "20261130T010203Z", "20261130T010203Z-616263\n", "../x"]
)
def test_what_is_no_run_id_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a run id"):
        run_time(text)


@given(
    st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)).map(
        lambda t: t.replace(microsecond=0)
    ),
    st.binary(min_size=3, max_size=8),
)
def test_run_ids_tell_their_time_and_sort_by_it(moment: datetime, entropy: bytes) -> None:
    assert run_time(new_run_id(moment, entropy)) == moment
    if moment.year < 9999:
        assert new_run_id(moment, entropy) < new_run_id(moment + timedelta(seconds=1), b"\0\0\0")


_names = st.from_regex(r"^[a-z][a-z0-9_-]{0,12}\Z").filter(lambda n: n not in ("env", "sched"))
_values = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.from_regex(r"^[A-Za-z0-9_.+,-]{1,12}\Z"),
)
_cells = st.builds(
    lambda name, version, params, env: Cell(
        workload=name,
        version=version,
        params=tuple(sorted(params.items())),
        env=env,
        sched=scheduler_of(env),
    ),
    _names,
    st.integers(1, 99),
    st.dictionaries(_names, _values, max_size=4),
    st.sampled_from(ENVIRONMENTS),
)


@given(_cells)
def test_an_id_read_back_is_the_same_id(cell: Cell) -> None:
    back = parse_cell_id(cell.id)
    assert back.id == cell.id
    assert (back.workload, back.version, back.env, back.sched) == (
        cell.workload,
        cell.version,
        cell.env,
        cell.sched,
    )
    assert parse_cell_id(back.counterpart_id).counterpart_id == cell.id


@given(_cells, _cells)
def test_slugs_are_safe_file_names_and_distinct(one: Cell, other: Cell) -> None:
    name = slug(one.id)
    assert len(name) <= 100
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")
    assert not name.startswith(".")
    assert (slug(one.id) == slug(other.id)) == (one.id == other.id)


@pytest.mark.parametrize(
    "text", ["", "w", "w/v1", "w/vx;env=local;sched=ws", "w/v1;env=moon;sched=ws", "w/v1;a=1;b=2"]
)
def test_what_is_no_cell_id_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a cell id"):
        parse_cell_id(text)


def test_every_environment_has_a_counterpart_on_the_other_side() -> None:
    for env in ENVIRONMENTS:
        assert counterpart_of(counterpart_of(env)) == env
        assert {side_of(env), side_of(counterpart_of(env))} == {"local", "remote"}


@pytest.mark.parametrize("name", ["", "A", "1a", "a b", "a;b", "a=b", "a/b", "ä", "a" + "\n"])
def test_names_that_would_break_an_id_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a valid workload name"):
        check_name(name, "workload")


@pytest.mark.parametrize("value", ["", "a b", "a;b", "a=b", "a/b", "ü", "x\n"])
def test_values_that_would_break_an_id_are_refused(value: str) -> None:
    with pytest.raises(InputError, match="not a valid value of n"):
        check_value(value, "n")
