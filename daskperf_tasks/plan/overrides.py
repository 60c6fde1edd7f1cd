"""What a command line or a form changes in a matrix."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import ENVIRONMENTS, Environment
from daskperf_tasks.plan.matrix import Matrix, WorkloadRow
from daskperf_tasks.plan.matrix_text import render


def apply(
    matrix: Matrix,
    *,
    n: Sequence[int] | None = None,
    repeats: int | None = None,
    rounds: int | None = None,
    cells: Sequence[str] | None = None,
    environments: Sequence[str] | None = None,
) -> Matrix:
    """Return the matrix with the given changes; its text is that of the changed matrix.

    Parameters
    ----------
    n
        Values of the parameter ``n`` for the workloads that set it.
    repeats, rounds
        Instead of the matrix's; ``repeats`` also replaces those of single workloads.
    cells
        Patterns (``fnmatch``) of cell ids or labels to keep.
    environments
        Environments to keep.

    Raises
    ------
    InputError
        When a change says nothing (no workload sets ``n``), or leaves nothing.
    """
    if n is None and repeats is None and rounds is None and not cells and not environments:
        return matrix
    rows = matrix.workloads
    if n is not None:
        rows = _with_n(rows, n)
    if environments:
        rows = _only_environments(rows, environments)
    for name, value in (("repeats", repeats), ("rounds", rounds)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be 1 or more", found=str(value))
    if repeats is not None:
        rows = tuple(replace(row, repeats=None) for row in rows)
    changed = replace(
        matrix,
        workloads=rows,
        repeats=matrix.repeats if repeats is None else repeats,
        rounds=matrix.rounds if rounds is None else rounds,
        only=tuple(cells) if cells else matrix.only,
    )
    return replace(changed, text=render(changed))


def _with_n(rows: tuple[WorkloadRow, ...], n: Sequence[int]) -> tuple[WorkloadRow, ...]:
    values = tuple(dict.fromkeys(n))
    if not values or any(isinstance(v, bool) or v < 1 for v in values):
        raise InputError("n must be one or more numbers, each 1 or more", found=repr(list(n)))
    if not any(name == "n" for row in rows for name, _ in row.params):
        raise InputError("no workload of this matrix sets the parameter n", found=f"n={list(n)}")
    return tuple(
        replace(row, params=tuple((k, values if k == "n" else v) for k, v in row.params))
        for row in rows
    )


def _only_environments(
    rows: tuple[WorkloadRow, ...], wanted: Sequence[str]
) -> tuple[WorkloadRow, ...]:
    for name in wanted:
        if name not in get_args(Environment):
            near = difflib.get_close_matches(name, ENVIRONMENTS, n=1)
            raise InputError(
                f"unknown environment {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
                expected=", ".join(ENVIRONMENTS),
            )
    kept = [
        replace(row, environments=tuple(e for e in row.environments if e in wanted)) for row in rows
    ]
    kept = [row for row in kept if row.environments]
    if not kept:
        raise InputError(
            "no workload of this matrix runs in these environments", found=", ".join(wanted)
        )
    return tuple(kept)
