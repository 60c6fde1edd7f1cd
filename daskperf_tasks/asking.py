"""What a driver asks for, and the plan that it describes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from daskperf_tasks.allocated import allocation_of
from daskperf_tasks.errors import InputError, MatrixError
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.settings import Settings, checkout

if TYPE_CHECKING:
    from daskperf_tasks.deploy.wheel_workloads import Known


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a driver asks for: the same for a form, a command and a schedule."""

    matrix: str = "nightly"
    #: Text of a matrix that is no file; ``matrix`` is then its name.
    matrix_text: str | None = None
    trigger: str = "cli"
    #: Path of a wheel; None takes the best of the wheel source.
    wheel: str | None = None
    #: Path of a reference wheel, ``none`` for none; None takes the last accepted run's.
    against: str | None = None
    scheduler: str | None = None
    n: tuple[int, ...] | None = None
    repeats: int | None = None


def plan_of(
    settings: Settings,
    ask: Ask,
    *,
    run_id: str,
    created_at: datetime,
    arms: tuple[Arm, ...],
    known: Known | None = None,
) -> Plan:
    """Make the plan that ``ask`` describes, without writing anything.

    Parameters
    ----------
    known
        The workloads that can be planned, with those of the wheel under test
        (:func:`daskperf_tasks.deploy.wheel_workloads.workloads_with`); None:
        those that are installed.

    Raises
    ------
    MatrixError
        With the line, the key and the nearest valid key, and with the installed
        packages whose workloads could not be loaded.
    """
    from daskperf_tasks.deploy.build import commit_of
    from daskperf_tasks.deploy.wheel_workloads import installed
    from daskperf_tasks.plan.build import make_plan
    from daskperf_tasks.plan.matrix_file import load_matrix
    from daskperf_tasks.plan.overrides import apply

    text, where = matrix_source(settings, ask)
    known = known or installed()
    allocation = allocation_of(settings, scheduler=ask.scheduler)
    registry = known.registry
    try:
        matrix = load_matrix(text, where=where, registry=registry, allocation=allocation)
    except MatrixError as err:
        if "unknown workload" in err.message:
            err.found = "\n".join(known.broken) or None
            if not known.own:
                err.todo = f"{err.todo}; a workload that a wheel brings is known with --subject"
        raise
    matrix = apply(matrix, registry=registry, n=ask.n, repeats=ask.repeats, allocation=allocation)
    root = checkout()
    return make_plan(
        matrix,
        run_id=run_id,
        created_at=created_at.isoformat(timespec="seconds"),
        trigger=ask.trigger,
        commit=commit_of(root) if root else "unknown: not run from a checkout",
        arms=arms,
        registry=registry,
        allocation=allocation,
    )


def matrix_source(settings: Settings, ask: Ask) -> tuple[str, str]:
    """Return the text of the matrix that is asked for, and where it stands.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read.
    """
    from daskperf_tasks.plan.matrix_source import read_matrix

    if ask.matrix_text is not None:
        return ask.matrix_text, ask.matrix
    path = matrix_path(settings, ask.matrix)
    return read_matrix(path), str(path)


def matrix_path(settings: Settings, name: str) -> Path:
    """Return the path of a matrix, given by path or by the name of a shipped one.

    Raises
    ------
    InputError
        When there is none, listing what there is.
    """
    if name.endswith(".toml") or "/" in name:
        path = Path(name)
        if path.is_file():
            return path
    else:
        path = settings.matrix_dir / f"{name}.toml"
        if path.is_file():
            return path
    there = sorted(p.stem for p in settings.matrix_dir.glob("*.toml"))
    near = difflib.get_close_matches(Path(name).stem, there, n=1)
    raise InputError(
        "no such matrix file",
        where=str(path),
        expected=f"a TOML file, or one of {', '.join(there)}",
        found=name,
        todo=f"did you mean {near[0]!r}?" if near else "give a path or one of these names",
    )
