"""Experiments as they are told: terminal, notes, report, plot, message."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from daskperf_tasks.analyse.experiments.answer import answer_one
from daskperf_tasks.model.experiment import (
    ExperimentResult,
    Experiments,
    Knee,
    PlannedExperiment,
    Prediction,
)
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.experiments import experiment_text
from daskperf_tasks.report.experiments_chart import experiment_svg
from daskperf_tasks.report.experiments_plot import Scale, ticks
from daskperf_tasks.report.experiments_table import table_of
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.message import message
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.terminal import terminal_summary
from tests.analyse.experiments import synthetic
from tests.analyse.synthetic_run import cell, failure, planned
from tests.report.example_night import full_night

SVG = "{http://www.w3.org/2000/svg}"
MAKERS = {
    "task-size": synthetic.task_size,
    "workers": synthetic.workers,
    "scheduler": synthetic.scheduler,
    "chunks": synthetic.chunks,
    "granularity": synthetic.granularity,
    "optimization": synthetic.optimization,
}
EVIL = "<script>alert(1)</script> & \x1b[31m`x`|"


def answered(kind: str, **kw) -> tuple[PlannedExperiment, ExperimentResult]:
    made, blocks = MAKERS[kind](**kw)
    return made, answer_one(made, blocks, None, synthetic.ENVIRONMENTS)


def night_with(*pairs: tuple[PlannedExperiment, ExperimentResult]) -> ReportInputs:
    night = full_night()
    assert not isinstance(night.plan, Missing)
    return dataclasses.replace(
        night,
        plan=dataclasses.replace(night.plan, experiments=tuple(p for p, _ in pairs)),
        experiments=Experiments(run_id=night.run_id, results=tuple(r for _, r in pairs)),
    )


def renamed(kind: str, text: str) -> tuple[PlannedExperiment, ExperimentResult]:
    """The experiment with foreign text wherever text can stand."""
    made, result = answered(kind)
    old = made.points[0].label
    point = dataclasses.replace(
        made.points[0], label=text, series=text if made.points[0].series else ""
    )
    made = dataclasses.replace(
        made,
        question=text,
        axis=text,
        points=(point, *made.points[1:]),
        prediction=Prediction(order=(text, made.points[1].label), text=text),
    )
    rows = tuple(
        dataclasses.replace(p, label=text, correctness=text) if p.label == old else p
        for p in result.points
    )
    result = dataclasses.replace(
        result,
        points=rows,
        conclusion=(text,),
        difference=text,
        recommended=text,
        context=((text, text),),
    )
    return made, result


@pytest.mark.parametrize("kind", MAKERS)
def test_the_terminal_has_table_conclusion_and_context_within_100_columns(kind: str) -> None:
    made, result = answered(kind)
    text = experiment_text(made, result)
    assert max(len(line) for line in text.splitlines()) <= 100
    for p in made.points:
        assert p.label in text
    flat = " ".join(text.split())
    for sentence in result.conclusion:
        assert sentence in flat
    assert "Example CPU" in text
    assert ("knee" in text) == bool(result.fits)
    assert ("prediction" in text) == (made.prediction is not None)


@pytest.mark.parametrize("kind", MAKERS)
def test_the_plot_is_a_picture_of_its_own(kind: str) -> None:
    made, result = answered(kind)
    svg = experiment_svg(made, result)
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    for outside in ("var(", "href", "<style", "<script", "url("):
        assert outside not in svg
    assert len(root.findall(f".//{SVG}circle")) >= len(made.points)
    words = [t.text or "" for t in root.iter(f"{SVG}text")]
    assert any(w.startswith((made.axis, "makespan, s")) for w in words)
    knees = [f for f in result.fits if isinstance(f.knee, Knee)]
    assert sum(w.startswith("knee ") for w in words) == len(knees)
    width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
    for t in root.iter(f"{SVG}text"):
        assert 0 <= float(t.attrib["x"]) <= width
        assert 0 <= float(t.attrib["y"]) <= height


@pytest.mark.parametrize("kind", MAKERS)
def test_points_without_figures_are_named_with_their_reason_everywhere(kind: str) -> None:
    label = MAKERS[kind]()[0].points[1].label
    broken = {label: [failure(planned(cell("threads")))]}
    pair = answered(kind, lost=broken)
    night = night_with(pair)
    for text in (
        experiment_text(*pair),
        experiment_svg(*pair),
        report_html(night),
        notes_md(night),
    ):
        flat = " ".join(text.split())
        assert label in flat
        assert "worker w2 left" in flat


def test_nothing_measured_is_told_and_drawn_as_such() -> None:
    for kind in MAKERS:
        made, _ = MAKERS[kind]()
        result = answer_one(made, [], None, {})
        assert "Nothing to draw" in experiment_svg(made, result)
        assert "no block of it was run" in experiment_text(made, result)
        night = night_with((made, result))
        assert "no block of it was run" in report_html(night)
        assert "no block of it was run" in notes_md(night)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


@pytest.mark.parametrize("kind", MAKERS)
def test_foreign_text_stays_text(kind: str) -> None:
    pair = renamed(kind, EVIL)
    html = report_html(night_with(pair))
    tags = _Tags()
    tags.feed(html)
    assert "script" not in tags.seen
    assert "&lt;script&gt;" in html
    assert "<script" not in notes_md(night_with(pair))
    assert "\x1b" not in experiment_text(*pair)
    svg = experiment_svg(*pair)
    assert "<script" not in svg
    ET.fromstring(svg)


def test_the_report_has_a_section_between_verdicts_and_metrics() -> None:
    night = night_with(answered("task-size"), answered("scheduler"))
    html = report_html(night)
    assert html.index('id="verdicts"') < html.index('id="experiments"') < html.index('id="metrics"')
    assert html.count('class="plot" viewBox') == 2
    assert "as predicted</span>" in html
    notes = notes_md(night)
    assert notes.index("## 3. Bottleneck") < notes.index("### Experiment: task-size")
    assert notes.index("### Experiment: scheduler") < notes.index("## 4. Recommended actions")
    assert "experiments/task-size.svg" in notes


def test_a_run_without_experiments_says_nothing_of_them() -> None:
    night = full_night()
    for text in (report_html(night), notes_md(night), message(night), terminal_summary(night)):
        assert "xperiment" not in text.replace("experiment that would prove", "")


def test_message_and_summary_have_a_line_each() -> None:
    night = night_with(answered("task-size"), answered("scheduler"))
    sent, shown = message(night), terminal_summary(night)
    assert sum(line.startswith("Experiment ") for line in sent.splitlines()) == 2
    assert "Experiment task-size (6 of 6 points): Fastest is" in sent
    assert "knee" in sent
    assert "experiments" in shown.splitlines()
    assert max(len(line) for line in shown.splitlines()) <= 100


def test_a_planned_experiment_without_answer_is_told() -> None:
    night = dataclasses.replace(
        night_with(answered("chunks")), experiments=Missing(missing="the analysis failed")
    )
    for text in (report_html(night), notes_md(night), message(night), terminal_summary(night)):
        assert "chunks" in text
        assert "the analysis failed" in text


def test_the_table_leaves_out_what_the_labels_say() -> None:
    made, result = answered("scheduler")
    titles = [c.title for c in table_of(made, result).columns]
    assert "implementation" not in titles
    assert "scheduler" not in titles
    assert titles[:4] == ["point", "threads", "tasks", "makespan"]
    made, result = answered("task-size")
    assert "steps" in [c.title for c in table_of(made, result).columns]


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.1), (1.0, 3.0), (0.01, 90.0), (1.0, 1e9), (1e-7, 1e7)]
)
def test_an_axis_has_a_few_ticks(low: float, high: float) -> None:
    found = ticks(Scale(low=low, high=high, start=0.0, end=100.0))
    assert 1 <= len(found) <= 14
    assert found == sorted(found)
    assert all(low <= v <= high for v in found)
