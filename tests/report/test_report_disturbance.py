from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.report.disturbance import by_cell, disturbance
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.machine import machine
from daskperf_tasks.report.message import message
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.terminal import terminal_summary
from tests.analyse.synthetic_run import BLOCKED, block, calibration, cell, planned, preflight
from tests.analyse.synthetic_run import sample as one
from tests.report import example_night as nights
from tests.report.test_report_documents import Page

SHORT = Missing(missing="the block took 0.10 s, too short to tell")


def loaded(
    cores: Sequence[Measured], steal: Measured = 0.0, *, load: tuple[float, float] = (1.0, 2.0)
) -> list[BlockResult]:
    found = []
    for i, used in enumerate(cores):
        b = block(planned(cell("local")), [one()], round_=i)
        host = replace(
            b.host_load,
            foreign_cpu_cores=used,
            steal_fraction=steal,
            load_1min_before=load[0],
            load_1min_after=load[1],
        )
        found.append(replace(b, host_load=host))
    return found


def disturbed_night(cores: Measured) -> ReportInputs:
    inputs = nights.full_night(missing_cell=False)
    first = inputs.blocks[0].cell_id
    return replace(
        inputs,
        blocks=tuple(
            replace(b, host_load=replace(b.host_load, foreign_cpu_cores=cores))
            if b.cell_id == first
            else b
            for b in inputs.blocks
        ),
    )


def test_the_sentence_has_median_highest_and_the_blocks_above() -> None:
    found = disturbance(loaded([0.2, 0.8, 1.9]))
    assert found.sentence == (
        "other work used a median of 0.8 cores, up to 1.9, while measuring; "
        "blocks above 0.5 cores: 2 of 3"
    )
    assert found.disturbed
    assert found.strong
    assert found.short == "host disturbed in 2 of 3 blocks, others used up to 1.9 cores"
    assert found.load_text == "1.0 to 2.0"


def test_missing_figures_are_said_with_their_reason() -> None:
    found = disturbance(loaded([0.2, SHORT, SHORT]))
    assert found.sentence.endswith(
        "0 of 1; unknown for 2 more blocks (the block took 0.10 s, too short to tell)"
    )
    nothing = disturbance(loaded([SHORT, SHORT], SHORT))
    assert "unknown for all 2 blocks (the block took" in nothing.sentence
    assert not nothing.disturbed
    assert disturbance([]).sentence == "no block was measured, so nothing is known of other work"
    assert disturbance([]).load_text == "unknown: no block was measured"


def test_stolen_time_disturbs_as_well() -> None:
    found = disturbance(loaded([0.1, 0.1], steal=0.06))
    assert found.above == 2
    assert "the hypervisor took up to 6% of the CPU time, more than 2% in 2 blocks" in (
        found.sentence
    )
    assert found.short.endswith("up to 6% stolen")


@pytest.mark.parametrize(
    ("cores", "strong"),
    [([0.1] * 4, False), ([0.6, 0.1, 0.1, 0.1], False), ([0.6, 0.6, 0.1, 0.1], True),
     ([1.2, 0.1, 0.1, 0.1], True)],
)  # fmt: skip
def test_strong_is_half_of_the_blocks_or_twice_the_limit(cores: list[float], strong: bool) -> None:
    assert disturbance(loaded(cores)).strong is strong


def test_blocks_that_do_not_count_are_left_out() -> None:
    quiet, loud = loaded([0.1, 1.8])
    thrown = replace(loud, invalid_reason="the host was disturbed")
    assert not disturbance([quiet, thrown]).disturbed
    assert by_cell([thrown]) == {}
    assert list(by_cell([quiet, thrown])) == [quiet.cell_id]


def test_a_disturbed_night_warns_beside_the_verdicts_and_marks_the_cell() -> None:
    inputs = disturbed_night(1.4)
    html = report_html(inputs)
    page = Page(html)
    verdicts = html[html.index('<h2 id="verdicts">') : html.index('<h2 id="metrics">')]
    assert "The machine was disturbed." in verdicts
    assert "up to 1.4, while measuring; blocks above 0.5 cores: 10 of 60" in verdicts
    # Only the disturbed cell of the six is marked.
    assert verdicts.count(">disturbed 10/10<") == 1
    assert page.text.count("local: host disturbed in 10 of 10 blocks") == 1
    notes = notes_md(inputs)
    assert "**Disturbed machine**: other work used" in notes
    assert "- local: host disturbed in 10 of 10 blocks, others used up to 1.4 cores" in notes
    assert "| while measuring | other work used a median of" in notes
    assert "Machine: disturbed: other work used" in message(inputs)
    assert "machine  disturbed: other work used" in terminal_summary(inputs)


def test_a_quiet_night_and_one_that_is_not_known_do_not_warn() -> None:
    quiet = nights.full_night(missing_cell=False)
    assert machine(quiet).state == "fit"
    assert "The machine was disturbed" not in report_html(quiet)
    blind = replace(
        quiet,
        blocks=tuple(
            replace(b, host_load=replace(b.host_load, foreign_cpu_cores=SHORT))
            for b in quiet.blocks
        ),
    )
    assert machine(blind).state == "unknown"
    assert "is unknown for all 60 blocks" in Page(report_html(blind)).text


def test_the_machine_is_judged_from_preflight_calibration_and_load() -> None:
    quiet = nights.full_night(missing_cell=False)
    warning = replace(nights.LOOPBACK, level="warn", code="load-above-cores")
    warned = machine(replace(quiet, preflight=preflight(findings=(warning,))))
    assert warned.state == "fit"
    assert "preflight warned of load-above-cores" in warned.why
    shaky = replace(quiet, calibration=replace(calibration(), stable=False))
    assert machine(shaky).sentence.startswith("disturbed: ")
    assert "calibration was unstable" in machine(shaky).why
    blocked = replace(quiet, preflight=preflight(findings=(BLOCKED,)), blocks=())
    assert machine(blocked).sentence == "not fit: preflight forbade measuring (version-mismatch)"
    nothing = machine(nights.nothing())
    assert (nothing.state, nothing.why) == (
        "unknown",
        "no block was measured; no preflight (the run did not come that far)",
    )
