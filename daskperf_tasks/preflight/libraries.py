"""Whether the libraries that the planned workloads need are where their tasks run.

A library that is missing fails its cells only, so nothing here blocks: the other
cells are worth measuring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from daskperf_tasks.model.facts import Finding, ProcessFacts
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.workloads.protocol import libraries_of

#: Import name of a library -> names of the planned workloads that need it.
Needs = Mapping[str, tuple[str, ...]]

#: Libraries of the extra ``daskperf[workloads]`` by import name, with their distributions.
IN_EXTRA = {"sklearn": "scikit-learn", "xarray": "xarray"}


def needs_of(plan: Plan, workloads: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what the cells of a plan need.

    Parameters
    ----------
    plan
        The plan.
    workloads
        By name; a planned workload that is not among them needs nothing known.
    """
    found: dict[str, list[str]] = {}
    for name in sorted({c.cell.workload for c in plan.cells} & set(workloads)):
        for library in libraries_of(workloads[name]):
            found.setdefault(library, []).append(name)
    return {library: tuple(names) for library, names in sorted(found.items())}


def needs_with(
    plan: Plan, subject: Subject, data: bytes, *, local_root: Path
) -> dict[str, tuple[str, ...]]:
    """Return what a plan needs, its wheel's own workloads too.

    Parameters
    ----------
    plan
        The plan.
    subject, data
        The wheel under test.
    local_root
        Folder of this host's unpacked wheels.
    """
    from daskperf_tasks.deploy.wheel_workloads import workloads_with

    with workloads_with(subject, data, local_root=local_root) as known:
        return needs_of(plan, known.registry)


def library_findings(facts: tuple[ProcessFacts, ...], needs: Needs) -> Iterator[Finding]:
    """Say where a library is missing, or has another version than on the client."""
    client = next((f for f in facts if f.role == "client"), None)
    for library, workloads in needs.items():
        users = ", ".join(workloads)
        own = "missing" if client is None else client.libraries.get(library, "missing")
        for process in facts:
            found = process.libraries.get(library, "missing")
            if found == "missing":
                yield Finding(
                    level="warn",
                    code="library-missing",
                    role=process.role,
                    host=process.host,
                    name=process.name,
                    expected=f"{library}, which {users} {_needs(workloads)}",
                    found=f"no module {library}",
                    todo=f"{_install(library)} there, and restart it; until then the cells of "
                    f"{users} fail",
                )
            elif process.role != "client" and own != "missing" and found != own:
                yield Finding(
                    level="warn",
                    code="library-version",
                    role=process.role,
                    host=process.host,
                    name=process.name,
                    expected=f"{library} {own} (as the client), which {users} {_needs(workloads)}",
                    found=f"{library} {found}",
                    todo=_one_version(library, own),
                )


def _needs(workloads: tuple[str, ...]) -> str:
    return "needs" if len(workloads) == 1 else "need"


def _install(library: str) -> str:
    if library in IN_EXTRA:
        return f'pip install "daskperf[workloads]" (or {IN_EXTRA[library]})'
    return f"install what provides the module {library} (often: pip install {library})"


def _one_version(library: str, version: str) -> str:
    if version == "unknown":
        return f"bring {library} on the client and there to one version"
    name = IN_EXTRA.get(library, library)
    return f"pip install {name}=={version} there, and restart it"
