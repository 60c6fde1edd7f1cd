from __future__ import annotations

from typing import Any

import pytest

from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite.bag import BAG
from daskperf_tasks.workloads.suite.groupby import GROUPBY
from daskperf_tasks.workloads.suite.join import JOIN
from daskperf_tasks.workloads.suite.merge import MERGE
from daskperf_tasks.workloads.suite.merge_slow import MERGE_SLOW
from daskperf_tasks.workloads.suite.numpy_transpose import NUMPY
from daskperf_tasks.workloads.suite.paper import TABLE_I, PaperRow
from daskperf_tasks.workloads.suite.tree import TREE
from daskperf_tasks.workloads.suite.vectorizer import VECTORIZER
from daskperf_tasks.workloads.suite.wordbag import WORDBAG
from daskperf_tasks.workloads.suite.xarray_grid import XARRAY

WORKLOADS: dict[str, Workload] = {
    w.name: w
    for w in (
        *(MERGE, MERGE_SLOW, TREE, BAG, NUMPY),
        *(XARRAY, GROUPBY, JOIN, VECTORIZER, WORDBAG),
    )
}


def test_every_family_is_there_and_no_row_twice() -> None:
    assert {row.workload for row in TABLE_I} == set(WORKLOADS)
    assert len({row.name for row in TABLE_I}) == len(TABLE_I)


@pytest.mark.parametrize("row", TABLE_I, ids=lambda row: row.name)
def test_a_row_s_parameters_are_those_of_its_workload(row: PaperRow) -> None:
    workload: Any = WORKLOADS[row.workload]
    for name, value in row.params.items():
        assert workload.params[name].check(value) == value
    if row.workload != "tree":
        low_level = {"graph": "low-level"} if "graph" in workload.params else {}
        assert workload.own_units(dict(row.params) | low_level) >= row.tasks - 1 or (
            row.workload in ("vectorizer", "wordbag")
        )


def test_a_row_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TABLE_I[0].params["n"] = 1  # type: ignore[index]


def test_trees_and_merges_follow_their_rule() -> None:
    for row in TABLE_I:
        if row.workload.startswith("merge"):
            n = int(row.params["n"])
            assert (row.tasks, row.arcs, row.longest_path) == (n + 1, n, 1)
        if row.workload == "tree":
            e = int(row.params["e"])
            assert (row.tasks, row.arcs, row.longest_path) == (2**e - 1, 2**e - 2, e - 1)
