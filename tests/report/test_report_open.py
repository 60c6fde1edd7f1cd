"""Runs in progress or killed, and reasons that are long or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate, FileEntry, SidePair
from daskperf_tasks.report.context import calibration_note, stage_rows
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.message import message
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.tables import pair_tables
from daskperf_tasks.report.terminal import terminal_summary
from tests.analyse.synthetic_run import RUN
from tests.report import example_night as nights
from tests.report.test_report_documents import Page

LONG = "worker w1 on host1 left: " + "; ".join(f"invalid: members changed {i}" for i in range(30))


def texts(inputs: ReportInputs) -> tuple[str, ...]:
    """Return all documents as plain words."""
    shown = (Page(report_html(inputs)).text, notes_md(inputs), message(inputs))
    return (*(" ".join(t.split()) for t in shown), " ".join(terminal_summary(inputs).split()))


@pytest.mark.parametrize(("valid", "said"), [(1, "1 valid block"), (3, "3 valid blocks")])
def test_a_run_that_was_killed_does_not_contradict_itself(valid: int, said: str) -> None:
    inputs = nights.killed(valid=valid)
    head = headline(inputs)
    assert (head.colour, head.state) == ("amber", "in progress or abandoned")
    assert head.reasons == ()
    cover = coverage(inputs)
    assert cover.samples == sum(len(b.measured) for b in inputs.blocks) > 0
    assert (cover.planned, cover.missing) == (2, 1)
    for text in texts(inputs):
        assert f"In progress or abandoned: {said} so far" in text
        assert RUN in text
        assert "closes it" in text
        assert f"{cover.samples} samples, none summarised yet" in text
        for wrong in ("Red", "nothing was measured", "0 samples", "not validated:"):
            assert wrong not in text


@pytest.mark.parametrize("make", [nights.plan_only, nights.killed])
def test_failed_stages_of_an_open_run_are_told(make: Callable[[], ReportInputs]) -> None:
    inputs = replace(make(), stages=nights.stages("measure", "the scheduler left"))
    assert headline(inputs).reasons == ("measure failed (infra): the scheduler left",)
    for text in texts(inputs):
        assert "In progress or abandoned" in text
        assert "measure failed" in text


def test_a_run_that_is_being_closed_is_not_open() -> None:
    killed = nights.killed(valid=2)
    analysed = replace(killed, stages=nights.stages("analyse", "no such column"))
    closed = replace(
        killed, artifacts=(FileEntry(key="manifest.json", size_bytes=1, sha256="aa" * 32),)
    )
    for inputs in (analysed, closed):
        head = headline(inputs)
        assert (head.colour, head.state) == ("red", "failed")
        assert head.title == "Red: 2 valid blocks, but nothing was summarised"
        assert coverage(inputs).missing == 2


def test_long_reasons_are_cut_to_a_line_and_told_in_full_below() -> None:
    inputs = replace(
        nights.full_night(), state="partial", green=False, reasons=(f"a cell failed: {LONG}",)
    )
    assert len(LONG) > 700
    head = headline(inputs)
    assert head.reasons == (f"a cell failed: {LONG}",)
    assert all(len(r) <= 160 for r in head.few())
    assert max(len(line) for line in message(inputs).splitlines()[:2]) <= 162
    assert len(terminal_summary(inputs).split("run 2")[0]) < 400
    assert LONG in notes_md(inputs)
    html = Page(report_html(inputs)).text
    banner = html[html.index("Red:") : html.index("All 1 in full")]
    assert head.few()[0] in banner
    assert LONG not in banner
    assert LONG in html


def test_many_reasons_are_six_and_a_count() -> None:
    many = tuple(f"reason {i}." for i in range(20))
    inputs = replace(nights.full_night(), state="failed", green=False, reasons=many)
    shown = terminal_summary(inputs)
    assert [r for r in many if r in shown] == list(many[:6])
    assert "  - and 14 more reasons\n" in shown
    html = report_html(inputs)
    assert "All 20 in full" in html
    assert all(r in html for r in many)
    assert all(r in notes_md(inputs) for r in many)
    assert headline(replace(inputs, reasons=many[:7])).few()[-1] == "and 1 more reason"
    assert "in full" not in report_html(replace(inputs, reasons=many[:6]))


def test_the_ratio_is_the_quotient_of_the_figures_beside_it() -> None:
    inputs = nights.full_night()
    assert not isinstance(inputs.comparison, Missing)
    pairs: dict[str, SidePair] = {p.local_cell: p for p in inputs.comparison.sides}
    seen = 0
    for table in pair_tables(inputs):
        if table.local is None or table.remote is None or table.local_cell not in pairs:
            continue
        for name, ratio in pairs[table.local_cell].ratios.items():
            left, right = table.local.metrics[name], table.remote.metrics[name]
            if isinstance(left, Missing) or isinstance(right, Missing):
                assert isinstance(ratio, Missing)
                continue
            assert isinstance(ratio, Estimate)
            assert ratio.value == pytest.approx(right.value / left.value, rel=1e-12)
            assert ratio.low <= ratio.value <= ratio.high
            seen += 1
    assert seen >= 6


def test_the_terminal_shows_the_interval_of_the_raw_ratio_where_it_fits() -> None:
    inputs = nights.full_night()
    found = [
        r.ratio
        for t in pair_tables(inputs)
        for r in t.rows
        if r.name == "throughput_per_s" and r.ratio.interval
    ]
    wide, narrow = terminal_summary(inputs, 100), terminal_summary(inputs, 60)
    for ratio in found:
        assert f"{ratio.text}  {ratio.interval}" in wide
        assert ratio.interval not in narrow
    assert found
    assert max(map(len, wide.splitlines())) <= 100


def test_documents_say_what_tonight_before_is_the_ratio_of() -> None:
    inputs = nights.full_night()
    for text in (texts(inputs)[i] for i in (0, 1, 3)):
        assert "onight / before is the centre of the ratios of the pairs of rounds" in text
    assert not isinstance(inputs.verdicts, Missing)
    across = replace(inputs, verdicts=replace(inputs.verdicts, basis="previous"))
    assert "onight / before is the quotient of the two medians" in texts(across)[1]


def test_the_calibration_note_is_made_of_whole_sentences() -> None:
    inputs = nights.full_night()
    assert not isinstance(inputs.calibration, Missing)
    note = "the first runs spread too much and were repeated with more; clipped: w1"
    rule = "stable when the MAD of its runs is at most 10% of their median"
    noted = replace(inputs, calibration=replace(inputs.calibration, rule=rule, note=note))
    said = calibration_note(noted)
    assert "10% of their median. The first runs spread" in said
    assert said in Page(report_html(noted)).text
    assert "10% of their median. The first runs spread" in notes_md(noted)


def test_stages_that_began_together_are_in_the_order_of_running() -> None:
    names = ("notify", "publish", "report", "measure-10", "measure-2", "restore", "deploy", "start")
    one = nights.stages()[0]
    inputs = replace(nights.full_night(), stages=tuple(replace(one, name=name) for name in names))
    assert [row[0] for row in stage_rows(inputs)] == [
        "start", "deploy", "measure-2", "measure-10", "restore", "report", "publish", "notify",
    ]  # fmt: skip
    assert "| start |" in notes_md(inputs)
