"""The measuring process as its supervisor sees it: start, events, end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from daskperf_tasks.run import memory_watch
from daskperf_tasks.run.spec import RoundSpec

#: As Dask's nannies set them for workers: native libraries shall not start threads of
#: their own beside Dask's, and freed memory goes back to the system early.
_THREADS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}
#: Seconds between two looks at the memory of the measuring process and its children.
_LOOK_S = 0.2
#: Marks all processes of one measuring process, whatever session they move to.
_MARK = "DASKPERF_MEASURING"
_KEPT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
#: Seconds to leave by itself once it closes.
_CLOSE_S = 20.0


def child_environment(spec: RoundSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the measuring process.

    Without Airflow's variables and Python's own switches; the wheel's folder
    comes first on the import path. The hash seed is another one in every round,
    and follows from run and round, so that a round can be repeated as it was.
    """
    env = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or not name.startswith(("AIRFLOW", "_AIRFLOW", "PYTHON"))
    }
    root = str(Path(__file__).resolve().parent.parent.parent)
    path = [spec.wheel_folder, root, *environ.get("PYTHONPATH", "").split(os.pathsep)]
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(p for p in path if p))
    seed = int.from_bytes(spec.run_id[-6:].encode(), "big") * 31 + spec.round.index
    env["PYTHONHASHSEED"] = str(seed % 4294967295)
    env["PYTHONUNBUFFERED"] = "1"
    return env | _THREADS


#: Event -> the facts that come with it, and their types.
_EVENTS: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "open": {"cell_id": str, "attempt": int},
    "start": {"cell_id": str, "attempt": int, "limit_s": (int, float)},
    "done": {"cell_id": str, "attempt": int, "unit": str},
    "renew": {"cell_id": str, "why": str},
    "sides": {},
    "profile": {"limit_s": (int, float)},
    "closing": {},
}


def event_in(line: bytes) -> dict[str, Any] | None:
    """Return the event that a line tells, or None when it tells none.

    Examples
    --------
    >>> event_in(b'{"event": "sides"}')
    {'event': 'sides'}
    >>> event_in(b'{"event": "start"}') is event_in(b"5") is event_in(b"\\xff") is None
    True
    """
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    facts = _EVENTS.get(event.get("event", "")) if isinstance(event, dict) else None
    if facts is None or not all(isinstance(event.get(k), kind) for k, kind in facts.items()):
        return None
    told: dict[str, Any] = event
    return told


class MemoryExceeded(Exception):
    """The measuring process and its children hold more than they may; says how much."""


class Child:
    """A measuring process in a process group of its own."""

    def __init__(self, spec: RoundSpec, text: str, log: IO[bytes]) -> None:
        self._memory = memory_watch.limit_now(spec.memory_limit_bytes)
        self._mark = f"{os.getpid()}-{secrets.token_hex(8)}"
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "daskperf_tasks.run.round_main",
                    str(writing),
                    str(os.getpid()),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=child_environment(spec, os.environ) | {_MARK: self._mark},
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        # Should memory run out faster than it is looked at, it is this one that goes.
        with contextlib.suppress(OSError):
            Path(f"/proc/{self.pid}/oom_score_adj").write_text("1000")
        self._events = reading
        self._buffer = b""
        stdin = self._process.stdin
        assert stdin is not None  # it is a pipe
        # When it died at once, the events will tell.
        with contextlib.suppress(BrokenPipeError), stdin:
            stdin.write(text.encode())

    @property
    def pid(self) -> int:
        """Its process id, also that of its group."""
        return self._process.pid

    def next_event(self, deadline: float) -> dict[str, Any] | None:
        """Return the next event; None when the process closed the pipe.

        Lines that are no events are left out: a workload may write to any file that its
        process has open.

        Raises
        ------
        TimeoutError
            When ``deadline`` (monotonic clock) passes before.
        MemoryExceeded
            When the process and its children hold more memory than they may.
        """
        while True:
            while b"\n" not in self._buffer:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                ready, _, _ = select.select([self._events], [], [], min(left, _LOOK_S))
                if not ready:
                    self._look_at_memory()
                    continue
                data = os.read(self._events, 65536)
                if not data:
                    return None
                self._buffer += data
            line, _, self._buffer = self._buffer.partition(b"\n")
            event = event_in(line)
            if event is not None:
                return event

    def _look_at_memory(self) -> None:
        if self._memory is not None:
            used = memory_watch.used_bytes(memory_watch.family_of(self.pid))
            too_much = self._memory.exceeded_by(used)
            if too_much is not None:
                raise MemoryExceeded(too_much)

    def end(self) -> int | None:
        """Wait for the exit, kill what is left of the group.

        Returns the exit code (negative: the signal), or None when the process
        had to be killed because it did not leave.
        """
        try:
            self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        return self.kill()

    def kill(self) -> int:
        """Kill the process group and what left it; return the exit code (negative: the signal)."""
        with contextlib.suppress(ProcessLookupError):  # all of it has gone already
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
            # Those that a workload put into a session of their own.
            for pid in memory_watch.marked(_MARK, self._mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return code
