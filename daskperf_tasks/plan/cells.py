"""One cell with its request, and cells that are needed for more than one reason."""

from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Cell, Environment, Scalar, scheduler_of
from daskperf_tasks.model.plan import PlannedCell, Request
from daskperf_tasks.plan.known import KnownWorkload
from daskperf_tasks.plan.matrix import Matrix


def make_cell(
    matrix: Matrix,
    workload: KnownWorkload,
    *,
    params: tuple[tuple[str, Scalar], ...],
    units: int,
    env: Environment,
    workers: int | None,
    repeats: int | None,
    timeout_s: float | None,
    required: bool,
) -> PlannedCell:
    """Return a cell; what is None is as the matrix says."""
    request = Request(
        workload=workload.name,
        version=workload.version,
        params=params,
        seed=matrix.seed,
        units=units,
        warmup=matrix.warmup,
        repeats=matrix.repeats if repeats is None else repeats,
        timeout_s=matrix.timeout_s if timeout_s is None else timeout_s,
    )
    cell = Cell(
        workload=workload.name,
        version=workload.version,
        params=params,
        env=env,
        sched=scheduler_of(env),
        workers=workers,
    )
    return PlannedCell(
        cell_id=cell.id,
        cell=cell,
        request=request,
        request_hash=request.hash,
        required=required,
    )


def merged(
    cells: tuple[PlannedCell, ...], more: tuple[PlannedCell, ...], whose: str
) -> tuple[PlannedCell, ...]:
    """Return all cells, each once.

    Parameters
    ----------
    cells, more
        Cells, in this order.
    whose
        Name of the experiment that needs ``more``, for the message.

    Raises
    ------
    InputError
        When both have a cell with different requests: one id cannot stand for
        two amounts of work.
    """
    by_id = {c.cell_id: c for c in cells}
    for cell in more:
        other = by_id.get(cell.cell_id)
        if other is None:
            by_id[cell.cell_id] = cell
        elif other.request == cell.request:
            required = other.required or cell.required
            by_id[cell.cell_id] = replace(other, required=required)
        else:
            raise InputError(
                f"experiment {whose!r} needs a cell that the matrix measures otherwise",
                where=cell.cell_id,
                expected=_work(cell.request),
                found=_work(other.request),
                todo="give both the same total of work and the same repeats, or other sizes",
            )
    return tuple(by_id.values())


def _work(request: Request) -> str:
    return (
        f"units = {request.units}, repeats = {request.repeats}, timeout_s = {request.timeout_s:g}"
    )
