"""What an experiment ran on and with: the context without which its figures mean little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from daskperf_tasks.analyse.experiments.seen import Case, Seen
from daskperf_tasks.analyse.experiments.words import counted, listed, three
from daskperf_tasks.model.ids import Side, parse_cell_id, spell
from daskperf_tasks.model.measured import Measured, Missing

Environments = Mapping[Side, Mapping[str, Any]]
_PACKAGES = ("dask", "distributed", "numpy", "daskperf-kernels", "cython")
_THREAD_SETTINGS = "_NUM_THREADS"


def side_of_points(cell_ids: list[str]) -> Side:
    """Return the side that an experiment's cells run on, ``remote`` if any does."""
    sides = {parse_cell_id(i).side for i in cell_ids}
    return "remote" if "remote" in sides else "local"


def facts_of(environments: Environments, side: Side) -> Mapping[str, Any]:
    """Return the fingerprint of the processes that computed: a worker's, else the driver's."""
    document = environments.get(side, {})
    workers = document.get("workers")
    if side == "remote" and isinstance(workers, Mapping) and workers:
        first = workers[min(workers)]
        return first if isinstance(first, Mapping) else {}
    driver = document.get("driver", {})
    return driver if isinstance(driver, Mapping) else {}


def allocated_cores(facts: Mapping[str, Any], side: Side) -> Measured:
    """Return the cores that a process may use: its affinity, less if its cgroup has a quota."""
    if side == "remote":
        return Missing(missing="remote workers have allocations of their own")
    allowed, quota = facts.get("cores_allowed"), facts.get("cores_quota")
    if not isinstance(allowed, int):
        return Missing(missing="the environment was not recorded")
    return float(min(allowed, quota)) if isinstance(quota, int | float) else float(allowed)


def context_rows(case: Case, facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what a reader needs to believe the figures, as (name, text)."""
    rows: list[tuple[str, str]] = [
        ("CPU model", _cpu(case, facts)),
        ("allocation", _allocation(facts)),
        ("versions", _versions(case, facts)),
        ("native threads", _native(facts)),
        ("workers and tasks", _layout(case.measured)),
    ]
    rows += [(name.replace("_", " "), spell(value)) for name, value in case.planned.fixed]
    return tuple(rows)


_UNKNOWN = "not recorded"


def _cpu(case: Case, facts: Mapping[str, Any]) -> str:
    models = {b.host_load.cpu_model for s in case.measured for b in s.blocks}
    named = facts.get("cpu_model") or "; ".join(sorted(models))
    return str(named) if named else _UNKNOWN


def _allocation(facts: Mapping[str, Any]) -> str:
    allowed, cores = facts.get("cores_allowed"), facts.get("cores")
    if allowed is None:
        return _UNKNOWN
    text = f"{allowed} of {cores} cores by affinity"
    quota = facts.get("cores_quota")
    text += f", quota of {three(float(quota))} cores" if quota else ", no quota"
    memory = facts.get("memory_bytes")
    if isinstance(memory, int):
        text += f", {three(memory / 2**30)} GiB of memory"
    return text


def _versions(case: Case, facts: Mapping[str, Any]) -> str:
    named = [f"Python {facts['python']}"] if "python" in facts else []
    packages = facts.get("distributions")
    if isinstance(packages, Mapping):
        named += [f"{p} {packages[p]}" for p in _PACKAGES if p in packages]
    measured = {b.subject_version for s in case.measured for b in s.blocks}
    named += [f"wheel under test {v}" for v in sorted(measured)]
    return ", ".join(named) or _UNKNOWN


def _native(facts: Mapping[str, Any]) -> str:
    if not facts:
        return _UNKNOWN
    settings = facts.get("settings", {})
    said = [f"{k}={v}" for k, v in sorted(settings.items()) if k.endswith(_THREAD_SETTINGS)]
    text = ", ".join(said) if said else "no *_NUM_THREADS set"
    pools = facts.get("native_threads")
    if isinstance(pools, Mapping) and pools:
        text += "; in use: " + ", ".join(f"{k} {v}" for k, v in sorted(pools.items()))
    return text


def _layout(measured: tuple[Seen, ...]) -> str:
    layouts: dict[str, list[Seen]] = {}
    for s in measured:
        text = f"{counted(s.threads, 'thread')} in {counted(s.processes, 'process')}"
        layouts.setdefault(text, []).append(s)
    said = []
    for text, points in layouts.items():
        least, most = min(s.tasks for s in points), max(s.tasks for s in points)
        tasks = counted(most, "task") if least == most else f"{least:,} to {most:,} tasks"
        where = f": {listed([s.label for s in points])}" if len(layouts) > 1 else ""
        said.append(f"{text}, {tasks}{where}")
    return "; ".join(said) or "none"
