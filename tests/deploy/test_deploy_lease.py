"""The lease of a lane, kept by a real scheduler."""

from __future__ import annotations

import dataclasses
import logging
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from daskperf_tasks.deploy import lease_slot
from daskperf_tasks.deploy.lease import acquire, holder, release, renew, renewer
from daskperf_tasks.errors import ClusterError, LaneBusyError
from daskperf_tasks.model.facts import Lane
from tests.dask_cluster import CHECKOUT, Cluster, start_cluster


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = start_cluster(tmp_path_factory.mktemp("scheduler"), workers=0)
    yield running
    running.stop()


@pytest.fixture
def lane(scheduler: Cluster) -> Iterator[Lane]:
    lane = scheduler.lane(timeout_s=10.0)
    yield lane
    held = holder(lane)
    if held is not None:
        release(lane, held.run_id)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_run_at_a_time(lane: Lane) -> None:
    mine = acquire(lane, "run-1", 60)
    with pytest.raises(LaneBusyError) as seen:
        acquire(lane, "run-2", 60)
    text = str(seen.value)
    assert "run-1" in text and mine.holder in text and "60 s from now" in text
    assert "taken over when it expires" in text
    assert holder(lane) == mine


def test_by_another_name_of_lane_or_host_it_is_the_same_cluster(lane: Lane) -> None:
    acquire(lane, "run-1", 60)
    port = lane.scheduler.rpartition(":")[2]
    for address in (f"tcp://localhost:{port}", f"tcp://127.0.0.1:{port}"):
        other = dataclasses.replace(lane, name="another", scheduler=address)
        with pytest.raises(LaneBusyError, match="another run uses the lane"):
            acquire(other, "run-2", 60)


def test_the_same_run_may_ask_again(lane: Lane) -> None:
    first = acquire(lane, "run-1", 60)
    again = acquire(lane, "run-1", 90)
    assert (again.token, again.acquired_at) == (first.token, first.acquired_at)
    assert again.expires_at > first.expires_at + 29


def test_an_expired_lease_is_taken_over_and_the_old_holder_is_told(lane: Lane) -> None:
    first = acquire(lane, "run-1", 0.05)
    until(lambda: holder(lane) is None)
    second = acquire(lane, "run-2", 60)
    assert second.token == first.token + 1
    with pytest.raises(LaneBusyError, match="run run-1 does not hold the lane test") as seen:
        renew(lane, "run-1", 60)
    assert "run-2" in str(seen.value) and f"holds it (token {second.token})" in str(seen.value)
    assert release(lane, "run-1") is False
    assert holder(lane) == second
    # Also after that run has ended: what it did to the lane is not known here.
    assert release(lane, "run-2") is True
    with pytest.raises(LaneBusyError) as seen:
        renew(lane, "run-1", 60)
    assert "held it last" in str(seen.value)


def test_release_is_idempotent_and_frees_the_lane(lane: Lane) -> None:
    first = acquire(lane, "run-1", 60)
    assert release(lane, "run-1") is True
    assert release(lane, "run-1") is False
    assert acquire(lane, "run-2", 60).token == first.token + 1


def test_renew_prolongs_even_a_lapsed_one(lane: Lane) -> None:
    first = acquire(lane, "run-1", 0.05)
    until(lambda: holder(lane) is None)
    again = renew(lane, "run-1", 60)
    assert again.token == first.token and again.expires_at > first.expires_at + 59
    assert holder(lane) == again


def test_a_scheduler_that_was_started_again_is_told_anew(tmp_path: Path) -> None:
    cluster = start_cluster(tmp_path, workers=0)
    lane = cluster.lane(timeout_s=10.0)
    try:
        assert holder(lane) is None
        assert renew(lane, "run-1", 60).run_id == "run-1"
        with pytest.raises(LaneBusyError):
            acquire(lane, "run-2", 60)
    finally:
        cluster.stop()
    short = dataclasses.replace(lane, timeout_s=0.5)
    for ask in (lambda: release(short, "run-1"), lambda: acquire(short, "run-1", 60)):
        with pytest.raises(ClusterError, match="nothing listens"):
            ask()


def _compete(lane: Lane, run_id: str, gate: Any, out: Any) -> None:
    gate.wait()
    try:
        acquire(lane, run_id, 60)
        out.put(run_id)
    except LaneBusyError:
        out.put(None)


def test_of_processes_that_ask_at_once_one_gets_it(lane: Lane) -> None:
    context = multiprocessing.get_context("fork")
    gate, out = context.Barrier(6), context.Queue()
    racers = [
        context.Process(target=_compete, args=(lane, f"run-{i}", gate, out)) for i in range(6)
    ]
    for racer in racers:
        racer.start()
    answers = [out.get(timeout=30) for _ in racers]
    for racer in racers:
        racer.join()
    winners = [a for a in answers if a]
    held = holder(lane)
    assert len(winners) == 1
    assert held is not None and held.run_id == winners[0]


OWNER = (
    "import sys; from daskperf_tasks.deploy.lease import acquire\n"
    "from daskperf_tasks.deploy.lane_file import adhoc_lane\n"
    "acquire(adhoc_lane(sys.argv[1]), 'run-1', 600, while_alive=sys.argv[2] == 'bound')\n"
    "print('held', flush=True); sys.stdin.read()"
)


@pytest.mark.parametrize("bound", [True, False], ids=["bound", "free"])
def test_a_lease_ends_with_the_process_that_it_is_bound_to(
    lane: Lane, bound: bool, caplog: pytest.LogCaptureFixture
) -> None:
    words = [sys.executable, "-c", OWNER, lane.scheduler, "bound" if bound else "free"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        held = holder(lane)
        assert held is not None and held.holder.endswith(f":{owner.pid}")
        with pytest.raises(LaneBusyError, match="another run uses the lane"):
            acquire(lane, "run-2", 60)
        owner.kill()
        owner.wait()
    if not bound:
        with pytest.raises(LaneBusyError):
            acquire(lane, "run-2", 60)
        return
    with caplog.at_level(logging.WARNING, "daskperf"):
        assert acquire(lane, "run-2", 60).token == held.token + 1
    assert "run run-1 died holding this lane" in caplog.text


def test_of_two_that_find_the_owner_dead_the_second_has_to_wait() -> None:
    scheduler = SimpleNamespace()
    asked = {"holder": "h:1", "machine": "m", "owner_started": 1.0}
    dead = lease_slot.take({**asked, "run_id": "dead"}, 60, None, scheduler)["held"]
    one = lease_slot.take({**asked, "run_id": "one"}, 60, dead["token"], scheduler)
    two = lease_slot.take({**asked, "run_id": "two"}, 60, dead["token"], scheduler)
    assert (one["ours"], two["ours"]) == (True, False)
    assert two["held"]["run_id"] == "one" and two["held"]["token"] == dead["token"] + 1


def test_renewing_is_done_once_in_a_third_of_the_time(scheduler: Cluster, lane: Lane) -> None:
    now = [0.0]
    first = acquire(lane, "run-1", 60)
    tick = renewer(lane, "run-1", 60, clock=lambda: now[0])
    for now[0] in (1.0, 10.0, 19.9):
        tick()
    assert holder(lane) == first
    now[0] = 20.1
    tick()
    second = holder(lane)
    assert second is not None and second.expires_at > first.expires_at
    now[0] = 40.0
    tick()
    assert holder(lane) == second
    # Lost to another run: that is told; a scheduler that is silent only logged.
    release(lane, "run-1")
    acquire(lane, "run-2", 60)
    now[0] = 41.0
    with pytest.raises(LaneBusyError):
        tick()
    gone = dataclasses.replace(lane, scheduler="tcp://127.0.0.1:1", timeout_s=0.3)
    late = renewer(gone, "run-1", 0.0, clock=lambda: now[0])
    late()
