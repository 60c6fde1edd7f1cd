"""What a driver asks for, and the plan that it describes."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.settings import Settings, checkout


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a driver asks for: the same for a form, a command and a schedule."""

    matrix: str = "nightly"
    trigger: str = "cli"
    #: Path of a wheel; None takes the best of the wheel source.
    wheel: str | None = None
    #: Path of a reference wheel, ``none`` for none; None takes the last accepted run's.
    against: str | None = None
    scheduler: str | None = None
    n: tuple[int, ...] | None = None
    repeats: int | None = None


def plan_of(
    settings: Settings, ask: Ask, *, run_id: str, created_at: datetime, arms: tuple[Arm, ...]
) -> Plan:
    """Make the plan that ``ask`` describes, without writing anything.

    Raises
    ------
    MatrixError
        With the line, the key and the nearest valid key.
    """
    from daskperf_tasks.deploy.build import commit_of
    from daskperf_tasks.plan.build import make_plan
    from daskperf_tasks.plan.matrix_file import load_matrix, read_matrix
    from daskperf_tasks.plan.overrides import apply
    from daskperf_tasks.workloads.registry import load_registry

    path = matrix_path(settings, ask.matrix)
    registry = load_registry()
    matrix = load_matrix(read_matrix(path), where=str(path), registry=registry)
    matrix = apply(matrix, registry=registry, n=ask.n, repeats=ask.repeats)
    root = checkout()
    return make_plan(
        matrix,
        run_id=run_id,
        created_at=created_at.isoformat(timespec="seconds"),
        trigger=ask.trigger,
        commit=commit_of(root) if root else "unknown: not run from a checkout",
        arms=arms,
        registry=registry,
    )


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
