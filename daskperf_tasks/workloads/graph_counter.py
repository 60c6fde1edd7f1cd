"""Properties of graphs that nobody ran: built and counted in a process with limits."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.model.measured import Missing

#: Seconds for one graph.
TIMEOUT_S = 30.0
#: Address space of the process, GiB.
MEMORY_GIB = 6.0
#: Of this process's environment, what is not for the workloads.
_DROPPED = ("AIRFLOW", "_AIRFLOW", "PYTHON")
_ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A repeat of a workload, as a cell would build it."""

    workload: str
    params: tuple[tuple[str, Scalar], ...]
    units: int
    seed: int
    #: Whether a cluster is there when it is built: Dask then shuffles peer to peer.
    cluster: bool


class GraphCounter:
    """Counts graphs one after another; a context manager.

    A graph that takes too long or too much costs its own answer: the process is
    ended and the next graph gets a new one.

    Parameters
    ----------
    timeout_s
        Limit of each graph; the first one's includes the start of the process.
    memory_gib
        Address space of the process.
    path
        Folders that are first on its import path, such as that of an unpacked wheel.
    hash_seed
        ``PYTHONHASHSEED`` of the process. What Dask fuses may depend on the order of
        sets: with None a graph can differ from one process to the next, as it does
        when it is run.
    """

    def __init__(
        self,
        *,
        timeout_s: float = TIMEOUT_S,
        memory_gib: float = MEMORY_GIB,
        path: Sequence[str] = (),
        hash_seed: int | None = None,
    ) -> None:
        self._timeout_s = timeout_s
        self._memory = int(memory_gib * 2**30)
        self._path = tuple(path)
        self._more = {} if hash_seed is None else {"PYTHONHASHSEED": str(hash_seed)}
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def __enter__(self) -> GraphCounter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def count(self, work: Work) -> GraphFacts | Missing:
        """Return the properties of a graph, or why they are not known."""
        process = self._process = self._process or self._start()
        stdin = process.stdin
        assert stdin is not None  # it is a pipe
        question = {
            "workload": work.workload,
            "params": dict(work.params),
            "units": work.units,
            "seed": work.seed,
            "cluster": work.cluster,
        }
        with contextlib.suppress(BrokenPipeError):  # its end is told by the missing answer
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        line, ended = self._line(process)
        if line is None:
            self._end()
            if not ended:
                return Missing(missing=f"it was not built within {self._timeout_s:g} s")
            return Missing(missing=f"the process that built it ended (code {process.returncode})")
        said = json.loads(line)
        if "error" in said:
            return Missing(missing=str(said["error"]))
        return GraphFacts(**said["ok"])

    def _start(self) -> subprocess.Popen[bytes]:
        self._buffer = b""
        env = {k: v for k, v in os.environ.items() if not k.startswith(_DROPPED)}
        own_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = dict.fromkeys([*self._path, str(_ROOT), *filter(None, own_path)])
        module = "daskperf_tasks.workloads.graph_child"
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env | self._more | {"PYTHONPATH": os.pathsep.join(path)},
            start_new_session=True,
        )

    def _line(self, process: subprocess.Popen[bytes]) -> tuple[bytes | None, bool]:
        """Return the answer, or None and whether the process ended by itself."""
        stdout = process.stdout
        assert stdout is not None  # it is a pipe
        deadline = time.monotonic() + self._timeout_s
        while b"\n" not in self._buffer:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([stdout], [], [], left)
            data = os.read(stdout.fileno(), 65536) if ready else b""
            if not data:
                return None, bool(ready)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line, False

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
