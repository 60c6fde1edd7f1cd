from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.shuffle import (
    SHUFFLE,
    partition_sums,
    row_bytes,
    some_rows,
    total_sums,
)
from tests.workloads.patterns.environments import (
    Compute,
    check,
    environment,
    facts,
    on_threads,
)

SMALL = {"rows": 600, "partitions": 4, "keys": 50, "columns": 2}


@pytest.fixture(scope="module", params=["threads", "processes"])
def machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Compute]:
    with environment(request.param, tmp_path_factory.mktemp(request.param)) as compute:
        yield compute


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compute]:
    with environment("cluster", tmp_path_factory.mktemp("shuffle")) as compute:
        yield compute


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
@pytest.mark.parametrize("method", ["default", "tasks", "disk"])
def test_right_on_one_machine(machine: Compute, method: str, graph: str) -> None:
    params = SMALL | {"method": method, "graph": graph}
    assert "in one partition" in check(SHUFFLE, machine(SHUFFLE, params, 9), params, 9)


@pytest.mark.parametrize(
    ("method", "graph"),
    [
        ("default", "optimized"),
        ("default", "low-level"),
        ("tasks", "optimized"),
        ("tasks", "low-level"),
        ("p2p", "optimized"),
    ],
)
def test_right_in_a_cluster(cluster: Compute, method: str, graph: str) -> None:
    params = SMALL | {"method": method, "graph": graph}
    for seed in (0, 9):
        check(SHUFFLE, cluster(SHUFFLE, params, seed), params, seed)


@pytest.mark.parametrize(
    ("method", "graph", "says"),
    [("disk", "optimized", "on one disk"), ("p2p", "low-level", "do not fit together")],
)
def test_what_a_cluster_cannot_do(cluster: Compute, method: str, graph: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        cluster(SHUFFLE, SMALL | {"method": method, "graph": graph}, 0)


@pytest.mark.parametrize("graph", ["optimized", "low-level"])
def test_peer_to_peer_needs_a_cluster(graph: str) -> None:
    with pytest.raises(InputError, match="shuffle: method 'p2p' needs a cluster"):
        SHUFFLE.build(SMALL | {"method": "p2p", "graph": graph}, units=1, seed=0)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 6),
    st.integers(0, 200),
    st.integers(1, 300),
    st.integers(0, 12),
    st.integers(0, 10**15 - 1),
)
def test_all_sizes(partitions: int, more: int, keys: int, columns: int, seed: int) -> None:
    params: dict[str, Any] = {"rows": partitions + more, "partitions": partitions, "keys": keys}
    params |= {"columns": columns, "method": "tasks"}
    check(SHUFFLE, on_threads(SHUFFLE, params, seed), params, seed)


def test_the_result_depends_on_the_seed_and_not_on_partitions_or_method() -> None:
    def sums(seed: int, **more: Any) -> list[int]:
        (frame,) = on_threads(SHUFFLE, SMALL | {"method": "tasks"} | more, seed)
        return [int(v) for v in frame.iloc[0]]

    assert sums(1) == sums(1, partitions=7) == sums(1, method="disk") != sums(2)


def rows(keys: int = 50) -> pd.DataFrame:
    parts = [some_rows(p, 4, 600, keys, 2, 9) for p in range(4)]
    return pd.concat(parts)


def total(*parts: pd.DataFrame) -> tuple[pd.DataFrame]:
    return (total_sums(pd.concat([partition_sums(part) for part in parts])),)


def test_rows_that_were_not_shuffled_right_are_refused() -> None:
    whole = rows()
    even, odd = whole[whole["key"] % 2 == 0], whole[whole["key"] % 2 == 1]
    check(SHUFFLE, total(even, odd), SMALL, 9)
    check(SHUFFLE, total(odd.sample(frac=1, random_state=0), even), SMALL, 9)
    changed = even.copy()
    changed.iloc[3, 1] += 1
    exchanged = even.copy()
    exchanged[["v0", "v1"]] = exchanged[["v1", "v0"]].to_numpy()
    for name, parts in {
        "keys in two partitions": (whole[:300], whole[300:]),
        "one row in another partition": (pd.concat([even, odd[:1]]), odd[1:]),
        "a row lost": (even[1:], odd),
        "a row doubled": (pd.concat([even, even[:1]]), odd),
        "one lost, another doubled": (pd.concat([even[1:], even[-1:]]), odd),
        "a value changed": (changed, odd),
        "columns exchanged": (exchanged, odd),
    }.items():
        with pytest.raises(CorrectnessError, match="differs from its reference"):
            check(SHUFFLE, total(*parts), SMALL, 9)
            pytest.fail(name)


def test_other_results_are_refused() -> None:
    results = on_threads(SHUFFLE, SMALL, 9)
    check(SHUFFLE, results, SMALL, 9)
    renamed = results[0].rename(columns={"keys": "k"})
    for wrong in ((), (None,), (*results, *results), (renamed,), (results[0] + 1,), (7,)):
        with pytest.raises(CorrectnessError):
            check(SHUFFLE, wrong, SMALL, 9)
    with pytest.raises(CorrectnessError):
        check(SHUFFLE, results, SMALL, 8)
    with pytest.raises(CorrectnessError, match="another number of units"):
        SHUFFLE.check(results, SMALL, units=4, seed=9)


def test_a_shuffle_by_tasks_moves_every_partition_into_every_other() -> None:
    params = {"rows": 100, "partitions": 5, "method": "tasks"}
    low, optimized = (facts(SHUFFLE, params | {"graph": g}) for g in ("low-level", "optimized"))
    assert low.tasks >= optimized.tasks > 25
    assert (low.form, optimized.form) == ("low-level", "optimized")


def test_rows_are_as_wide_as_said() -> None:
    frame = some_rows(0, 1, 100, 10, 3, 0)
    assert frame.memory_usage(index=False).sum() == 100 * row_bytes({"columns": 3})
    assert frame["key"].between(0, 9).all()
    assert len(np.unique(frame["v0"])) == 100
    assert list(some_rows(2, 3, 100, 10, 3, 0)["v2"]) == list(frame["v2"])[66:]


@pytest.mark.parametrize(
    ("name", "value"),
    [("rows", 0), ("partitions", 0), ("keys", 0), ("columns", -1), ("method", "mail")],
)
def test_parameters_out_of_their_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError):
        SHUFFLE.params[name].check(value)


def test_fewer_rows_than_partitions_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit together"):
        SHUFFLE.own_units({"rows": 3, "partitions": 4})
