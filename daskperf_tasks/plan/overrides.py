"""What a command line or a form changes in a matrix."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import ENVIRONMENTS, Environment
from daskperf_tasks.plan import limits
from daskperf_tasks.plan.build import planned
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.known import Registry
from daskperf_tasks.plan.matrix import ExperimentRow, Matrix, WorkloadRow
from daskperf_tasks.plan.matrix_text import render
from daskperf_tasks.plan.override_n import with_n


def apply(
    matrix: Matrix,
    *,
    registry: Registry,
    n: Sequence[int] | None = None,
    repeats: int | None = None,
    rounds: int | None = None,
    cells: Sequence[str] | None = None,
    environments: Sequence[str] | None = None,
    allocation: Allocation | None = None,
) -> Matrix:
    """Return the matrix with the given changes; its text is that of the changed matrix.

    The limits are those of a matrix file: :mod:`daskperf_tasks.plan.limits`
    and the workloads' own for their parameters.

    Parameters
    ----------
    registry
        Workloads by name.
    n
        Values of the parameter ``n`` for the workloads that have it. Tables that
        differ in nothing but ``n`` and ``units`` would then measure the same cell
        twice: each value is taken by the table whose own ``n`` is nearest.
    repeats, rounds
        Instead of the matrix's; ``repeats`` also replaces those of single workloads.
    cells
        Patterns (``fnmatch``) of cell ids or labels to keep.
    environments
        Environments to keep, of workloads. An experiment is kept as it is when
        all its cells are in them, and left out otherwise.
    allocation
        How many workers there are, for experiments.

    Raises
    ------
    InputError
        Naming the option, its limits and what was found; or when a change says
        nothing (no workload has ``n``), or leaves nothing.
    """
    if n is None and repeats is None and rounds is None and not cells and not environments:
        return matrix
    rows, experiments = matrix.workloads, matrix.experiments
    for name, value, allowed in (
        ("repeats", repeats, limits.REPEATS),
        ("rounds", rounds, limits.ROUNDS),
    ):
        if value is not None and value not in allowed:
            raise InputError(
                f"option {name} is out of its limits",
                where=f"--{name}, or {name} in the form",
                expected=allowed.text,
                found=limits.shown(value),
            )
    if n is not None:
        rows = with_n(rows, n, registry)
    if environments:
        _check_environments(environments)
        experiments = _only_inside(matrix, environments, registry, allocation)
        rows = _only_environments(rows, environments)
        if not rows and not experiments:
            raise InputError(
                "nothing of this matrix runs in these environments", found=", ".join(environments)
            )
    if repeats is not None:
        rows = tuple(replace(row, repeats=None) for row in rows)
        experiments = tuple(replace(row, repeats=None) for row in experiments)
    changed = replace(
        matrix,
        workloads=rows,
        experiments=experiments,
        repeats=matrix.repeats if repeats is None else repeats,
        rounds=matrix.rounds if rounds is None else rounds,
        only=tuple(cells) if cells else matrix.only,
    )
    _check_size(changed)
    _check_distinct(changed)
    if changed.experiments:
        whole = replace(changed, only=())
        _check_size(changed, len(planned(whole, registry, allocation)[0]))
    return replace(changed, text=render(changed))


def _check_size(matrix: Matrix, cells: int | None = None) -> None:
    if cells is None:
        cells = sum(row.cells for row in matrix.workloads)
    for what, found, most in (
        ("cells", cells, limits.CELLS),
        ("blocks (cells times rounds)", cells * matrix.rounds, limits.BLOCKS),
    ):
        if found > most:
            raise InputError(
                f"with these options the matrix makes too many {what}",
                where=matrix.name,
                expected=f"at most {most:,}",
                found=f"{found:,}",
            )


def _check_distinct(matrix: Matrix) -> None:
    seen: set[object] = set()
    for row in matrix.workloads:
        for point in row.points():
            for env, workers in row.places():
                if (row.name, point, env, workers) in seen:
                    raise InputError(
                        "with these options the matrix measures one cell in two of its tables",
                        where=matrix.name,
                        found=f"workload {row.name!r} with {dict(point)} in {env!r}",
                        todo="choose the environments, or a matrix with one table for it",
                    )
                seen.add((row.name, point, env, workers))


def _only_inside(
    matrix: Matrix, wanted: Sequence[str], registry: Registry, allocation: Allocation | None
) -> tuple[ExperimentRow, ...]:
    """Return the experiments whose cells are all in these environments."""
    whole = replace(matrix, workloads=(), only=())
    cells, experiments = planned(whole, registry, allocation)
    env_of = {c.cell_id: c.cell.env for c in cells}
    inside = {e.name for e in experiments if all(env_of[p.cell_id] in wanted for p in e.points)}
    return tuple(row for row in matrix.experiments if row.name in inside)


def _check_environments(wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in get_args(Environment):
            near = difflib.get_close_matches(name, ENVIRONMENTS, n=1)
            raise InputError(
                f"unknown environment {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                expected=", ".join(ENVIRONMENTS),
            )


def _only_environments(
    rows: tuple[WorkloadRow, ...], wanted: Sequence[str]
) -> tuple[WorkloadRow, ...]:
    kept = [
        replace(row, environments=tuple(e for e in row.environments if e in wanted)) for row in rows
    ]
    return tuple(row for row in kept if row.environments)
