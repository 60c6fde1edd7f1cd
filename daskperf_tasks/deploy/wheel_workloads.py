"""Workloads that come inside the wheel under test; the orchestrator never imports them.

A wheel whose metadata has the entry point group ``daskperf.workloads`` brings its own
workloads. Planning needs their names, versions and parameters before anything is deployed:
the wheel is unpacked into the folder that deploying uses later, and a process of its own,
with that folder first on its path, imports and describes them
(:mod:`daskperf_tasks.workloads.describe`).
"""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.driver import install_here
from daskperf_tasks.errors import WheelError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.workloads.describe import KINDS
from daskperf_tasks.workloads.protocol import ParamSpec, Workload
from daskperf_tasks.workloads.registry import GROUP, Workloads, load_registry

#: Seconds to import and describe all workloads of a wheel, and for each later question.
TIMEOUT_S = 60.0
#: Lines of what they printed that an error shows.
_TAIL_LINES = 20
_ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelWorkload:
    """A workload of the wheel, as far as planning needs it."""

    name: str
    version: int
    unit: str
    requires: tuple[str, ...]
    libraries: tuple[str, ...]
    params: Mapping[str, ParamSpec]
    _process: _Describer = field(repr=False, compare=False)

    def unit_cost_s(self, params: Mapping[str, Scalar]) -> float:
        """Ask the workload; see the protocol."""
        return float(self._ask("unit_cost_s", params))

    def _ask(self, method: str, params: Mapping[str, Scalar]) -> Any:
        question = {"ask": self.name, "method": method, "params": dict(params)}
        return self._process.ask(question, f"workload {self.name!r}: {method}")


class CountingWorkload(WheelWorkload):
    """One that counts its units by its parameters."""

    __slots__ = ()

    def own_units(self, params: Mapping[str, Scalar]) -> int:
        """Ask the workload; see the protocol."""
        units: int = self._ask("own_units", params)
        return units


PlannedWorkload = Workload | WheelWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What can be planned with a wheel: the workloads that are installed, and its own."""

    #: Workloads by name.
    registry: Mapping[str, PlannedWorkload]
    #: Names of those that the wheel brings.
    own: frozenset[str]
    #: Why installed packages' workloads are missing.
    broken: tuple[str, ...]


def installed() -> Known:
    """Return what can be planned whatever the wheel is."""
    registry = load_registry()
    return Known(registry=registry, own=frozenset(), broken=registry.broken)


def entry_points(file: str, data: bytes) -> dict[str, str]:
    """Return the workloads that a wheel's metadata names: entry point -> ``module:OBJECT``.

    Raises
    ------
    WheelError
        When its ``entry_points.txt`` cannot be read.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt")]
        text = archive.read(names[0]) if names else b""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keep letter case
    try:
        parser.read_string(text.decode())
    except (configparser.Error, UnicodeDecodeError) as err:
        raise WheelError(
            "the wheel's entry_points.txt cannot be read", where=file, found=str(err)
        ) from err
    return dict(parser[GROUP]) if GROUP in parser else {}


@contextmanager
def workloads_with(
    subject: Subject | None, data: bytes | None, *, local_root: Path, timeout_s: float = TIMEOUT_S
) -> Iterator[Known]:
    """Give what can be planned when a wheel is deployed.

    Its own workloads can be asked inside the ``with`` block only. What another
    version of the same distribution brings, installed here, is left out.

    Parameters
    ----------
    subject, data
        The wheel; None: only what is installed.
    local_root
        Folder of this host's unpacked wheels.
    timeout_s
        Seconds to describe them all, and for each answer afterwards.

    Raises
    ------
    WheelError
        When one cannot be imported, is no workload, or does not answer in time, or two
        share a name: it says which and why.
    """
    points = entry_points(subject.file, data) if subject is not None and data is not None else {}
    if subject is None or data is None or not points:
        yield installed()
        return
    folder = install_here(subject, data, local_root)["folder"]
    with _Describer(subject.file, folder, timeout_s) as process:
        said = process.ask({"load": points}, f"the workloads {', '.join(sorted(points))}")
        own = {one["name"]: _workload(one, process) for one in said}
        yield _merged(subject, own, load_registry(without=[subject.name]))


def _workload(said: Mapping[str, Any], process: _Describer) -> WheelWorkload:
    params = {
        name: ParamSpec(
            kind=KINDS[spec["kind"]],
            default=spec["default"],
            choices=tuple(spec["choices"]),
            minimum=spec["minimum"],
            maximum=spec["maximum"],
        )
        for name, spec in said["params"].items()
    }
    made = CountingWorkload if said["counts_units"] else WheelWorkload
    return made(
        name=said["name"],
        version=said["version"],
        unit=said["unit"],
        requires=tuple(said["requires"]),
        libraries=tuple(said["libraries"]),
        params=params,
        _process=process,
    )


def _merged(subject: Subject, own: Mapping[str, WheelWorkload], others: Workloads) -> Known:
    twice = sorted(own.keys() & others.keys())
    if twice:
        other = type(others[twice[0]])
        raise WheelError(
            f"two workloads are named {twice[0]!r}",
            where=subject.file,
            found=f"the wheel's and {other.__module__}.{other.__qualname__}, which is installed",
            todo="rename the wheel's",
        )
    return Known(registry={**others, **own}, own=frozenset(own), broken=others.broken)


class _Describer:
    """The process that runs the workloads' code; it ends with the ``with`` block."""

    def __init__(self, file: str, folder: str, timeout_s: float) -> None:
        self._file = file
        self._timeout_s = timeout_s
        self._answers, writing = os.pipe()
        self._buffer = b""
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # __exit__ closes it
        env = {k: v for k, v in os.environ.items() if not k.startswith(_DROPPED)}
        own_path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = dict.fromkeys([folder, str(_ROOT), *filter(None, own_path)])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "daskperf_tasks.workloads.describe", str(writing)],
                stdin=subprocess.PIPE,
                stdout=self._printed,
                stderr=subprocess.STDOUT,
                env=env | {"PYTHONPATH": os.pathsep.join(path)},
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._answers)
            self._printed.close()
            raise
        finally:
            os.close(writing)

    def __enter__(self) -> _Describer:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        os.close(self._answers)
        self._printed.close()

    def ask(self, question: Mapping[str, Any], what: str) -> Any:
        """Return the answer; ``what`` names the question in errors (WheelError)."""
        stdin = self._process.stdin
        assert stdin is not None  # it is a pipe
        with contextlib.suppress(BrokenPipeError):  # its end is told by the missing answer
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
        line = self._line()
        if line is None:
            late = self._process.poll() is None
            ended = "" if late else f"its process ended with code {self._process.wait()}"
            raise self._error(what, ended or f"no answer within {self._timeout_s:g} s")
        said = json.loads(line)
        if "error" in said:
            raise self._error(what, said["error"])
        return said["ok"]

    def _line(self) -> bytes | None:
        deadline = time.monotonic() + self._timeout_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select(
                [self._answers], [], [], max(0.0, deadline - time.monotonic())
            )
            data = os.read(self._answers, 65536) if ready else b""
            if not data:
                if ready:
                    # The pipe is closed: give the process a moment to have an exit code.
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(5.0)
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _error(self, what: str, found: str) -> WheelError:
        self._printed.seek(0, os.SEEK_END)
        self._printed.seek(max(0, self._printed.tell() - 65536))
        tail = self._printed.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]
        return WheelError(
            "a workload of the wheel cannot be planned",
            where=f"{self._file}: {what}",
            found="\n".join([found, *tail]),
            todo="correct the wheel; `daskperf plan MATRIX --subject WHEEL` checks it",
        )


#: Of this process's environment, what is not for the workloads.
_DROPPED = ("AIRFLOW", "_AIRFLOW", "PYTHON")
