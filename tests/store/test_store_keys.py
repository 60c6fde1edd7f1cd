from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import InputError
from daskperf_tasks.store import keys

RUN = "20261130T010203Z-616263"
CELL = "w/v1;env=local;sched=ws"


def test_the_layout_is_a_contract() -> None:
    assert keys.run_prefix(RUN) == f"profiles/{RUN}/"
    assert keys.run_key(RUN, "local", "summary.json") == f"profiles/{RUN}/local/summary.json"
    stem = "w-v1_env-local_sched-ws-599aa644"
    assert keys.block_file(RUN, CELL, "subject", 0, 1) == (
        f"profiles/{RUN}/blocks/{stem}/subject-r0-a1.json"
    )
    assert keys.stream_file(RUN, CELL, "reference", 2, 3) == (
        f"profiles/{RUN}/streams/{stem}/reference-r2-a3.parquet"
    )
    assert keys.wheel_file("ab" * 32, "x-1-py3-none-any.whl") == (
        f"wheels/{'ab' * 32}/x-1-py3-none-any.whl"
    )
    assert keys.history_file(RUN) == f"history/{RUN}.parquet"
    assert keys.published_file(RUN) == f"published/{RUN}.json"


@pytest.mark.parametrize(
    ("key", "run_id"),
    [
        (keys.run_key(RUN, "plan.json"), RUN),
        (keys.block_file(RUN, CELL, "subject", 0, 1), RUN),
        (keys.history_file(RUN), RUN),
        (keys.published_file(RUN), RUN),
        ("profiles/somebody/plan.json", None),
        ("history/notes.txt", None),
        (f"elsewhere/{RUN}/plan.json", None),
        ("", None),
    ],
)
def test_a_key_tells_its_run(key: str, run_id: str | None) -> None:
    assert keys.parse_run_id_of(key) == run_id


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a//b",
        "a/",
        "a/.",
        "a/.hidden",
        ".part",
        "a\\b",
        "a\nb",
        "a\0b",
        "x" * 201,
        "/".join(["x" * 100] * 9),
    ],
)
def test_keys_that_would_leave_the_store_or_break_one_are_refused(key: str) -> None:
    with pytest.raises(InputError, match="not a valid key"):
        keys.check_key(key)


@given(st.text())
def test_an_allowed_key_stays_below_the_root(key: str) -> None:
    try:
        keys.check_key(key)
    except InputError:
        return
    assert not key.startswith("/")
    assert ".." not in key.split("/")


@pytest.mark.parametrize("run_id", ["", "..", "../../etc", "latest", f"{RUN}/x", f"{RUN}\n"])
def test_no_key_is_made_of_what_is_no_run_id(run_id: str) -> None:
    for make in (keys.run_prefix, keys.run_key, keys.history_file, keys.published_file):
        with pytest.raises(InputError, match="not a run id"):
            make(run_id)


@pytest.mark.parametrize("sha256", ["", "ab", "AB" * 32, "../" + "a" * 61])
def test_a_wheel_lies_under_a_sha256(sha256: str) -> None:
    with pytest.raises(InputError, match="not a sha256"):
        keys.wheel_file(sha256, "x-1-py3-none-any.whl")


@pytest.mark.parametrize("prefix", ["/", "../", "a/../", "a//"])
def test_a_prefix_must_not_leave_the_store_either(prefix: str) -> None:
    with pytest.raises(InputError):
        keys.check_prefix(prefix)
