"""Matrix -> plan: cells, requests, experiments, rounds in a seeded order."""

from __future__ import annotations

import fnmatch
import hashlib
import random
from collections.abc import Mapping, Sequence

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.experiment import PlannedExperiment
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.plan import Plan, PlannedCell, Round
from daskperf_tasks.plan.cells import make_cell, merged
from daskperf_tasks.plan.estimate import estimate_s
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.expand import expand
from daskperf_tasks.plan.known import Registry, own_units
from daskperf_tasks.plan.matrix import Matrix


def make_plan(
    matrix: Matrix,
    *,
    run_id: str,
    created_at: str,
    trigger: str,
    commit: str,
    arms: Sequence[Arm],
    registry: Registry,
    threads: int = 2,
    seen_s: Mapping[str, float] | None = None,
    allocation: Allocation | None = None,
) -> Plan:
    """Decide a whole run.

    Parameters
    ----------
    arms
        ``("subject",)``, or both when two wheels are compared in one night:
        then every round of the matrix becomes two neighbouring rounds
        (``2 k`` and ``2 k + 1``), one of each arm, with the cells in the same
        order; which arm goes first alternates from pair to pair (ABBA) after
        a seeded start.
    threads, seen_s
        For the estimate, see :func:`daskperf_tasks.plan.estimate.estimate_s`.
    allocation
        How many workers experiments take that are not told.

    Raises
    ------
    InputError
        When the matrix's ``only`` leaves no cell, or an experiment cannot be
        measured with this allocation.
    """
    cells, experiments = planned(matrix, registry, allocation)
    rounds = _rounds(matrix, tuple(c.cell_id for c in cells), tuple(arms))
    return Plan(
        run_id=run_id,
        created_at=created_at,
        matrix_name=matrix.name,
        matrix_sha256=hashlib.sha256(matrix.text.encode()).hexdigest(),
        matrix_text=matrix.text,
        seed=matrix.seed,
        arms=tuple(arms),
        cells=cells,
        rounds=rounds,
        max_attempts=matrix.max_attempts,
        estimate_s=estimate_s(
            cells, rounds=len(rounds), registry=registry, threads=threads, seen_s=seen_s
        ),
        trigger=trigger,
        commit=commit,
        experiments=experiments,
    )


def planned_cells(matrix: Matrix, registry: Registry) -> tuple[PlannedCell, ...]:
    """Return the cells of :func:`planned`."""
    return planned(matrix, registry)[0]


def planned(
    matrix: Matrix, registry: Registry, allocation: Allocation | None = None
) -> tuple[tuple[PlannedCell, ...], tuple[PlannedExperiment, ...]]:
    """Multiply a matrix out; the cells are in the order of the file, workloads first.

    A cell that two experiments, or an experiment and a workload's table, both
    need is measured once. An experiment that loses a cell to ``only`` is left
    out: what it asks could not be answered.
    """
    cells = _cells_of_workloads(matrix, registry)
    experiments = []
    for row in matrix.experiments:
        found = expand(row, matrix, registry=registry, allocation=allocation or Allocation())
        cells = merged(cells, found.cells, row.name)
        experiments.append(found.experiment)
    kept = _kept(cells, matrix.only)
    ids = {c.cell_id for c in kept}
    return kept, tuple(e for e in experiments if all(p.cell_id in ids for p in e.points))


def _cells_of_workloads(matrix: Matrix, registry: Registry) -> tuple[PlannedCell, ...]:
    cells = []
    for row in matrix.workloads:
        workload = registry[row.name]
        for point in row.points():
            units = own_units(workload, dict(point)) if row.units is None else row.units
            if units is None:
                raise InputError(
                    f"workload {row.name!r} does not count its units by its parameters",
                    expected="units = ... in its table",
                )
            cells += [
                make_cell(
                    matrix,
                    workload,
                    params=point,
                    units=units,
                    env=env,
                    workers=workers,
                    repeats=row.repeats,
                    timeout_s=row.timeout_s,
                    required=row.required,
                )
                for env, workers in row.places()
            ]
    return tuple(cells)


def _kept(cells: tuple[PlannedCell, ...], only: tuple[str, ...]) -> tuple[PlannedCell, ...]:
    if not only:
        return cells
    kept = tuple(c for c in cells if any(_matches(c, pattern) for pattern in only))
    if not kept:
        raise InputError(
            "no cell matches",
            expected="patterns of ids such as " + cells[0].cell_id,
            found=", ".join(only),
            todo="`daskperf plan MATRIX` shows the cells",
        )
    return kept


def _matches(planned: PlannedCell, pattern: str) -> bool:
    return fnmatch.fnmatchcase(planned.cell_id, pattern) or fnmatch.fnmatchcase(
        planned.cell.label, pattern
    )


def _rounds(matrix: Matrix, ids: tuple[str, ...], arms: tuple[Arm, ...]) -> tuple[Round, ...]:
    rng = random.Random(matrix.seed)
    start = rng.randrange(len(arms))
    rounds: list[Round] = []
    for i in range(matrix.rounds):
        order = list(ids)
        rng.shuffle(order)
        turn = arms if (i + start) % 2 == 0 else arms[::-1]
        for arm in turn:
            rounds.append(Round(index=len(rounds), arm=arm, order=tuple(order)))
    last = max(r.index for r in rounds if r.arm == "subject")
    return tuple(
        Round(index=r.index, arm=r.arm, order=r.order, profile=r.index == last) for r in rounds
    )
