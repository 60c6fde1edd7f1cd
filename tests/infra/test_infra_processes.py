from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from infra_helpers import until

from daskperf_infra.local import processes

# A leader with a child in its group, and one in a session of its own.
_FAMILY = """
import subprocess, sys, time
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["sleep", "600"], start_new_session=True)
print("ready", flush=True)
time.sleep(600)
"""
_STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def stack_id() -> Iterator[str]:
    marker = uuid.uuid4().hex
    yield marker
    processes.end(marker, grace_s=0)


def _start(stack_id: str, code: str, folder: Path, service: str = "s") -> processes.Identity:
    log = folder / f"{service}.log"
    identity = processes.start(
        [sys.executable, "-c", code],
        environment={
            **os.environ,
            processes.STACK_MARKER: stack_id,
            processes.SERVICE_MARKER: service,
        },
        log=log,
        cwd=folder,
    )
    until(lambda: "ready" in log.read_text())
    return identity


def test_a_started_process_is_ours_until_it_ends(stack_id: str, tmp_path: Path) -> None:
    identity = _start(stack_id, _FAMILY, tmp_path)
    assert processes.owner(identity, stack_id) == "ours"
    assert os.getsid(identity.pid) == identity.pid
    os.kill(identity.pid, signal.SIGKILL)
    until(lambda: processes.owner(identity, stack_id) == "gone")
    assert processes.exit_code(identity.pid) == -signal.SIGKILL


def test_a_pid_that_somebody_else_got_is_foreign(
    stack_id: str, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    identity = _start(stack_id, _FAMILY, tmp_path)
    # The same process, but remembered from another start, boot or stack.
    assert processes.owner(replace(identity, start_ticks=1), stack_id) == "foreign"
    assert processes.owner(replace(identity, boot_id="other"), stack_id) == "foreign"
    assert processes.owner(identity, "another stack") == "foreign"
    # A process that agrees in pid and start, but has no marker.
    ticks = int(Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(")")[2].split()[19])
    same = processes.Identity(pid=bystander.pid, start_ticks=ticks, boot_id=identity.boot_id)
    assert processes.owner(same, stack_id) == "foreign"


def test_ending_takes_the_family_and_nobody_else(
    stack_id: str, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    _start(stack_id, _FAMILY, tmp_path)
    until(lambda: len(processes.members(stack_id)) == 3)
    assert processes.end(stack_id, grace_s=5) == 3
    assert processes.members(stack_id) == ()
    assert bystander.poll() is None


def test_orphans_are_found_when_the_leader_was_killed(stack_id: str, tmp_path: Path) -> None:
    identity = _start(stack_id, _FAMILY, tmp_path)
    os.kill(identity.pid, signal.SIGKILL)
    until(lambda: len(processes.members(stack_id)) == 2)
    processes.end(stack_id, grace_s=5)
    assert processes.members(stack_id) == ()


def test_who_does_not_listen_is_made_to_end(stack_id: str, tmp_path: Path) -> None:
    identity = _start(stack_id, _STUBBORN, tmp_path)
    processes.end(stack_id, grace_s=0.2)
    assert processes.owner(identity, stack_id) == "gone"


def test_one_service_is_ended_and_the_other_stays(stack_id: str, tmp_path: Path) -> None:
    one = _start(stack_id, _FAMILY, tmp_path, "one")
    two = _start(stack_id, _FAMILY, tmp_path, "two")
    processes.end(stack_id, ["one"], grace_s=5)
    assert processes.owner(one, stack_id) == "gone"
    assert processes.owner(two, stack_id) == "ours"
    assert {processes.service_of(p) for p in processes.members(stack_id)} == {"two"}


def test_the_caller_is_spared(stack_id: str, tmp_path: Path) -> None:
    code = (
        f"from daskperf_infra.local import processes\nprint(processes.end({stack_id!r}, grace_s=0))"
    )
    environment = {**os.environ, processes.STACK_MARKER: stack_id}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"


def test_memory_is_that_of_the_process() -> None:
    expected = psutil.Process().memory_info().rss / 2**20
    assert processes.rss_mib([os.getpid()]) == pytest.approx(expected, rel=0.1)


def test_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {n}\n\n" for n in range(10_000)))
    assert processes.last_lines(log, 2) == "line 9998\nline 9999"
    assert "no log" in processes.last_lines(tmp_path / "none")
    log.write_text("")
    assert processes.last_lines(log) == "(the log is empty)"
