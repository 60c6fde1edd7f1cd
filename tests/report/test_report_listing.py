"""Artifacts and stages: in the order of interest, folded, with figures as people say them."""

from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.results import FileEntry
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.report.artifacts import LATER
from daskperf_tasks.report.context import stage_rows
from daskperf_tasks.report.html import report_html
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.notes import notes_md
from daskperf_tasks.report.terminal import terminal_summary
from tests.report import example_night as nights
from tests.report.test_report_documents import Page


def listed() -> ReportInputs:
    names = [f"blocks/c{i}/subject-r0-a1.json" for i in range(36)]
    names += [f"streams/c{i}.parquet" for i in range(36)] + ["logs/round-0.log"]
    names += ["plan.json", "remote/timeline.html", "verdicts.json", "stages/plan.json"]
    names += ["notes.md", "report.html", "manifest.json"]
    files = tuple(
        FileEntry(key=n, size_bytes=1024, sha256=f"{i:064x}") for i, n in enumerate(names)
    )
    return replace(nights.full_night(), artifacts=files)


def test_notes_list_derived_files_and_count_the_raw_ones() -> None:
    notes = notes_md(listed())
    tail = notes[notes.index("## Artifacts") :]
    rows = [line for line in tail.splitlines() if line.startswith("|")]
    assert [r.split(" | ")[0] for r in rows[2:5]] == [
        "| verdicts.json",
        "| remote/timeline.html",
        "| plan.json",
    ]
    assert "| report.html" not in tail  # it is not written yet: any hash here would be an old one
    assert "| blocks/ | 36 | 36.0 KiB |" in rows
    assert "| streams/ | 36 | 36.0 KiB |" in rows
    assert "| logs/ | 1 | 1.0 KiB |" in rows
    assert "subject-r0" not in tail
    assert f"{3:064x}" not in tail
    assert "`manifest.json`" in tail


def test_html_folds_the_raw_files_and_keeps_every_hash_whole() -> None:
    html = report_html(listed())
    tail = html[html.index('<h2 id="artifacts">') :]
    fold = tail.index("<details>")
    assert tail.index(">verdicts.json<") < tail.index(">plan.json<") < fold
    assert fold < tail.index("blocks/c0/subject-r0-a1.json")
    assert "74 raw files, 74.0 KiB" in Page(html).text
    for entry in listed().artifacts:
        whole = f'title="{entry.sha256}">{entry.sha256}<'
        late = entry.key in LATER or entry.key.startswith("stages/")
        assert (whole in tail) is not late


def test_a_report_made_again_is_the_same_although_it_is_there_already() -> None:
    again = listed()
    first = replace(again, artifacts=tuple(f for f in again.artifacts if f.key not in LATER))
    tails = [
        html[html.index('<h2 id="artifacts">') :]
        for html in (report_html(first), report_html(again))
    ]
    assert tails[0] == tails[1]


def test_stages_of_one_second_stand_in_the_order_of_running() -> None:
    names = ("notify", "calibrate", "measure-10", "measure-2", "preflight", "odd", "deploy")
    stages = tuple(
        StageRecord(
            name=n, started_at="2026-11-30T01:02:03+00:00", seconds=0.000961, outcome="done"
        )
        for n in names
    )
    inputs = replace(nights.full_night(), stages=stages)
    rows = stage_rows(inputs)
    assert [r[0] for r in rows] == [
        "deploy", "preflight", "calibrate", "measure-2", "measure-10", "notify", "odd",
    ]  # fmt: skip
    assert {r[1] for r in rows} == {"0.0 s"}
    assert "0.000961" not in terminal_summary(inputs)


def test_terminal_names_can_be_told_apart_however_narrow() -> None:
    inputs = nights.full_night()
    wide = terminal_summary(inputs, 100)
    assert "  integrate python (threads)  " in wide
    assert "…" not in wide
    narrow = terminal_summary(inputs, 72).splitlines()
    begin = next(i for i, line in enumerate(narrow) if line.startswith("  cell  "))
    names = [line[:28] for line in narrow[begin + 1 : begin + 5]]
    assert len(set(names)) == 4
