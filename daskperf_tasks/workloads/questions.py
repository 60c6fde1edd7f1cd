"""A process that answers questions about workloads, one JSON line each: both of its ends.

Whatever asks a workload runs its author's code, which may print, hang or end its
process. So it has a process of its own; an answer is ``{"ok": ...}`` or
``{"error": "why not"}``, on a descriptor that nothing else is printed to.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

#: Of this process's environment, what is not for the workloads.
_DROPPED = ("AIRFLOW", "_AIRFLOW", "PYTHON")
_ROOT = Path(__file__).resolve().parent.parent.parent
#: Seconds for a process that closed its answers to have an exit code.
_END_S = 5.0


class NoAnswer(Exception):
    """There was none: ``code`` is that of the process that ended, None when time was up."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class Answerer:
    """The process, as the one who asks sees it.

    Parameters
    ----------
    module
        Run by ``python -m``; calls :func:`answer_questions`.
    arguments
        Of the module.
    path
        Folders that are first on its import path, such as that of an unpacked wheel.
    environ
        Added to the environment.
    printed
        Gets what it prints.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        path: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        printed: IO[bytes] | int = subprocess.DEVNULL,
    ) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith(_DROPPED)}
        own_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        folders = dict.fromkeys([*path, str(_ROOT), *filter(None, own_path)])
        self._buffer = b""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            env=env | dict(environ or {}) | {"PYTHONPATH": os.pathsep.join(folders)},
            start_new_session=True,
        )

    def ask(self, question: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer.

        Raises
        ------
        NoAnswer
            When the process ended, or did not answer in time; it is of no use any more.
        """
        stdin = self._process.stdin
        assert stdin is not None  # it is a pipe
        with contextlib.suppress(BrokenPipeError):  # its end is told by the missing answer
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        said: dict[str, Any] = json.loads(self._line(time.monotonic() + timeout_s))
        return said

    def _line(self, deadline: float) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None  # it is a pipe
        while b"\n" not in self._buffer:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([stdout], [], [], left)
            data = os.read(stdout.fileno(), 65536) if ready else b""
            if ready and not data:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_END_S)
            if not data:
                raise NoAnswer(self._process.poll())
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def close(self) -> None:
        """End the process and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def answer_questions(answer: Callable[[Any], Any], says: Callable[[BaseException], str]) -> None:
    """Be the process: answer until standard input ends.

    What is printed goes to standard error from now on.

    Parameters
    ----------
    answer
        Takes a question; what it returns is the answer, what it raises the reason why not.
    says
        Words an exception.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            said = {"ok": answer(json.loads(line))}
        except (Exception, SystemExit) as err:
            said = {"error": says(err)}
        print(json.dumps(said), file=answers, flush=True)
    answers.close()
