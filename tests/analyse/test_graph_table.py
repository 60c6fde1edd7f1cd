from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.analyse.graph_table import graph_table
from daskperf_tasks.analyse.summarise import summaries
from daskperf_tasks.collect.task_stream import RepeatRows, TaskRow, concat, task_table
from daskperf_tasks.model.block import BlockResult, Failure
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.graph import GraphFacts, GraphTable
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import PlannedCell
from tests.analyse.synthetic_run import block, cell, failure, plan, planned, sample

TREE = GraphFacts(form="low-level", tasks=3, arcs=2, longest_path=1)
WIDE = GraphFacts(form="optimized", tasks=2, arcs=1, longest_path=1)


def measured(p: PlannedCell, graph: Any = TREE, **more: Any) -> BlockResult:
    rows = [sample(0.003 * (i + 1), tasks=3, repeat=i) for i in range(3)]
    return replace(block(p, rows, **more), graph=graph)


def stream(
    p: PlannedCell,
    sizes: Sequence[int | None] = (1024, 2048, 0),
    *,
    phases: Sequence[Any] = ("warmup", "measure", "measure"),
    arm: Any = "subject",
    milliseconds: float = 2.0,
) -> pa.Table:
    def row(i: int, size: int | None, phase: str) -> TaskRow:
        took = milliseconds / 1e3 * (50 if phase == "warmup" else 1)
        spans = (("transfer", 1.0, 2.0), ("compute", 2.0, 2.0 + took))
        return TaskRow(
            key=f"t-{i}", name="t", worker="tcp://w", worker_name="w", thread=1,
            nbytes=None if size is None else size + 10**6 * (phase == "warmup"), spans=spans,
        )  # fmt: skip

    repeats = [
        RepeatRows(
            repeat=r, phase=phase, rows=tuple(row(i, size, phase) for i, size in enumerate(sizes))
        )
        for r, phase in enumerate(phases)
    ]
    return task_table(repeats, cell_id=p.cell_id, arm=arm, round_index=0, attempt=1)


def table_of(
    cells: Sequence[PlannedCell], blocks: Sequence[BlockResult], streams: Any = None
) -> GraphTable:
    p = plan(cells)
    both = summaries(p, blocks, None, None)
    made = graph_table(p, blocks, both, streams or {})
    assert loads(dumps(made), GraphTable) == made
    return made


def test_equal_graphs_share_a_row_and_each_cell_has_its_own_figures() -> None:
    local, remote, threads = (planned(cell(e, "tree")) for e in ("local", "remote", "threads"))
    streams = {
        local.cell_id: stream(local),
        remote.cell_id: stream(remote, (None, 3072, None), milliseconds=4.0),
        threads.cell_id: stream(threads, (None, None, None)),
    }
    made = table_of(
        [local, remote, threads], [measured(c) for c in (local, remote, threads)], streams
    )
    (row,) = made.rows
    assert (row.label, row.graph) == ("tree n=128", TREE)
    assert [c.where for c in row.cells] == ["local", "remote", "threads"]
    assert [c.mean_output_kib for c in row.cells[:2]] == [1.0, 3.0]
    assert isinstance(row.cells[2].mean_output_kib, Missing)
    assert "single-machine" in row.cells[2].mean_output_kib.missing
    assert [c.mean_task_ms for c in row.cells] == pytest.approx([2.0, 4.0, 2.0])
    for c in row.cells:
        assert not isinstance(c.aot_us, Missing)
        assert c.aot_us.value == pytest.approx(2000.0)  # median makespan 6 ms, 3 tasks
    assert made.findings == ()


def test_another_form_or_count_is_a_row_of_its_own() -> None:
    local, remote = planned(cell("local", "join")), planned(cell("remote", "join"))
    made = table_of([local, remote], [measured(local), measured(remote, WIDE)])
    assert [(r.graph, [c.where for c in r.cells]) for r in made.rows] == [
        (TREE, ["local"]),
        (WIDE, ["remote"]),
    ]
    assert made.findings == ()


def test_cells_that_differ_in_workers_share_their_graph() -> None:
    cells = [planned(replace(cell("local", "tree"), workers=w)) for w in (None, 1, 2)]
    made = table_of(cells, [measured(c) for c in cells])
    assert [c.where for r in made.rows for c in r.cells] == [
        "local", "local, workers=1", "local, workers=2",
    ]  # fmt: skip
    assert [r.label for r in made.rows] == ["tree n=128"]


def test_a_graph_that_changes_between_blocks_is_a_finding() -> None:
    p = planned(cell("local", "odd"))
    other = replace(TREE, arcs=5)
    blocks = [measured(p, g, round_=i) for i, g in enumerate((other, TREE, TREE))]
    made = table_of([p], blocks, {p.cell_id: stream(p)})
    assert made.rows[0].graph == TREE
    (told,) = made.findings
    assert "odd n=128 (local)" in told and "not the same in all 3 blocks" in told
    assert "2 with 3 tasks, 2 arcs and longest path 1 (low-level)" in told
    assert "1 with 3 tasks, 5 arcs" in told


def test_fewer_tasks_than_counted_are_a_finding_and_more_are_shown() -> None:
    p = planned(cell("local", "odd"))
    fewer = table_of([p], [measured(p)], {p.cell_id: stream(p, (1, 2))})
    assert "has 3 tasks and only 2 were seen to run in a repeat" in fewer.findings[0]
    assert fewer.rows[0].cells[0].keys_run == 2.0
    more = table_of([p], [measured(p)], {p.cell_id: stream(p, (1, 2, 3, 4, 5))})
    assert more.findings == () and more.rows[0].cells[0].keys_run == 5.0


def test_what_is_not_known_has_its_reason() -> None:
    never, failed, late = (planned(cell("local", w)) for w in ("never", "failed", "late"))
    blocks = [
        failure(failed),
        replace(measured(late), outcome=failure(late).outcome, samples=()),
    ]
    assert isinstance(blocks[1].outcome, Failure)
    made = table_of([never, failed, late], blocks)
    graphs = [r.graph for r in made.rows]
    assert graphs[0] == Missing(missing="no block of it was run")
    assert isinstance(graphs[1], Missing) and "before its graph" in graphs[1].missing
    assert graphs[2] == TREE  # counted before the block failed
    for row in made.rows:
        (c,) = row.cells
        for value in (c.keys_run, c.mean_output_kib, c.mean_task_ms, c.aot_us):
            assert isinstance(value, Missing) and value.missing


def test_only_measured_repeats_of_tonights_wheel_count() -> None:
    p = planned(cell("remote", "tree"))
    both = concat([stream(p), stream(p, (10**9,) * 3, arm="reference", milliseconds=500.0)])
    (row,) = table_of([p], [measured(p)], {p.cell_id: both}).rows
    assert row.cells[0].mean_output_kib == 1.0
    assert row.cells[0].mean_task_ms == pytest.approx(2.0)
    only = stream(p, phases=("warmup",))
    (row,) = table_of([p], [measured(p)], {p.cell_id: only}).rows
    assert isinstance(row.cells[0].mean_task_ms, Missing)


@given(
    sizes=st.lists(st.none() | st.integers(0, 2**40), min_size=1, max_size=20),
    repeats=st.integers(1, 4),
)
def test_means_are_those_of_the_rows(sizes: list[int | None], repeats: int) -> None:
    p = planned(cell("remote", "any"))
    own = stream(p, sizes, phases=("measure",) * repeats)
    graph = replace(TREE, tasks=len(sizes))
    made = table_of([p], [measured(p, graph)], {p.cell_id: own})
    found = made.rows[0].cells[0].mean_output_kib
    known = [s for s in sizes if s is not None]
    if known:
        assert found == pytest.approx(float(np.mean(known)) / 1024)
    else:
        assert isinstance(found, Missing)
    assert made.findings == ()
