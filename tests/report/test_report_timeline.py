from __future__ import annotations

import re

import pyarrow as pa

from daskperf_tasks.report.timeline import MAX_RECTANGLES, timeline_html
from tests.analyse.synthetic_run import cell, planned, simulate
from tests.report.test_report_documents import HOSTILE, Page


def rectangles(text: str) -> list[dict[str, str | None]]:
    return [a for t, a in Page(text).tags if t == "rect"]


def test_every_interval_is_drawn_on_its_threads_lane() -> None:
    sim = simulate(
        planned(cell("remote")), tasks=12, task_s=0.05, transfer_s=0.01, threads_each=2, rounds=1
    )
    text = timeline_html(pa.table(sim.stream), "aggregates n=128")
    drawn = rectangles(text)
    assert len(drawn) == len(sim.stream["start_s"])
    page = Page(text)
    for lane in ("w1 / 1", "w1 / 2", "w2 / 1", "w2 / 2"):
        assert lane in page.text
    assert "grow" in page.text
    assert "transfer" in page.text
    assert "<script" not in text
    assert not re.search(r"https?://", text)
    assert all(150 <= float(a["x"] or 0) <= 1120 for a in drawn)


def test_fresh_processes_of_the_next_round_stay_on_their_lanes() -> None:
    rows = [
        {
            "cell_id": "c",
            "round": r,
            "attempt": 1,
            "worker": f"tcp://w:{r}",
            "worker_name": "w1",
            "thread": 100 * r + t,
            "action": "compute",
            "name": "inc",
            "start_s": 10.0 * r,
            "stop_s": 10.0 * r + 1,
        }
        for r in range(3)
        for t in range(2)
    ]
    page = Page(timeline_html(rows, "rounds"))
    lanes = [w for w in page.words if w.startswith("w1 / ")]
    assert lanes == ["w1 / 1", "w1 / 2"]


def test_too_many_intervals_are_merged_and_the_page_says_how_many() -> None:
    n = 30_000
    stream = {
        "worker": ["tcp://w1"] * n,
        "thread": [1] * n,
        "action": ["compute"] * n,
        "name": ["inc", "add"] * (n // 2),
        "start_s": [i * 0.001 for i in range(n)],
        "stop_s": [i * 0.001 + 0.0009 for i in range(n)],
    }
    text = timeline_html(stream, "tiny")
    drawn = rectangles(text)
    assert 0 < len(drawn) <= MAX_RECTANGLES
    assert f"{len(drawn):,} rectangles drawn for {n:,} intervals" in text
    assert f"{n - len(drawn):,}" in text


def test_an_empty_stream_says_so() -> None:
    for table in (None, [], {"worker": []}):
        assert "nothing was drawn" in timeline_html(table, "empty")


def test_hostile_names_do_not_leave_their_place() -> None:
    row = {
        "worker": HOSTILE,
        "thread": 1,
        "action": "compute",
        "name": HOSTILE,
        "start_s": 0.0,
        "stop_s": 1.0,
    }
    text = timeline_html([row], HOSTILE)
    assert "<script" not in text
    Page(text)
