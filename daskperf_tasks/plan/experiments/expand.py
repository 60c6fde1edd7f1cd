"""From an ``[[experiment]]`` table to the planned experiment and its cells."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.experiment import PlannedExperiment, Point
from daskperf_tasks.model.ids import check_value
from daskperf_tasks.model.plan import PlannedCell
from daskperf_tasks.plan.cells import make_cell
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.design import KindSpec, Wanted
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.option import Chosen, OptionError
from daskperf_tasks.plan.known import Registry, own_units
from daskperf_tasks.plan.limits import UNITS, shown
from daskperf_tasks.plan.matrix import ExperimentRow, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """An experiment on paper."""

    experiment: PlannedExperiment
    #: Of its points, in their order, each once.
    cells: tuple[PlannedCell, ...]


class ExperimentError(InputError):
    """An experiment that cannot be measured as it was asked for."""

    #: The option to blame; empty: all of them together.
    option: str = ""


def expand(
    row: ExperimentRow, matrix: Matrix, *, registry: Registry, allocation: Allocation
) -> Expanded:
    """Make an experiment's points and cells.

    Parameters
    ----------
    row
        With options that have no faults by themselves.
    matrix
        Gives seed, warm-up, repeats and limit.
    registry, allocation
        Workloads by name, and how many workers there are.

    Raises
    ------
    ExperimentError
        When the options do not fit together, the workload or the allocation.
    """
    spec = KINDS[row.kind]
    try:
        design = spec.design(Chosen(spec.options, dict(row.options)), allocation)
        made = [_cell(row, matrix, wanted, spec, registry) for wanted in design.points]
    except OptionError as err:
        wrong = ExperimentError(
            f"experiment {row.name!r}: {err.text}", todo="`daskperf experiment --help`"
        )
        wrong.option = err.option
        raise wrong from err
    points = tuple(
        Point(
            label=wanted.label,
            cell_id=cell.cell_id,
            settings=wanted.settings,
            x=wanted.x,
            series=wanted.series,
        )
        for wanted, cell in zip(design.points, made, strict=True)
    )
    return Expanded(
        experiment=PlannedExperiment(
            name=row.name,
            kind=row.kind,
            question=design.question,
            axis=design.axis,
            points=points,
            baseline=design.baseline,
            prediction=design.prediction,
            fixed=design.fixed,
        ),
        cells=tuple({c.cell_id: c for c in made}.values()),
    )


def _cell(
    row: ExperimentRow, matrix: Matrix, wanted: Wanted, spec: KindSpec, registry: Registry
) -> PlannedCell:
    options = {o.name for o in spec.options}
    workload = registry.get(wanted.workload)
    if workload is None:
        raise OptionError("kind", f"it needs the workload {wanted.workload!r}, which is not there")
    for name, value in wanted.params:
        blame = name if name in options else "total_steps"
        known = workload.params.get(name)
        if known is None:
            raise OptionError(blame, f"workload {workload.name!r} has no parameter {name!r}")
        try:
            check_value(known.check(value), f"parameter {name!r}")
        except (ValueError, InputError) as err:
            why = err.expected if isinstance(err, InputError) else str(err)
            raise OptionError(blame, f"{name!r} of {wanted.label!r}: {why}") from err
    try:
        units = own_units(workload, dict(wanted.params))
    except InputError as err:
        why = f"{err.message}: {err.expected}" if err.expected else err.message
        raise OptionError("", f"{wanted.label!r}: {why}") from err
    if units is None:
        units = wanted.units or 0
        if units not in UNITS:
            what = f"{wanted.label!r} has {shown(units)} tasks; it must be {UNITS.text}"
            raise OptionError("tasks", what)
    return make_cell(
        matrix,
        workload,
        params=wanted.params,
        units=units,
        env=wanted.env,
        workers=wanted.workers,
        repeats=row.repeats,
        timeout_s=row.timeout_s,
        required=row.required,
    )
