from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.cluster.connect import open_client
from daskperf_tasks.deploy.lane_file import adhoc_lane, load_lane, parse_lane
from daskperf_tasks.errors import InputError
from daskperf_tasks.model.facts import Lane, LaneWorker

GOOD = """\
name = "lab"
scheduler = "tcp://10.0.0.5:8786"
kind = "cluster"
managed = false
timeout_s = 7

[[workers]]
name = "node-a"
host = "10.0.0.6"
nthreads = 8
memory_gib = 16

[[workers]]
name = "node-b"
"""


def test_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "lane.toml"
    path.write_text(GOOD)
    assert load_lane(path) == Lane(
        name="lab",
        scheduler="tcp://10.0.0.5:8786",
        kind="cluster",
        timeout_s=7.0,
        workers=(
            LaneWorker(name="node-a", host="10.0.0.6", nthreads=8, memory_gib=16.0),
            LaneWorker(name="node-b"),
        ),
    )


def test_the_same_scheduler_by_hand_keeps_the_lane(tmp_path: Path) -> None:
    path = tmp_path / "lane.toml"
    path.write_text(GOOD)
    assert load_lane(path, "10.0.0.5:8786").name == "lab"


def test_another_scheduler_is_another_lane(tmp_path: Path) -> None:
    path = tmp_path / "lane.toml"
    path.write_text(GOOD)
    lane = load_lane(path, "tcp://other:8786")
    assert (lane.name, lane.scheduler, lane.workers) == (
        "adhoc-other-8786",
        "tcp://other:8786",
        (),
    )


def test_no_file_but_a_scheduler(tmp_path: Path) -> None:
    assert load_lane(tmp_path / "none.toml", "127.0.0.1:1") == adhoc_lane("127.0.0.1:1")
    assert load_lane(None, "127.0.0.1:1").kind == "loopback"


def test_neither_file_nor_scheduler() -> None:
    with pytest.raises(InputError, match="no lane and no scheduler") as seen:
        load_lane(None)
    assert "daskperf lane up" in str(seen.value)


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read") as seen:
        load_lane(tmp_path / "lane.toml")
    assert str(tmp_path / "lane.toml") in str(seen.value)
    assert "DASKPERF_LANE" in str(seen.value)


def test_a_scheduler_by_hand_stands_in_for_a_missing_one(tmp_path: Path) -> None:
    path = tmp_path / "lane.toml"
    path.write_text('name = "lab"\n[[workers]]\nname = "a"\n')
    lane = load_lane(path, "tcp://h:1")
    assert (lane.name, lane.scheduler, len(lane.workers)) == ("lab", "tcp://h:1", 1)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('name = "a"\nschedular = "tcp://h:1"\n', 2, "did you mean scheduler?"),
        (GOOD.replace("nthreads = 8", "threads = 8"), 10, "did you mean nthreads?"),
        (GOOD.replace("nthreads = 8", 'nthreads = "8"'), 10, "a whole number"),
        (GOOD.replace("nthreads = 8", "nthreads = true"), 10, "a whole number"),
        (GOOD.replace("nthreads = 8", "nthreads = 0"), 10, "more than 0"),
        (GOOD.replace("nthreads = 8", "nthreads = -2"), 10, "more than 0"),
        *(
            (GOOD.replace("memory_gib = 16", f"memory_gib = {x}"), 11, "more than 0")
            for x in ("nan", "inf", "-inf", "-1", "0", "0.0", "1" + "0" * 400)
        ),
        (GOOD.replace("timeout_s = 7", "timeout_s = nan"), 5, "out of range"),
        (GOOD.replace("timeout_s = 7", "timeout_s = 1" + "0" * 400), 5, "out of range"),
        (GOOD.replace("10.0.0.5:8786", "10.0.0.5"), 2, "not the address"),
        (GOOD.replace("tcp://10", "http://10"), 2, "such as tcp://10.0.0.5:8786"),
        (GOOD.replace("node-b", "node-a"), 14, "two workers of one name"),
        (GOOD.replace('name = "node-b"', 'host = "x"'), 13, "has no name"),
        (GOOD.replace('"cluster"', '"clutser"'), 3, "did you mean cluster?"),
        (GOOD.replace("timeout_s = 7", "timeout_s = -1"), 5, "out of range"),
    ],
)
def test_errors_name_line_key_and_nearest(text: str, line: int, said: str) -> None:
    with pytest.raises(InputError) as seen:
        parse_lane(text, where="lane.toml")
    assert seen.value.where == f"lane.toml:{line}"
    assert said in str(seen.value)


def test_broken_toml_and_no_scheduler() -> None:
    with pytest.raises(InputError, match="no TOML") as seen:
        parse_lane("name = \n", where="lane.toml")
    assert "line 1" in str(seen.value)
    with pytest.raises(InputError, match="names no scheduler"):
        parse_lane('name = "a"\n', where="lane.toml")
    with pytest.raises(InputError, match="lane name"):
        parse_lane('name = "Not Good"\nscheduler = "h:1"\n', where="lane.toml")


NO_ADDRESS = [
    "garbage",
    "",
    " ",
    "http://x:1",
    "inproc://x",
    "tcp://",
    "h:",
    ":1",
    "tcp://h:0",
    "tcp://h:65536",
    "tcp://h:8786/x",
    "h:8786:9",
    "a b:1",
    "://h:1",
    "tcp://h:1e3",
    "h:-1",
]


@pytest.mark.parametrize("address", NO_ADDRESS)
def test_what_is_no_address_is_told_at_once(tmp_path: Path, address: str) -> None:
    path = tmp_path / "lane.toml"
    path.write_text(GOOD)
    for lane_file in (path, tmp_path / "none.toml", None):
        with pytest.raises(InputError, match="not the address of a Dask scheduler") as seen:
            load_lane(lane_file, address)
        assert "tcp://10.0.0.5:8786" in str(seen.value)
    with pytest.raises(InputError, match="not the address"), open_client(address, timeout_s=9):
        pass


@pytest.mark.parametrize("address", ["h:1", " tls://node-a.lab:65535 ", "[::1]:8786", "10.0.0.5:1"])
def test_good_addresses(address: str) -> None:
    assert load_lane(None, address).scheduler.endswith(address.strip())
