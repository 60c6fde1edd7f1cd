"""``daskperf experiment`` on a lane of its own: real processes, and none of them left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from daskperf_tasks.own_lane import own_lane

CHECKOUT = Path(__file__).resolve().parent.parent.parent
#: Of a process that stays: by this time it has ended, or it does not end.
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels are built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def home(tmp_path: Path, shared_cache: Path) -> Path:
    state = tmp_path / "state"
    state.mkdir()
    (state / "cache").symlink_to(shared_cache)
    (tmp_path / "tmp").mkdir()
    return state


def environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DASKPERF_", "AWS_"))}
    return kept | {
        "DASKPERF_HOME": str(home),
        "PYTHONPATH": str(CHECKOUT),
        "TMPDIR": str(home.parent / "tmp"),
    }


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "daskperf_tasks", *words]


TINY = (
    "experiment", "task-size", "--tasks", "2", "--tasks", "4", "--total-steps", "20000",
    "--rounds", "2", "--repeats", "2",
)  # fmt: skip


def ours(home: Path) -> list[psutil.Process]:
    """Living processes that have the state folder of this test in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            inside = process.environ().get("DASKPERF_HOME") == str(home)
            if inside and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def nothing_is_left(home: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (left := ours(home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [" ".join(p.cmdline()) for p in left] == []
    assert list((home.parent / "tmp").glob("daskperf-lane-*")) == []


def started(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*TINY, "--json"),
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if word in line:
            return
    raise AssertionError("".join(seen))


def test_an_experiment_from_question_to_answer(home: Path) -> None:
    done = subprocess.run(
        command(*TINY, "--json"),
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    document = json.loads(done.stdout)
    assert (document["state"], document["green"]) == ("complete", True)
    assert [p["label"] for p in document["experiment"]["points"]] == ["2 tasks", "4 tasks"]
    (result,) = document["results"]
    assert [p["state"] for p in result["points"]] == ["measured", "measured"]
    assert result["conclusion"]
    assert Path(document["report"]).is_file()
    assert "lane: one is started on this machine" in done.stderr
    plan = json.loads((home / "spool/profiles" / document["run_id"] / "plan.json").read_text())
    assert plan["matrix_name"] == "experiment-task-size"
    assert plan["experiments"] == [document["experiment"]]
    lane = json.loads((home / "spool/profiles" / document["run_id"] / "lane.json").read_text())
    assert lane["kind"] == "loopback"
    nothing_is_left(home)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_leaves_no_process(home: Path, how: signal.Signals) -> None:
    process = started(home)
    try:
        wait_for(process, "--- measure")
        assert len(ours(home)) > 3
        process.send_signal(how)
        _, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == (-how if how == signal.SIGKILL else 130)
    nothing_is_left(home)


@pytest.fixture
def lane() -> Iterator[str]:
    with own_lane() as address:
        yield address


def test_a_lane_of_ones_own_has_the_shape_of_the_embedded_one(lane: str) -> None:
    from distributed import Client

    with Client(lane, set_as_default=False) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        assert len(workers) == max(2, len(os.sched_getaffinity(0)))
        assert {w["nthreads"] for w in workers} == {2}
        assert all(w["nanny"] for w in workers)
        assert {w["host"] for w in workers} == {"127.0.0.1"}
        assert client.submit(sum, [1, 2]).result() == 3
