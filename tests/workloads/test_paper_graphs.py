"""The table of graphs in the documentation is what is built."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.paper_graphs import (
    BEGIN,
    END,
    FORMS,
    HASH_SEED,
    ONLY_OTHER,
    Line,
    line_of,
    paper_cell,
    read_table,
    spelled,
    table_md,
)
from daskperf_tasks.model.graph import GraphForm
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.workloads.graph_counter import GraphCounter
from daskperf_tasks.workloads.registry import load_registry
from daskperf_tasks.workloads.suite.paper import TABLE_I, PaperRow

DOCS = Path(__file__).parents[2] / "docs" / "workloads.md"
#: Graphs of fewer tasks are built again here.
CHEAP = 10_000


def documented() -> dict[str, Line]:
    return read_table(DOCS.read_text(encoding="utf-8"))


def is_cheap(row: PaperRow, form: GraphForm) -> bool:
    cell = documented()[row.name].cells[form]
    tasks = cell.partition(" / ")[0].replace(",", "")
    counted = int(tasks) if tasks.isdigit() else row.tasks
    return max(counted, row.tasks) < CHEAP


def test_every_graph_of_the_paper_is_in_the_table_in_both_forms() -> None:
    table = documented()
    assert list(table) == [row.name for row in TABLE_I]
    for row in TABLE_I:
        line = table[row.name]
        assert line.paper == paper_cell(row)
        # Where one form has no counts the other has.
        assert any(" / " in line.cells[form] for form in FORMS), row.name
        assert all(line.cells.values())


@pytest.fixture(scope="module")
def counter() -> Iterator[GraphCounter]:
    with GraphCounter(timeout_s=120.0, hash_seed=HASH_SEED) as made:
        yield made


@pytest.mark.parametrize("row", TABLE_I, ids=lambda row: row.name)
def test_cheap_graphs_are_as_documented(row: PaperRow, counter: GraphCounter) -> None:
    forms = [form for form in FORMS if is_cheap(row, form)]
    built = line_of(row, counter, load_registry(), forms)
    expected = documented()[row.name].cells
    assert dict(built.cells) == {form: expected[form] for form in forms}


def test_enough_of_the_graphs_are_cheap() -> None:
    cheap = {row.workload for row in TABLE_I if any(is_cheap(row, form) for form in FORMS)}
    # The paper's sizes of merge and tree are larger; other tests count small ones.
    assert cheap == {row.workload for row in TABLE_I} - {"merge", "tree"}


def test_a_table_is_read_as_it_was_written() -> None:
    lines = [
        Line(name="a-1", paper="2 / · / 1", cells={"low-level": "2 / 1 / 1", "optimized": "–"}),
        Line(name="b", paper="3 / 2 / 1", cells={"low-level": "3 / 2 / 1", "optimized": "no"}),
    ]
    text = f"# Before\n\n{BEGIN}\n{table_md(lines)}\n{END}\n\nafter | all"
    assert list(read_table(text).values()) == lines


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}"])
def test_a_table_that_is_not_there_is_not_passed_over(text: str) -> None:
    with pytest.raises(ValueError, match="table"):
        read_table(text)


def test_what_cannot_be_built_says_why_without_breaking_the_table() -> None:
    assert spelled(Missing(missing="int | None failed")) == "int / None failed"
    workloads = load_registry()
    merge = next(row for row in TABLE_I if row.workload == "merge")
    with GraphCounter(timeout_s=60.0) as counter:
        line = line_of(merge, counter, workloads, ["optimized"])
    assert line.cells["optimized"].startswith("not offered: at most ")
    words = next(row for row in TABLE_I if row.workload == "wordbag")
    with GraphCounter(timeout_s=60.0) as counter:
        line = line_of(words, counter, workloads)
    assert line.cells["optimized"] == ONLY_OTHER
