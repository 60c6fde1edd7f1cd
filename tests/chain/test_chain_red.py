"""What must go red does, says why, and leaves everything usable."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.chain.conftest import Bench
from tests.wheels import make_wheel

LAST_RESORT = "tcp://127.0.0.1:1"


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_wheel_that_does_not_import(bench: Bench, tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path,
        "daskperf-kernels",
        "9.9",
        {"daskperf_kernels/__init__.py": "import no_such_thing"},
    )
    red = bench.run("run", "smoke", "--subject", str(wheel), "--json")
    assert red.code == 1, red.err
    assert red.document["state"] == "failed" and red.document["green"] is False
    assert "no_such_thing" in red.err
    run_id = red.document["run_id"]
    assert bench.artifact(run_id, "deployment.json")["state"] != "deployed"
    # Published with its reasons, not hidden.
    listed = bench.run("list", "--json").document["runs"]
    assert [(r["run_id"], r["state"]) for r in listed] == [(run_id, "failed")]
    assert any("deploy failed (product)" in r for r in listed[0]["reasons"])
    # The lane serves the next night.
    green = bench.run("run", "smoke", "--json")
    assert green.code == 0, green.err


def test_the_store_is_away_at_publish(bench: Bench) -> None:
    away = {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{free_port()}"}
    late = bench.run("run", "smoke", "--json", env=away)
    assert late.code == 3, late.err
    run_id = late.document["run_id"]
    # Measured well, but nobody can read it: that is no green night.
    assert (late.document["state"], late.document["green"]) == ("complete", False)
    assert any(r.startswith("publish failed (infra)") for r in late.document["reasons"])
    assert bench.artifact(run_id, "manifest.json")["state"] == "complete"
    still = bench.run("publish", "--json", env=away)
    assert still.code == 3
    assert list(still.document["waiting"]) == [run_id]

    drained = bench.run("publish", "--json")
    assert drained.code == 0
    assert drained.document == {"published": [run_id], "waiting": {}}
    listed = bench.run("list", "--json").document["runs"]
    assert [(r["run_id"], r["state"]) for r in listed] == [(run_id, "complete")]
    assert bench.run("verify", run_id).code == 0


def test_a_scheduler_that_does_not_answer(bench: Bench) -> None:
    begun = time.monotonic()
    red = bench.run("run", "smoke", "--scheduler", LAST_RESORT, "--json")
    assert red.code == 3
    assert time.monotonic() - begun < 90
    assert LAST_RESORT in red.err
    document = red.document
    assert document["state"] == "failed"
    # It is told apart from a bad wheel.
    assert any("deploy failed (infra)" in r for r in document["reasons"])


def test_a_typo_in_the_matrix(bench: Bench, tmp_path: Path) -> None:
    matrix = tmp_path / "typo.toml"
    matrix.write_text('[matrix]\nname = "x"\nseed = 1\nrounds = 1\nrepeat = 2\n')
    wrong = bench.run("run", str(matrix), "--json")
    assert wrong.code == 2
    assert f"{matrix}:5" in wrong.err
    assert "repeat" in wrong.err and "repeats" in wrong.err
    assert not list((bench.home / "spool").glob("profiles/*"))
    missing = bench.run("plan", "nightli", "--json")
    assert missing.code == 2
    assert "did you mean 'nightly'" in missing.document["error"]["todo"]


def test_two_runs_at_once(bench: Bench) -> None:
    first = bench.start("run", "smoke", "--json")
    try:
        leases = bench.home / "spool" / "profiles"
        deadline = time.monotonic() + 60
        while not list(leases.glob("*/deployment.json")):
            assert time.monotonic() < deadline and first.poll() is None
            time.sleep(0.1)
        second = bench.run("run", "smoke", "--json")
        out, err = first.communicate(timeout=240)
    finally:
        first.kill()
        first.wait()
    assert second.code == 3
    assert json.loads(out)["run_id"] in second.err
    assert second.document["error"]["type"] == "LaneBusyError"
    # The one that never began leaves no trace in the ledger.
    listed = bench.run("list", "--json").document["runs"]
    assert [r["run_id"] for r in listed] == [json.loads(out)["run_id"]]
    assert first.returncode == 0, err
    assert json.loads(out)["green"] is True


def test_an_unknown_run(bench: Bench) -> None:
    unknown = bench.run("show", "20200101T000000Z-000000", "--json")
    assert unknown.code == 2
    assert unknown.document["error"]["type"] == "UnknownRunError"


def test_a_run_killed_in_the_middle_costs_only_itself(bench: Bench) -> None:
    dying = bench.start("run", "smoke", "--json")
    try:
        deadline = time.monotonic() + 90
        while not list(bench.home.glob("spool/profiles/*/blocks/*/*.json")):
            assert time.monotonic() < deadline and dying.poll() is None
            time.sleep(0.05)
    finally:
        dying.kill()
        dying.wait()
    [dead] = [p.name for p in bench.home.glob("spool/profiles/*")]
    listed = bench.run("list", "--json").document["runs"]
    assert [(r["run_id"], r["state"]) for r in listed] == [(dead, "in progress")]

    # The lane is free at once, and the dead run's wheel is off it afterwards.
    green = bench.run("run", "smoke", "--json")
    assert green.code == 0, green.err
    assert f"run {dead} died holding this lane" in green.err
    deployment = bench.artifact(green.document["run_id"], "deployment.json")
    assert set(map(tuple, deployment["previous"].values())) == {()}

    # What it had measured is not lost: it can be closed with what it has.
    kept = {p.name: p.read_bytes() for p in bench.home.glob(f"spool/profiles/{dead}/blocks/*/*")}
    rebuilt = bench.run("rebuild", dead, "--json")
    assert rebuilt.code == 0, rebuilt.err
    assert rebuilt.document["state"] != "complete"
    assert kept == {
        p.name: p.read_bytes() for p in bench.home.glob(f"spool/profiles/{dead}/blocks/*/*")
    }
    assert bench.run("verify", dead).code == 0


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_is_closed(bench: Bench, signum: signal.Signals) -> None:
    ending = bench.start("run", "smoke", "--json")
    try:
        deadline = time.monotonic() + 90
        while not list(bench.home.glob("spool/profiles/*/blocks/*/*.json")):
            assert time.monotonic() < deadline and ending.poll() is None
            time.sleep(0.05)
        ending.send_signal(signum)
        out, err = ending.communicate(timeout=120)
    finally:
        ending.kill()
        ending.wait()
    assert ending.returncode == 130, err
    document = json.loads(out)
    assert document["green"] is False
    assert any("interrupted" in r for r in document["reasons"])
    assert bench.artifact(document["run_id"], "manifest.json")["state"] == document["state"]
    assert bench.artifact(document["run_id"], "restore.json")
    published = bench.run("publish", "--json")
    assert published.document["published"] == [document["run_id"]]
    assert bench.run("preflight", "--json").code == 0
