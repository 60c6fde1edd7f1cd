from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from daskperf_tasks.deploy.lease import acquire, holder, release, renew
from daskperf_tasks.errors import InfraError, LaneBusyError

CHECKOUT = Path(__file__).resolve().parent.parent.parent


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_one_run_at_a_time(tmp_path: Path) -> None:
    clock = Clock()
    mine = acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    with pytest.raises(LaneBusyError) as seen:
        acquire(tmp_path, "lab", "run-2", 60, clock=clock)
    text = str(seen.value)
    assert "run-1" in text and "1970-01-12T13:47:40+00:00" in text and "60 s from now" in text
    assert acquire(tmp_path, "other", "run-2", 60, clock=clock).token == 1
    assert holder(tmp_path, "lab", clock=clock) == mine


def test_the_same_run_may_ask_again(tmp_path: Path) -> None:
    clock = Clock()
    first = acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    clock.now += 30
    again = acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    assert (again.token, again.acquired_at) == (first.token, first.acquired_at)
    assert again.expires_at == clock.now + 60


def test_an_expired_lease_is_taken_over_and_the_old_holder_is_told(tmp_path: Path) -> None:
    clock = Clock()
    first = acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    clock.now += 61
    assert holder(tmp_path, "lab", clock=clock) is None
    second = acquire(tmp_path, "lab", "run-2", 60, clock=clock)
    assert second.token == first.token + 1
    with pytest.raises(LaneBusyError, match="run run-1 does not hold the lane lab") as seen:
        renew(tmp_path, "lab", "run-1", 60, clock=clock)
    assert "run-2 holds it (token 2)" in str(seen.value)
    assert release(tmp_path, "lab", "run-1") is False
    assert holder(tmp_path, "lab", clock=clock) == second


def test_release_is_idempotent_and_frees_the_lane(tmp_path: Path) -> None:
    clock = Clock()
    acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    assert release(tmp_path, "lab", "run-1") is True
    assert release(tmp_path, "lab", "run-1") is False
    assert acquire(tmp_path, "lab", "run-2", 60, clock=clock).token == 2


def test_renew_prolongs_and_needs_a_lease(tmp_path: Path) -> None:
    clock = Clock()
    with pytest.raises(LaneBusyError, match="no lease"):
        renew(tmp_path, "lab", "run-1", 60, clock=clock)
    acquire(tmp_path, "lab", "run-1", 60, clock=clock)
    clock.now += 120
    assert renew(tmp_path, "lab", "run-1", 60, clock=clock).expires_at == clock.now + 60


def _compete(home: Path, run_id: str, gate: object, out: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    try:
        acquire(home, "lab", run_id, 60)
        out.put(run_id)  # type: ignore[attr-defined]
    except LaneBusyError:
        out.put(None)  # type: ignore[attr-defined]


def test_of_processes_that_ask_at_once_one_gets_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    gate, out = context.Barrier(6), context.Queue()
    racers = [
        context.Process(target=_compete, args=(tmp_path, f"run-{i}", gate, out)) for i in range(6)
    ]
    for racer in racers:
        racer.start()
    answers = [out.get(timeout=30) for _ in racers]
    for racer in racers:
        racer.join()
    winners = [a for a in answers if a]
    held = holder(tmp_path, "lab")
    assert len(winners) == 1
    assert held is not None and held.run_id == winners[0]


def test_a_broken_lease_file_is_no_free_lane(tmp_path: Path) -> None:
    acquire(tmp_path, "lab", "run-1", 60)
    (tmp_path / "leases" / "lab.json").write_text("{")
    with pytest.raises(InfraError, match="cannot be read"):
        acquire(tmp_path, "lab", "run-2", 60)


def test_a_lease_ends_with_the_process_that_it_is_bound_to(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from daskperf_tasks.deploy.lease import acquire\n"
        "acquire(Path(sys.argv[1]), 'lab', sys.argv[2], 600, while_alive=True)\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), "run-1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(LaneBusyError, match="another run uses the lane"):
            acquire(tmp_path, "lab", "run-2", 60)
        owner.kill()
        owner.wait()
        taken = acquire(tmp_path, "lab", "run-2", 60)
    assert (taken.taken_over, taken.token) == ("run-1", 2)
    # Asking again for the same run still says after whom to clean up.
    assert acquire(tmp_path, "lab", "run-2", 60).taken_over == "run-1"
    assert release(tmp_path, "lab", "run-2")
    assert acquire(tmp_path, "lab", "run-1", 60).taken_over == ""
