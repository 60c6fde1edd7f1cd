from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from infra_helpers import listening_addresses, stack_members, until

from daskperf_infra.local import ports, processes, stack
from daskperf_infra.local.environment import stack_env
from daskperf_infra.local.state import StackState, Started, find_layout, load_state, save_state
from daskperf_tasks.errors import StackError

pytestmark = pytest.mark.stack

SMALL = ("object-server", "dask-scheduler", "lane-a", "lane-b")


def _pids(status: stack.StackStatus) -> dict[str, int | None]:
    return {s.name: s.pid for s in status.services}


def test_the_first_up_runs_what_was_asked_for(small_stack: Path) -> None:
    status = stack.status(small_stack)
    assert status.running == SMALL
    assert {s.state for s in status.services if s.name not in SMALL} == {"stopped"}
    assert all((s.rss_mib or 0) > 10 for s in status.services if s.name in SMALL)


def test_the_second_up_finds_what_runs(small_stack: Path) -> None:
    before = _pids(stack.status(small_stack))
    told: list[str] = []
    after = stack.up(small_stack, airflow=False, progress=told.append)
    assert _pids(after) == before
    assert told == [f"found running: {', '.join(SMALL)}"]


def test_nothing_listens_beyond_loopback(small_stack: Path) -> None:
    members = stack_members(small_stack)
    assert len(members) >= 6  # four services, and a worker process below each nanny
    assert listening_addresses(members) == {"127.0.0.1"}


def test_dask_answers_with_both_workers(small_stack: Path) -> None:
    from distributed import Client

    with Client(
        load_state(find_layout(small_stack)).services["dask-scheduler"].url.split()[0]
    ) as c:
        workers = c.scheduler_info(n_workers=-1)["workers"].values()
        assert sorted(w["name"] for w in workers) == ["lane-a", "lane-b"]
        assert all(w["nanny"] for w in workers)
        environment = c.run(lambda: dict(os.environ))
    for variables in environment.values():
        assert variables["OMP_NUM_THREADS"] == "1"
        assert not [name for name in variables if name.startswith("AIRFLOW")]


def test_the_store_takes_our_keys_and_no_others(small_stack: Path) -> None:
    import boto3
    from botocore.exceptions import ClientError

    env = stack_env(small_stack)

    def client(secret: str) -> object:
        return boto3.client(
            "s3",
            endpoint_url=env["AWS_ENDPOINT_URL_S3"],
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=secret,
            region_name=env["AWS_REGION"],
        )

    ours = client(env["AWS_SECRET_ACCESS_KEY"])
    assert [b["Name"] for b in ours.list_buckets()["Buckets"]] == ["daskperf"]  # type: ignore[attr-defined]
    with pytest.raises(ClientError):
        client("wrong").list_buckets()  # type: ignore[attr-defined]


@pytest.mark.parametrize("victim", ["object-server", "lane-a", "lane-b"])
def test_a_killed_service_is_healed_and_the_others_are_left_alone(
    small_stack: Path, victim: str
) -> None:
    before = _pids(stack.status(small_stack))
    pid = before[victim]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: stack.status(small_stack).service(victim).state == "stale")
    after = stack.up(small_stack, airflow=False)
    assert after.running == SMALL
    assert {n for n, p in _pids(after).items() if p != before[n]} == {victim}


def test_a_killed_worker_process_is_healed(small_stack: Path) -> None:
    nanny = stack.status(small_stack).service("lane-a").pid
    members = stack_members(small_stack)
    below = [p for p in members if processes.service_of(p) == "lane-a" and p != nanny]
    for pid in below:
        os.kill(pid, signal.SIGKILL)
    # The scheduler may need a moment to notice that the worker has gone.
    deadline = time.monotonic() + 60
    while True:
        stack.up(small_stack, airflow=False)
        members = stack_members(small_stack)
        fresh = [p for p in members if processes.service_of(p) == "lane-a" and p != nanny]
        all_new = bool(fresh) and not set(fresh) & set(below)
        if all_new and stack.status(small_stack).running == SMALL:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_killed_scheduler_takes_its_workers_along(small_stack: Path) -> None:
    before = _pids(stack.status(small_stack))
    pid = before["dask-scheduler"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    after = stack.up(small_stack, airflow=False)
    assert after.running == SMALL
    assert {n for n, p in _pids(after).items() if p != before[n]} == {
        "dask-scheduler",
        "lane-a",
        "lane-b",
    }


def test_a_service_that_hangs_is_replaced(small_stack: Path) -> None:
    pid = stack.status(small_stack).service("object-server").pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    after = stack.up(small_stack, airflow=False)
    assert after.running == SMALL
    assert after.service("object-server").pid != pid


def test_halves_of_uploads_are_cleared_when_the_server_was_killed(small_stack: Path) -> None:
    bucket = small_stack / "objects" / "daskperf"
    (bucket / "ledger").mkdir(exist_ok=True)
    half = bucket / "ledger" / ".rclone_temp_multipart_1"
    half.write_bytes(b"half")
    (bucket / "ledger" / "whole").write_bytes(b"whole")
    pid = stack.status(small_stack).service("object-server").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    stack.up(small_stack, airflow=False)
    assert not half.exists()
    assert (bucket / "ledger" / "whole").read_bytes() == b"whole"


def _foreign_record(home: Path, pid: int) -> Started:
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return Started(
        name="lane-a",
        identity=processes.Identity(pid=pid, start_ticks=ticks, boot_id=boot_id),
        command=("dask", "worker"),
        log=str(home / "logs" / "lane-a.log"),
        url="",
        started_s=0.0,
        fingerprint="",
    )


@pytest.mark.parametrize("ticks_agree", [True, False])
def test_a_stale_record_never_ends_a_foreign_process(
    tmp_path: Path, bystander: subprocess.Popen[bytes], ticks_agree: bool
) -> None:
    layout = find_layout(tmp_path / "state")
    layout.make()
    record = _foreign_record(layout.home, bystander.pid)
    if not ticks_agree:
        record = replace(record, identity=replace(record.identity, start_ticks=1))
    save_state(layout, StackState(stack_id="recycled", services={"lane-a": record}))
    assert stack.status(layout.home).service("lane-a").state == "foreign"
    told: list[str] = []
    after = stack.down(layout.home, progress=told.append, grace_s=0.1)
    assert bystander.poll() is None
    assert f"lane-a: pid {bystander.pid} is another program now, left alone" in told
    assert after.service("lane-a").state == "stopped"


def test_an_up_beside_it_takes_other_ports_and_survives_its_killing(
    small_stack: Path, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    """A second stack, whose first ``up`` is killed, then brought up by two at once."""
    home = tmp_path / "state"
    layout = find_layout(home)
    command = [sys.executable, "-m", "daskperf_infra.local", "up", "--no-airflow", "--json"]
    command += ["--home", str(home)]
    with socket.socket() as foreign:
        # Somebody sits on a port that this stack used before.
        foreign.bind(("127.0.0.1", 0))
        foreign.listen()
        taken = foreign.getsockname()[1]
        layout.make()
        record = _foreign_record(home, bystander.pid)
        save_state(
            layout,
            StackState(
                stack_id="second",
                ports={"object-server": taken},
                services={"lane-a": record},
            ),
        )
        try:
            first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            until(lambda: "dask-scheduler" in load_state(layout).services)
            first.kill()
            first.communicate()
            assert stack_members(home)
            both = [
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)
            ]
            outputs = [p.communicate(timeout=120) for p in both]
            assert [p.returncode for p in both] == [0, 0], outputs
            found = [json.loads(out) for out, _ in outputs]
            assert found[0]["services"] == [
                {**s, "rss_mib": found[0]["services"][n]["rss_mib"]}
                for n, s in enumerate(found[1]["services"])
            ]
            leaders = [p for p in stack_members(home) if os.getsid(p) == p]
            assert sorted(processes.service_of(p) or "" for p in leaders) == sorted(SMALL)
            mine, other = load_state(layout).ports, load_state(find_layout(small_stack)).ports
            used = ("object-server", "dask-scheduler", "dask-dashboard")
            assert {mine[p] for p in used}.isdisjoint({taken, *(other[p] for p in used)})
            assert stack.status(small_stack).running == SMALL
            assert (home / "lane.toml").read_text().count(f":{mine['dask-scheduler']}") == 1
            assert bystander.poll() is None
        finally:
            stack.down(home)
    assert stack_members(home) == ()
    assert stack.status(small_stack).running == SMALL


def test_a_held_port_is_avoided_and_its_holder_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "state"
    with socket.socket() as foreign:
        foreign.bind(("127.0.0.1", 0))
        foreign.listen()
        taken = foreign.getsockname()[1]
        monkeypatch.setitem(ports.PREFERRED, "object-server", taken)
        told: list[str] = []
        try:
            status = stack.up(home, airflow=False, progress=told.append)
            note = f"object-server uses port {load_state(find_layout(home)).ports['object-server']}"
            assert status.notes[0].startswith(f"{note}: {taken} is held by pid {os.getpid()} (")
            assert status.notes[0] in told
            assert str(status.service("object-server").url) != f"http://127.0.0.1:{taken}"
            assert status.running == SMALL
        finally:
            down = stack.down(home)
    assert {s.state for s in down.services} == {"stopped"}
    assert down.notes == ()
    assert stack_members(home) == ()


def test_a_service_that_cannot_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    home = tmp_path / "state"
    find_layout(home).make()
    (home / "dask" / "lane-a").write_text("a file where the worker wants a folder")
    try:
        with pytest.raises(StackError) as caught:
            stack.up(home, airflow=False)
    finally:
        stack.down(home)
    message = str(caught.value)
    assert message.startswith("lane-a did not come up")
    assert "ended with code 1" in message
    assert "FileExistsError" in message or "NotADirectoryError" in message
    assert stack_members(home) == ()
