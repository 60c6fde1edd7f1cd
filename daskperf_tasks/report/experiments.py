"""How experiments are told: in a terminal, in the notes, in the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daskperf_tasks.model.experiment import ExperimentResult, PlannedExperiment
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.experiments_chart import experiment_svg
from daskperf_tasks.report.experiments_table import (
    Column,
    Table,
    knee_lines,
    parameter_rows,
    prediction_lines,
    short_line,
    table_of,
)
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import one_line
from daskperf_tasks.report.text_layout import columns, plain, table_width, wrap

WIDTH = 100
#: Columns that give way first when a terminal's line is too short, by title.
_FIRST_TO_GO = (
    "longest path", "arcs", "steps", "outside tasks", "scheduler CPU", "implementation",
    "scheduler", "environment", "pattern", "grain", "chunk", "workers", "busy", "task",
    "threads", "chunks/thread",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One experiment as the report's template needs it."""

    planned: PlannedExperiment
    result: ExperimentResult
    table: Table
    #: Safe SVG.
    plot: Any
    knees: tuple[str, ...]
    prediction: tuple[str, ...]
    parameters: tuple[tuple[str, str, Any], ...]
    #: What results were compared with -> labels of the points.
    correctness: tuple[tuple[str, str], ...]


def planned_results(
    inputs: ReportInputs,
) -> tuple[tuple[PlannedExperiment, ExperimentResult | None], ...]:
    """Return the planned experiments of a run, each with its answer if there is one."""
    if isinstance(inputs.plan, Missing):
        return ()
    results = (
        {} if isinstance(inputs.experiments, Missing)
        else {r.name: r for r in inputs.experiments.results}
    )  # fmt: skip
    return tuple((p, results.get(p.name)) for p in inputs.plan.experiments)


def told(planned: PlannedExperiment, result: ExperimentResult) -> Told:
    """Prepare one experiment for the report."""
    from markupsafe import Markup

    return Told(
        planned=planned,
        result=result,
        table=table_of(planned, result),
        plot=Markup(experiment_svg(planned, result)),
        knees=knee_lines(result),
        prediction=prediction_lines(planned, result),
        parameters=parameter_rows(result),
        correctness=correctness_rows(result),
    )


def correctness_rows(result: ExperimentResult) -> tuple[tuple[str, str], ...]:
    """Return what results were compared with, and the points that it holds for."""
    found: dict[str, list[str]] = {}
    for p in result.points:
        found.setdefault(p.correctness, []).append(p.label)
    if len(found) == 1 and len(result.points) > 1:
        return (("all points", next(iter(found))),)
    return tuple(("; ".join(labels), text) for text, labels in found.items())


def short_lines(inputs: ReportInputs) -> tuple[str, ...]:
    """Return one line an experiment, for the message and the terminal's summary."""
    return tuple(
        short_line(result)
        if result is not None
        else one_line(f"{planned.name}: no answer ({_why(inputs)})", 300)
        for planned, result in planned_results(inputs)
    )


def _why(inputs: ReportInputs) -> str:
    missing = inputs.experiments
    return missing.missing if isinstance(missing, Missing) else "experiments.json has none"


def experiment_text(planned: PlannedExperiment, result: ExperimentResult) -> str:
    """Write an experiment's answer for a terminal.

    Parameters
    ----------
    planned
        What was asked and predicted.
    result
        What was found.

    Returns
    -------
    str
        Lines of at most 100 columns: question, table, prediction against result, knee,
        conclusion, context.
    """
    lines = wrap(f"{result.name}: {planned.question}", WIDTH)
    table = table_of(planned, result)
    lines += ["", *_aligned(table)]
    for places, why in table.reasons:
        lines += wrap(f"– {places}: {why}", WIDTH, first="  ", rest="    ")
    for title, sentences in (
        ("prediction", prediction_lines(planned, result)),
        ("knee", knee_lines(result)),
        ("conclusion", result.conclusion),
    ):
        if sentences:
            lines += ["", title]
            for s in sentences:
                lines += wrap(s, WIDTH, first="  - ", rest="    ")
    if not isinstance(result.recommended, Missing):
        lines += ["", *wrap(f"recommended: {result.recommended}", WIDTH)]
    if result.context:
        lines += ["", "measured on and with"]
        named = [(plain(name, 40), text) for name, text in result.context]
        size = max(len(name) for name, _ in named)
        for name, text in named:
            lines += wrap(text, WIDTH, first=f"  {name:<{size}}  ", rest=" " * (size + 4))
    for places, text in correctness_rows(result):
        lines += wrap(f"results of {places}: {text}", WIDTH, first="  ", rest="    ")
    lines += ["", *wrap(f"model: {result.model}", WIDTH, rest="  ")]
    return "\n".join(lines) + "\n"


def _aligned(table: Table) -> list[str]:
    """Set the table; intervals go first where it is too wide, then the lesser columns."""
    kept = list(table.columns)
    intervals = True

    def rows() -> list[list[str]]:
        body = [
            [
                (f.full if intervals and c.title == "makespan" else f.text)
                for c, f in zip(kept, row, strict=True)
            ]
            for row in zip(*(c.cells for c in kept), strict=True)
        ]
        return [[c.head for c in kept], *body]

    for title in _FIRST_TO_GO:
        if table_width(rows()) <= WIDTH:
            break
        kept = [c for i, c in enumerate(kept) if i == 0 or c.title != title]
    if table_width(rows()) > WIDTH:
        intervals = False
    return columns(rows(), WIDTH, right=_right(kept))


def _right(kept: list[Column]) -> tuple[int, ...]:
    return tuple(i for i, c in enumerate(kept) if c.right)
