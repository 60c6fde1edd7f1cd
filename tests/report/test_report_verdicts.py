from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Estimate, VerdictName, Verdicts, WheelPair
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.labels import short_labels
from daskperf_tasks.report.message import message
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.terminal import terminal_summary
from daskperf_tasks.report.verdicts import verdict_groups, verdict_summary, wheel_answer
from tests.analyse.synthetic_run import RUN, cell
from tests.report import example_night as nights
from tests.report.test_report_documents import Page

OTHER = "20261129T010203Z-616263"


def pair(n: int, verdict: VerdictName, visible: Measured) -> WheelPair:
    c = cell("local", n=n)
    return WheelPair(
        cell_id=c.id,
        label=f"{c.label} (local)",
        ratio=Estimate(value=1.1, low=0.9, high=1.2, confidence=0.95, n=9),
        verdict=verdict,
        smallest_visible=visible,
        why="+10.0% is within the noise, p = 1",
    )


def judged(
    *pairs: WheelPair, basis: Any = "previous", same: bool | None = True
) -> ReportInputs:  # fmt: skip
    inputs = nights.full_night(missing_cell=False)
    assert not isinstance(inputs.comparison, Missing)
    return replace(
        inputs,
        comparison=replace(inputs.comparison, previous_run=OTHER, same_subject=same),
        verdicts=Verdicts(run_id=RUN, method="The long method.", basis=basis, verdicts=pairs),
    )


def test_a_noisy_night_is_one_line_without_absurd_figures() -> None:
    inputs = judged(*(pair(n, "undecided", v) for n, v in enumerate((1.8, 167.0, 3435.2))))
    said = "3 undecided: this night could only have seen changes above ×1.80 to more than ×2."
    assert verdict_summary(inputs) == said
    page = Page(report_html(inputs)).text
    for text in (page, notes_md(inputs), terminal_summary(inputs)):
        assert said in text
        assert "> ×2" in text or "| above ×2 |" in text
        assert "&gt;" not in text
        assert "3,435" not in text
        assert "343" not in text
    assert "could only have seen changes above ×1.80 to more than ×2" in message(inputs)
    assert page.count("The long method.") == 1


@pytest.mark.parametrize(
    ("visible", "said"),
    [
        ([5.0, 9.0], "this night could only have seen changes by more than ×2."),
        ([1.0301, 1.0302], "this night could only have seen changes above ×1.03."),
        ([1.05, 1.4], "this night could only have seen changes above ×1.05 to ×1.40."),
    ],
)
def test_what_could_have_been_seen_is_spelled_by_its_range(visible: list[float], said: str) -> None:
    inputs = judged(*(pair(n, "undecided", v) for n, v in enumerate(visible)))
    assert verdict_summary(inputs) == f"2 undecided: {said}"


def test_unknown_noise_is_said_and_decided_nights_need_no_limit() -> None:
    unknown = judged(pair(1, "undecided", Missing(missing="its noise is unknown")))
    assert verdict_summary(unknown) == (
        "1 undecided: how small a change could have been seen is unknown."
    )
    assert verdict_summary(judged(pair(1, "no change", 1.01))) == "1 no change."
    mixed = judged(pair(1, "no change", 1.01), pair(2, "undecided", 1.2))
    assert "the undecided could only have seen" in verdict_summary(mixed)
    assert verdict_summary(nights.nothing()) == ""


def test_groups_put_slower_and_faster_first() -> None:
    names: list[VerdictName] = ["no change", "undecided", "faster", "invalid", "slower", "faster"]
    inputs = judged(*(pair(i, n, 1.1) for i, n in enumerate(names)), basis="paired")
    groups = verdict_groups(inputs)
    order = ["slower", "faster", "invalid", "undecided", "no change"]
    assert [g.verdict for g in groups] == order
    assert [len(g.rows) for g in groups] == [1, 2, 1, 1, 1]
    html = report_html(inputs)
    body = html[html.index('<h2 id="verdicts">') :]
    places = [body.index(f">{name}</span> ") for name in order]
    assert places == sorted(places)


def test_the_banner_answers_whether_it_is_the_wheel() -> None:
    undecided = [pair(n, "undecided", 1.2) for n in range(2)]
    same = judged(*undecided)
    assert wheel_answer(same).sentence == (
        f"no wheel verdict: 2 undecided against run {OTHER}, same wheel"
    )
    assert (wheel_answer(same).word, wheel_answer(same).basis) == (
        "2 undecided",
        "two nights, same wheel",
    )
    assert wheel_answer(judged(*undecided, same=False)).sentence.endswith(", another wheel")
    red = judged(pair(1, "slower", 1.02), pair(2, "no change", 1.02), basis="paired")
    assert wheel_answer(red).sentence == (
        "1 of 2 cells slower (1 no change) against daskperf-kernels 0.0.9, measured the same night"
    )
    fine = judged(pair(2, "no change", 1.02), basis="paired")
    assert wheel_answer(fine).sentence.startswith("no cell slower (1 no change) against")
    none = nights.blocked()
    assert wheel_answer(none).sentence == (
        "no wheel verdict: nothing to compare with, this is the first run"
    )
    html = report_html(same)
    banner = html[html.index("<header") : html.index("</header>")]
    answers = [
        "Is it the wheel?",
        "2 undecided against run",
        "Is anything missing?",
        "12 of 12 cells measured",
        "Was the machine fit?",
    ]
    places = [banner.index(text) for text in answers]
    assert places == sorted(places)


def ids(*texts: str) -> list[str]:
    return [f"{t};env={env};sched=none" for t in texts for env in ("threads", "processes")]


def test_short_labels_drop_what_tells_nothing_apart() -> None:
    cells = ids(
        "integrate/v1;implementation=cython;steps=4000000",
        "integrate/v1;implementation=python;steps=50000",
        "aggregates/v1;n=128",
        "aggregates/v1;n=256",
        "single/v1;mode=a;n=1",
    )
    labels = short_labels(cells)
    found = [labels.cell(i) for i in cells]
    assert len(set(found)) == len(cells)
    assert found[0] == "integrate cython (threads)"
    assert found[3] == "integrate python (processes)"
    assert found[4] == "aggregates n=128 (threads)"
    assert found[8] == "single a (threads)"
    assert labels.pair(cells[0], cells[1]) == "integrate cython (threads | processes)"
    assert labels.pair(None, cells[1]) == "integrate cython (processes)"


def test_short_labels_keep_parameters_that_only_some_cells_have() -> None:
    labels = short_labels(ids("w/v1;n=1", "w/v1;mode=x", "w/v1;mode=x;n=1"))
    assert labels.cell(ids("w/v1;n=1")[0]) == "w n=1 (threads)"
    assert labels.cell(ids("w/v1;mode=x")[0]) == "w x (threads)"
    assert labels.cell(ids("w/v1;mode=x;n=1")[0]) == "w x n=1 (threads)"
