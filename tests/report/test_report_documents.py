from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Check, Diagnosis, Validation
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.exit_criteria import exit_criteria
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.message import message
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.terminal import terminal_summary
from tests.analyse.synthetic_run import RUN, preflight
from tests.report import example_night as nights

HOSTILE = '<script>alert("x")</script>|`*[a](javascript:b)\x1b[31m'
VOID = {"meta", "br", "line", "path", "circle", "rect", "link", "img"}


class Page(HTMLParser):
    """Collects tags and text, and checks that elements are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def night() -> ReportInputs:
    return nights.full_night()


def test_html_is_well_formed_self_contained_and_starts_with_the_verdict(
    night: ReportInputs,
) -> None:
    text = report_html(night)
    page = Page(text)
    names = [t for t, _ in page.tags]
    assert "script" not in names
    assert not [a for t, a in page.tags if t in ("link", "img", "iframe") or a.get("src")]
    assert not re.search(r"https?://", text)
    links = [a["href"] for t, a in page.tags if t == "a"]
    ids = {a.get("id") for _, a in page.tags}
    assert all(h and h.startswith("#") and h[1:] in ids for h in links)
    body = text[text.index("<body>") :]
    sections = ("missing", "verdicts", "metrics", "diagnosis", "actions", "context", "checks")
    places = [body.index("slower: integrate n=8 (remote)")]
    places += [body.index(f'<h2 id="{s}">') for s in (*sections, "reproduce", "artifacts")]
    assert places == sorted(places)


def test_html_tables_are_accessible(night: ReportInputs) -> None:
    text = report_html(night)
    page = Page(text)
    tables = [t for t, _ in page.tags if t == "table"]
    captions = [t for t, _ in page.tags if t == "caption"]
    assert len(tables) == len(captions) > 8
    assert all(a.get("scope") in ("col", "row") for t, a in page.tags if t == "th")
    assert all(a.get("aria-label") for t, a in page.tags if t == "svg")
    assert ("html", {"lang": "en"}) in page.tags
    assert "prefers-color-scheme: dark" in text
    assert "max-width: 640px" in text


def test_html_charts_show_every_counted_sample(night: ReportInputs) -> None:
    page = Page(report_html(night))
    dots = [a for t, a in page.tags if t == "circle"]
    counted = [s for b in night.blocks if b.valid and b.arm == "subject" for s in b.measured]
    assert len(dots) == len(counted)
    assert all(0 <= float(a["cx"] or -1) <= 460 for a in dots)


def test_html_shows_evidence_and_artifacts(night: ReportInputs) -> None:
    text = Page(report_html(night)).text
    assert isinstance(night.diagnosis, Diagnosis)
    for cell in night.diagnosis.cells:
        for signal in cell.signals:
            assert " ".join(signal.says.split()) in text
    for entry in night.artifacts:
        assert entry.sha256 in text


def test_notes_follow_the_template(night: ReportInputs) -> None:
    text = notes_md(night)
    heads = [line for line in text.splitlines() if line.startswith(("# ", "## "))]
    assert heads == [
        "# Red: 1 cell slower than the reference",
        "## Verdicts",
        "## Coverage",
        "## 1. Run context",
        "## 2. Metrics: local against remote",
        "## 3. Bottleneck diagnosis",
        "## 4. Recommended actions",
        "## Exit criteria",
        "## Validation",
        "## How to reproduce",
        "## Where the time went",
        "## Artifacts",
    ]
    for needle in (
        "| commit | 0123abc |",
        "| seed | 42; request seeds 42 |",
        "| throughput (units/s) |",
        "| throughput per effective thread (units/s/thread) |",
        "- primary: **compute-bound**",
        "- [x] Local and remote runs used identical benchmark inputs",
        "12 of 14 cells measured, 2 failed, 0 missing",
        "infra: ClusterError: worker w2 left",
        "daskperf run nightly --scheduler tcp://127.0.0.1:8786 --wheel daskperf_kernels",
        "| measure | 1 min 12 s |",
    ):
        assert needle in text
    assert [m[1] for m in re.finditer(r"^(\d)\. \*\*", text, re.M)] == ["1", "2", "3"]


def test_notes_tables_have_as_many_cells_as_heads(night: ReportInputs) -> None:
    width = 0
    for line in notes_md(night).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (0, cells), line
        width = cells


@pytest.mark.parametrize("make", [nights.blocked, nights.nothing])
def test_partial_runs_give_reports_that_say_what_is_missing(
    make: Callable[[], ReportInputs],
) -> None:
    inputs = make()
    page = Page(report_html(inputs))
    notes = notes_md(inputs)
    for text in (page.text, notes, message(inputs), terminal_summary(inputs)):
        assert "Red: nothing was measured" in text
        assert "nan" not in text.lower().replace("finance", "")
    assert headline(inputs).state == "failed"
    assert not any(c.met for c in exit_criteria(inputs)[:3])
    assert "What is missing" in page.text


def test_a_blocked_preflight_names_host_expected_found_and_remedy() -> None:
    inputs = nights.blocked()
    for text in (report_html(inputs), notes_md(inputs), message(inputs)):
        for needle in ("version-mismatch", "host2", "dask 2026.8.0", "dask 2025.1.0"):
            assert needle in text
    assert coverage(inputs).missing == 2


def test_plan_only_counts_every_cell_as_missing() -> None:
    found = coverage(nights.plan_only())
    assert (found.planned, found.missing) == (2, 2)
    assert found.gaps[0].reason == "not measured yet"


def test_without_a_plan_coverage_is_unknown_not_zero() -> None:
    found = coverage(nights.nothing())
    assert "Nothing is known of the cells" in found.sentence


def test_a_green_night_is_green() -> None:
    inputs = nights.full_night(missing_cell=False, arms=False)
    assert headline(inputs).colour == "green"
    assert headline(inputs).title == "Green: all 6 cells measured and validated"
    assert message(inputs).startswith("daskperf Green: all 6 cells")
    assert all(c.met for c in exit_criteria(inputs))


def test_a_failed_validation_must_not_be_believed(night: ReportInputs) -> None:
    bad = Check(suite="samples", name="keys unique", success=False, expected="0", found="3")
    inputs = replace(
        night,
        validation=Validation(
            run_id=RUN, success=False, checks=(bad,), great_expectations="1.24.1"
        ),
    )
    head = headline(inputs)
    assert (head.colour, head.state) == ("red", "failed")
    assert "validation: keys unique: expected 0, found 3" in head.reasons
    assert "must not be believed" in head.title
    assert "Expectations that are not met" in report_html(inputs)


def test_the_stage_decides_when_it_did(night: ReportInputs) -> None:
    inputs = replace(night, state="partial", green=False, reasons=("publish was late",))
    head = headline(inputs)
    assert (head.state, head.reasons) == ("partial", ("publish was late",))


def hostile_night() -> ReportInputs:
    inputs = nights.full_night()
    assert not isinstance(inputs.local, Missing)
    assert not isinstance(inputs.diagnosis, Missing)
    cells = tuple(
        replace(c, label=HOSTILE, state="failed", reason=HOSTILE) for c in inputs.local.cells
    )
    finding = replace(nights.LOOPBACK, host=HOSTILE, todo=HOSTILE, level="warn")
    stage = replace(nights.stages()[0], outcome="failed", error=HOSTILE)
    return replace(
        inputs,
        local=replace(inputs.local, cells=cells, topology=HOSTILE),
        preflight=preflight(findings=(finding,)),
        diagnosis=replace(
            inputs.diagnosis,
            cells=tuple(replace(c, label=HOSTILE) for c in inputs.diagnosis.cells),
        ),
        stages=(stage,),
        artifacts=(replace(inputs.artifacts[0], key=HOSTILE),),
    )


def test_hostile_names_are_escaped_everywhere() -> None:
    inputs = hostile_night()
    html = report_html(inputs)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    Page(html)
    notes = notes_md(inputs)
    assert "<script" not in notes
    assert not re.search(r"(?<!\\)\[a(?<!\\)\]\(javascript", notes)
    terminal = terminal_summary(inputs, 80)
    assert "\x1b" not in terminal


@pytest.mark.parametrize("width", [40, 80, 100, 160])
def test_terminal_lines_fit_and_are_plain(night: ReportInputs, width: int) -> None:
    text = terminal_summary(night, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "12 of 14 cells measured" in " ".join(text.split())
    assert "\x1b[31;1m" in terminal_summary(night, width, colour=True)


def test_message_is_short_and_says_where_to_look(night: ReportInputs) -> None:
    text = message(night)
    assert len(text.splitlines()) <= 12
    assert "slower: integrate n=8 (remote)" in text
    assert f"s3://perf/nightly/profiles/{RUN}/report.html" in text
    many = replace(night, state="failed", green=False, reasons=tuple(f"r{i}" for i in range(20)))
    assert "- and 15 more reasons" in message(many)


def test_template_and_style_sheet_lie_in_the_package_itself() -> None:
    # Package data is declared by package: a folder that is none is left out of the wheel.
    from importlib.resources import files

    package = files("daskperf_tasks.report")
    assert package.joinpath("report.html.j2").is_file()
    assert package.joinpath("report.css").is_file()
