"""All workloads there are: built in, brought by installed packages, named in the environment.

A package brings its own through the entry point group ``daskperf.workloads``;
without packaging, ``DASKPERF_WORKLOADS="module:OBJECT,module2:OBJECT2"`` names
them. In both cases the module must be importable on the workers too.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from importlib import metadata

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import check_name
from daskperf_tasks.workloads.protocol import Workload

GROUP = "daskperf.workloads"
VARIABLE = "DASKPERF_WORKLOADS"
_BUILT_IN = (
    "daskperf_tasks.workloads.aggregates:AGGREGATES",
    "daskperf_tasks.workloads.integrate:INTEGRATE",
)


def load_registry(environ: Mapping[str, str] | None = None) -> dict[str, Workload]:
    """Return the workloads by name.

    Parameters
    ----------
    environ
        Where ``DASKPERF_WORKLOADS`` is looked up; ``os.environ`` when None.

    Raises
    ------
    InputError
        When one cannot be imported, is no workload, or two share a name.
    """
    env = os.environ if environ is None else environ
    specs = dict.fromkeys(_BUILT_IN, "daskperf")
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: p.value):
        specs.setdefault(point.value, f"entry point {point.name!r}")
    for spec in filter(None, (s.strip() for s in env.get(VARIABLE, "").split(","))):
        specs.setdefault(spec, VARIABLE)
    registry: dict[str, Workload] = {}
    origin: dict[str, str] = {}
    for spec, source in specs.items():
        workload = _load(spec, source)
        if workload.name in registry:
            raise InputError(
                f"two workloads are named {workload.name!r}",
                found=f"{origin[workload.name]} and {spec} ({source})",
                todo="rename one of them",
            )
        registry[workload.name] = workload
        origin[workload.name] = spec
    return registry


def _load(spec: str, source: str) -> Workload:
    module, _, name = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as err:
        raise InputError(
            f"workload {spec!r} cannot be imported",
            where=source,
            expected="module:OBJECT",
            found=f"{type(err).__name__}: {err}",
        ) from err
    if not isinstance(found, Workload):
        raise InputError(
            f"{spec!r} is no workload",
            where=source,
            expected="an object with " + ", ".join(sorted(_MEMBERS)),
            found=type(found).__name__,
        )
    check_name(found.name, "workload")
    return found


_MEMBERS = ("name", "version", "unit", "requires", "params", "unit_cost_s", "build", "check")
