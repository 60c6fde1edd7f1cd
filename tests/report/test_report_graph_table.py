from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.graph import GraphCell, GraphFacts, GraphRow, GraphTable
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate
from daskperf_tasks.report.graph_table import FORMS, HEAD, LONG, graphs_of
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.notes import escaped, notes_md
from tests.analyse.synthetic_run import RUN
from tests.report import example_night as nights
from tests.report.test_report_documents import HOSTILE, Page

LOW = GraphFacts(form="low-level", tasks=32_767, arcs=32_766, longest_path=14)
FUSED = GraphFacts(form="optimized", tasks=91, arcs=120, longest_path=11)
NO_SIZES = Missing(missing="Dask's single-machine schedulers do not tell the size of results")


def one_cell(where: str = "remote", **more: object) -> GraphCell:
    made = GraphCell(
        cell_id=f"tree/v1;e=15;env={where};sched=ws",
        where=where,
        keys_run=33_000.0,
        mean_output_kib=0.027,
        mean_task_ms=0.0071,
        aot_us=Estimate(value=412.0, low=398.0, high=430.0, confidence=0.94, n=15),
    )
    return replace(made, **more)  # type: ignore[arg-type]


TREE = GraphRow(
    label="tree e=15",
    graph=LOW,
    cells=(one_cell(), one_cell("threads", mean_output_kib=NO_SIZES)),
)
JOIN = GraphRow(label="join days=1", graph=FUSED, cells=(one_cell("local"),))


def inputs_with(*rows: GraphRow, findings: tuple[str, ...] = ()) -> ReportInputs:
    table = GraphTable(run_id=RUN, rows=rows, findings=findings)
    return replace(nights.full_night(), graphs=table)


def test_both_documents_have_the_table_and_say_which_form() -> None:
    inputs = inputs_with(TREE, JOIN)
    page, notes = Page(report_html(inputs)), notes_md(inputs)
    for text in (page.text, notes):
        for word in ("Task graphs", "32,767", "32,766", "33,000", "0.0270", "0.00710", "412"):
            assert word in text, word
        assert FORMS["low-level"] in text and FORMS["optimized"] in text
        assert "do not tell the size of results" in text
    assert [r[:5] for r in graphs_of(inputs).rows()] == [
        ("tree e=15", "low-level", "32,767", "32,766", "14"),
        ("tree e=15", "low-level", "32,767", "32,766", "14"),
        ("join days=1", "optimized", "91", "120", "11"),
    ]
    assert all(len(row) == len(HEAD) for row in graphs_of(inputs).rows())
    assert f"| {' | '.join(HEAD)} |" in notes


def test_only_the_forms_that_occur_are_explained() -> None:
    assert graphs_of(inputs_with(JOIN)).forms == (FORMS["optimized"],)


def test_equal_graphs_have_one_head_in_the_report() -> None:
    page = Page(report_html(inputs_with(TREE)))
    spans = [a["rowspan"] for tag, a in page.tags if tag in ("th", "td") and "rowspan" in a]
    assert spans == ["2"] * 5


def test_a_long_table_is_closed() -> None:
    def opened(count: int) -> bool:
        cells = tuple(one_cell(f"w{i}") for i in range(count))
        text = report_html(inputs_with(replace(TREE, cells=cells)))
        section = text.partition('id="graphs"')[2].partition("<h2")[0]
        return 'class="card" open>' in section

    assert opened(LONG) and not opened(LONG + 1)


def test_findings_and_reasons_are_told() -> None:
    lost = GraphRow(
        label="odd",
        graph=Missing(missing="the block ended before its graph was built"),
        cells=(one_cell(keys_run=Missing(missing="no stream"), mean_task_ms=NO_SIZES),),
    )
    inputs = inputs_with(lost, findings=("odd (remote): the graph is not the same",))
    for text in (Page(report_html(inputs)).text, notes_md(inputs)):
        assert "odd (remote): the graph is not the same" in text
        assert "the block ended before its graph was built" in text
        assert "keys run of odd (remote): no stream" in text


def test_foreign_text_stays_text() -> None:
    row = replace(TREE, label=HOSTILE)
    inputs = inputs_with(row, findings=(HOSTILE,))
    text = report_html(inputs)
    assert "<script" not in text
    assert HOSTILE not in notes_md(inputs) and escaped(HOSTILE) in notes_md(inputs)


def test_a_run_without_the_table_says_why() -> None:
    inputs = nights.plan_only()
    for text in (Page(report_html(inputs)).text, notes_md(inputs)):
        assert "No graphs: the run did not come that far." in text
    assert graphs_of(inputs_with()).reason == "the plan has no cells"
