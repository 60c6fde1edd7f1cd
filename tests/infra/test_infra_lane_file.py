from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from daskperf_infra.local.lane_file import WorkerSize, lane_text, worker_size, write_lane
from daskperf_infra.local.state import Layout

SIZE = WorkerSize(nthreads=3, memory_gib=1.5)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(home=tmp_path, checkout=tmp_path)


def test_the_file_names_what_is_expected() -> None:
    assert tomllib.loads(lane_text("tcp://127.0.0.1:1", SIZE)) == {
        "name": "embedded",
        "kind": "loopback",
        "managed": True,
        "scheduler": "tcp://127.0.0.1:1",
        "workers": [
            {"name": "lane-a", "host": "127.0.0.1", "nthreads": 3, "memory_gib": 1.5},
            {"name": "lane-b", "host": "127.0.0.1", "nthreads": 3, "memory_gib": 1.5},
        ],
    }


def test_a_managed_file_follows_the_scheduler_and_keeps_edits(layout: Layout) -> None:
    write_lane(layout, "tcp://127.0.0.1:1", SIZE)
    edited = layout.lane_file.read_text().replace("nthreads = 3", "nthreads = 1") + "# mine\n"
    layout.lane_file.write_text(edited)
    write_lane(layout, "tcp://127.0.0.1:2", SIZE)
    assert layout.lane_file.read_text() == edited.replace("127.0.0.1:1", "127.0.0.1:2")


@pytest.mark.parametrize(
    "text",
    ['managed = false\nscheduler = "tcp://h:1"\n', 'scheduler = "tcp://h:1"\n', "not toml ["],
)
def test_a_file_of_ones_own_is_left_alone(layout: Layout, text: str) -> None:
    layout.lane_file.write_text(text)
    write_lane(layout, "tcp://127.0.0.1:2", SIZE)
    assert layout.lane_file.read_text() == text


def test_workers_get_two_threads_and_less_than_the_memory() -> None:
    size = worker_size()
    total_gib = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    assert size.nthreads >= 2
    assert 0.5 <= size.memory_gib <= max(0.5, total_gib / 4)
