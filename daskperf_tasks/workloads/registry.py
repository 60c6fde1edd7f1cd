"""All workloads there are: built in, brought by installed packages, named in the environment.

A package brings its own through the entry point group ``daskperf.workloads``;
without packaging, ``DASKPERF_WORKLOADS="module:OBJECT,module2:OBJECT2"`` names
them. In both cases the module must be importable on the workers too. The wheel
under test may bring workloads as well: :mod:`daskperf_tasks.deploy.wheel_workloads`.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import RESERVED, check_name
from daskperf_tasks.workloads.protocol import Workload

GROUP = "daskperf.workloads"
VARIABLE = "DASKPERF_WORKLOADS"
_BUILT_IN = (
    "daskperf_tasks.workloads.aggregates:AGGREGATES",
    "daskperf_tasks.workloads.arrays.chunked_means:CHUNKED_MEANS",
    "daskperf_tasks.workloads.arrays.rechunk:RECHUNK",
    "daskperf_tasks.workloads.arrays.sliding_window:SLIDING_WINDOW",
    "daskperf_tasks.workloads.arrays.stencil:STENCIL",
    "daskperf_tasks.workloads.integrate:INTEGRATE",
    "daskperf_tasks.workloads.patterns.pattern:PATTERN",
    "daskperf_tasks.workloads.shuffle:SHUFFLE",
    "daskperf_tasks.workloads.suite.bag:BAG",
    "daskperf_tasks.workloads.suite.groupby:GROUPBY",
    "daskperf_tasks.workloads.suite.join:JOIN",
    "daskperf_tasks.workloads.suite.merge:MERGE",
    "daskperf_tasks.workloads.suite.merge_slow:MERGE_SLOW",
    "daskperf_tasks.workloads.suite.numpy_transpose:NUMPY",
    "daskperf_tasks.workloads.suite.tree:TREE",
    "daskperf_tasks.workloads.suite.vectorizer:VECTORIZER",
    "daskperf_tasks.workloads.suite.wordbag:WORDBAG",
    "daskperf_tasks.workloads.suite.xarray_grid:XARRAY",
)


class Workloads(dict[str, Workload]):
    """Workloads by name, and what could not be loaded.

    A broken package that happens to be installed must not keep the others from
    being planned and measured; whoever misses a workload is told of it.
    """

    def __init__(self) -> None:
        super().__init__()
        #: Of each entry point that gave no workload, in words.
        self.broken: tuple[str, ...] = ()


def load_registry(
    environ: Mapping[str, str] | None = None, *, without: Iterable[str] = ()
) -> Workloads:
    """Return the workloads by name.

    Parameters
    ----------
    environ
        Where ``DASKPERF_WORKLOADS`` is looked up; ``os.environ`` when None.
    without
        Distributions whose entry points are left alone: another version of
        them is about to bring its own.

    Raises
    ------
    InputError
        When one that the environment names cannot be imported or is no
        workload, or two share a name. An entry point that cannot be used is
        told by ``broken``.
    """
    env = os.environ if environ is None else environ
    specs = dict.fromkeys(_BUILT_IN, "daskperf")
    hidden = {_canonical(name) for name in without}
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: p.value):
        if point.dist is None or _canonical(point.dist.name) not in hidden:
            specs.setdefault(point.value, f"{_ENTRY_POINT} {point.name!r}{_of(point)}")
    for spec in filter(None, (s.strip() for s in env.get(VARIABLE, "").split(","))):
        specs[spec] = VARIABLE
    registry = Workloads()
    origin: dict[str, str] = {}
    for spec, source in specs.items():
        try:
            workload = load_workload(spec, source)
        except InputError as err:
            if not source.startswith(_ENTRY_POINT):
                raise
            registry.broken += (str(err),)
            continue
        if workload.name in registry:
            raise InputError(
                f"two workloads are named {workload.name!r}",
                found=f"{origin[workload.name]} and {spec} ({source})",
                todo="rename one of them",
            )
        registry[workload.name] = workload
        origin[workload.name] = spec
    return registry


def load_workload(spec: str, source: str) -> Workload:
    """Import one workload.

    Parameters
    ----------
    spec
        ``module:OBJECT``.
    source
        Who names it, for the message.

    Raises
    ------
    InputError
        When it cannot be imported or is no workload.
    """
    module, _, name = spec.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), name)
        fits = isinstance(found, Workload)  # this reads its properties: code of its author
    except (Exception, SystemExit) as err:
        raise InputError(
            f"workload {spec!r} cannot be imported",
            where=source,
            expected="module:OBJECT",
            found=f"{type(err).__name__}: {err}",
        ) from err
    if not fits:
        lacking = [m for m in _MEMBERS if not hasattr(found, m)]
        raise InputError(
            f"{spec!r} is no workload",
            where=source,
            expected="an object with " + ", ".join(sorted(_MEMBERS)),
            found=f"{type(found).__name__} without {', '.join(lacking)}",
        )
    workload: Workload = found
    check_name(workload.name, "workload")
    _check_members(workload, spec, source)
    return workload


def _check_members(workload: Workload, spec: str, source: str) -> None:
    """Refuse what could not stand in a cell's id."""
    faults = []
    version: Any = workload.version
    if type(version) is not int or not 1 <= version <= _LAST_VERSION:
        faults.append(("version", f"a whole number from 1 to {_LAST_VERSION:,}", repr(version)))
    for name in workload.params:
        if not isinstance(name, str) or not _PARAM.match(name) or name in RESERVED:
            expected = "names of letters, digits and _, none of " + ", ".join(sorted(RESERVED))
            faults.append(("params", expected, repr(name)))
    for member, expected, found in faults:
        raise InputError(
            f"{member} of workload {workload.name!r} cannot be used",
            where=f"{spec}, {source}",
            expected=expected,
            found=found[:80],
        )


def _canonical(name: str) -> str:
    """Return a distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _of(point: metadata.EntryPoint) -> str:
    return f" of {point.dist.name} {point.dist.version}" if point.dist else ""


_ENTRY_POINT = "entry point"
_LAST_VERSION = 1_000_000
_PARAM = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*\Z")
_MEMBERS = ("name", "version", "unit", "requires", "params", "unit_cost_s", "build", "check")
