"""One experiment in the notes, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from daskperf_tasks.model.experiment import ExperimentResult, PlannedExperiment
from daskperf_tasks.report.experiments import correctness_rows
from daskperf_tasks.report.experiments_table import (
    knee_lines,
    parameter_rows,
    prediction_lines,
    table_of,
)

_Escape = Callable[[str], str]
_AsTable = Callable[[Sequence[str], Iterable[Sequence[str]]], list[str]]


def experiment_lines(
    planned: PlannedExperiment, result: ExperimentResult, escape: _Escape, as_table: _AsTable
) -> list[str]:
    """Return table, plot, knee, prediction, conclusion and context.

    Parameters
    ----------
    planned, result
        The experiment.
    escape, as_table
        How the notes write foreign text and tables.
    """
    table = table_of(planned, result)
    lines = as_table(
        [c.head for c in table.columns], [[f.full for f in row] for row in table.rows()]
    )
    lines += [f"- – {escape(places)}: {escape(why)}" for places, why in table.reasons]
    lines += [f"- results of {escape(w)}: {escape(t)}" for w, t in correctness_rows(result)]
    lines += ["", f"Plot: `experiments/{escape(planned.name)}.svg`", ""]
    lines += [escape(s) + "\n" for s in prediction_lines(planned, result)]
    lines += [f"- knee: {escape(s)}" for s in knee_lines(result)]
    lines += [f"- {escape(s)}" for s in result.conclusion]
    lines += ["", f"Model: {escape(result.model)}", ""]
    lines += as_table(
        ("series", "fitted", "value"),
        [(series or "all", name, f.full or f.reason) for series, name, f in parameter_rows(result)],
    )
    return lines + as_table(("measured on and with", ""), result.context)
