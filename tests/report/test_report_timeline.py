from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from daskperf_tasks.report.timeline import LEFT, MAX_RECTANGLES, WIDTH, timeline_html
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
    for a in drawn:
        x, width = float(a["x"] or 0), float(a["width"] or 0)
        assert x >= LEFT
        assert x + width <= WIDTH + 0.01


def test_fresh_processes_of_the_next_round_have_the_same_lanes() -> None:
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
    assert lanes == ["w1 / 1", "w1 / 2"] * 3
    panels = [w for w in page.words if w.startswith("round ")]
    assert [p.partition(",")[0] for p in panels] == ["round 1", "round 2", "round 3"]
    starts = sorted({a["x"] for a in rectangles(timeline_html(rows, "rounds"))})
    assert len(starts) == 1  # each round begins at the left end


def row(cell_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "cell_id": cell_id,
        "arm": "subject",
        "round": 0,
        "attempt": 1,
        "repeat": 0,
        "phase": "measure",
        "worker": "tcp://w",
        "worker_name": "w1",
        "thread": 1,
        "action": "compute",
        "name": "integrate",
        "start_s": 0.0,
        "stop_s": 1.0,
        **changes,
    }


POOL = "integrate/v1;implementation={};steps=8;env=processes;sched=none"


def test_bands_name_the_cell_of_every_stretch() -> None:
    python, cython = POOL.format("python"), POOL.format("cython")
    rows = [row(python), row(python, start_s=1.0, stop_s=2.0, repeat=1)]
    rows += [row(cython, start_s=2.0, stop_s=2.004, phase="warmup")]
    page = Page(timeline_html(rows, "bands"))
    titles = [w for w in page.words if "task" in w]
    assert titles[-2:] == [
        "integrate python (processes): 2 tasks, 2.00 s",
        "integrate cython (processes): 1 task, 0.00400 s",
    ]
    assert "integrate python" in page.words
    # Its band is too narrow for any text: the tooltip has to do.
    assert "integrate cython" not in page.words
    assert "repeat 2, measure: 1.00 s" in page.words
    assert "repeat 1, warmup: 0.00400 s" in page.words


def test_the_processes_of_a_pool_are_numbered_block_by_block() -> None:
    rows = [
        row(POOL.format(kind), worker_name=str(pid), thread=pid, start_s=float(i), stop_s=i + 1.0)
        for i, (kind, pid) in enumerate(
            [("python", 11), ("python", 12), ("cython", 901), ("cython", 902)]
        )
    ]
    local = "integrate/v1;implementation=python;steps=8;env=local;sched=ws"
    rows.append(row(local, worker_name="0", start_s=5.0, stop_s=6.0))
    page = Page(timeline_html(rows, "pool"))
    lanes = [w for w in page.words if " / " in w]
    assert lanes == ["process 1 / 1", "process 2 / 1", "worker 0 / 1"]


def test_the_legend_lists_what_is_drawn_and_how_often() -> None:
    cell_id = POOL.format("python")
    plain = Page(timeline_html([row(cell_id)] * 3, "plain"))
    assert "integrate (3)" in plain.words
    assert "disk-write" not in plain.text
    stored = row(cell_id, action="disk-write", start_s=0.2, stop_s=0.206)
    text = timeline_html([row(cell_id), stored], "stored")
    assert "disk-write (1)" in Page(text).words
    assert "over 5 ms" in Page(text).text
    # Short as it is, it can be seen: drawn last and two units wide at least.
    assert float(rectangles(text)[-1]["width"] or 0) >= 2


def test_a_stream_whose_cells_have_no_proper_ids_is_drawn_all_the_same() -> None:
    page = Page(timeline_html([row("no cell id")], "odd"))
    assert "no cell id" in page.words


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
