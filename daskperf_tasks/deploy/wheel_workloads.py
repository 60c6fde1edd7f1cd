"""Workloads that come inside the wheel under test; the orchestrator never imports them.

A wheel whose metadata has the entry point group ``daskperf.workloads`` brings its own
workloads. Planning needs their names, versions and parameters before anything is deployed:
the wheel is unpacked into the folder that deploying uses later, and a process of its own,
with that folder first on its path, imports and describes them
(:mod:`daskperf_tasks.workloads.describe`).
"""

from __future__ import annotations

import configparser
import io
import os
import tempfile
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
from daskperf_tasks.workloads.questions import Answerer, NoAnswer
from daskperf_tasks.workloads.registry import GROUP, Workloads, load_registry

#: Seconds to import and describe all workloads of a wheel, and for each later question.
TIMEOUT_S = 60.0
#: Lines of what they printed that an error shows.
_TAIL_LINES = 20


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
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # __exit__ closes it
        try:
            self._process = Answerer(
                "daskperf_tasks.workloads.describe", path=[folder], printed=self._printed
            )
        except BaseException:
            self._printed.close()
            raise

    def __enter__(self) -> _Describer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()
        self._printed.close()

    def ask(self, question: Mapping[str, Any], what: str) -> Any:
        """Return the answer; ``what`` names the question in errors (WheelError)."""
        try:
            said = self._process.ask(question, self._timeout_s)
        except NoAnswer as err:
            ended = f"its process ended with code {err.code}"
            late = f"no answer within {self._timeout_s:g} s"
            raise self._error(what, late if err.code is None else ended) from err
        if "error" in said:
            raise self._error(what, said["error"])
        return said["ok"]

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
