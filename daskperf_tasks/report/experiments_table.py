"""An experiment's table: a row a point, the columns that its kind has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from daskperf_tasks.model.experiment import ExperimentResult, PlannedExperiment, PointResult
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Scalar, spell
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.spelling import Figure, figure, number, one_line, ratio

#: Columns by name: title and unit.
_TITLES: dict[str, tuple[str, str]] = {
    "efficiency": ("efficiency", ""),
    "cpu_per_wall": ("CPU / wall", ""),
    "busy_fraction": ("busy", ""),
    "task_ms": ("task", "ms"),
    "outside_ms_per_task": ("outside tasks", "ms/task"),
    "scheduler_ms_per_task": ("scheduler CPU", "ms/task"),
    "chunks_per_thread": ("chunks/thread", ""),
    "granularity_us": ("granularity", "us"),
    "iterations_per_s": ("iterations", "/s"),
    "chunk_mib": ("chunk", "MiB"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column with its cells, one a point."""

    title: str
    unit: str
    cells: tuple[Figure, ...]
    #: Whether it stands to the right, as figures do.
    right: bool = True

    @property
    def head(self) -> str:
        """Title with unit."""
        return f"{self.title} {self.unit}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All columns, the first one the points' labels."""

    columns: tuple[Column, ...]
    #: Places in the columns and why they have no figure.
    reasons: tuple[tuple[str, str], ...]

    def rows(self) -> tuple[tuple[Figure, ...], ...]:
        """Return the cells by point."""
        return tuple(zip(*(c.cells for c in self.columns), strict=True))


def table_of(planned: PlannedExperiment, result: ExperimentResult) -> Table:
    """Return an experiment's table; columns without any figure are left out."""
    points = {p.label: p for p in planned.points}
    rows = result.points
    columns = [
        Column(
            title="point", unit="", cells=tuple(Figure(text=one_line(r.label)) for r in rows),
            right=False,
        ),
        *_settings(
            [r.label for r in rows],
            [dict(points[r.label].settings) if r.label in points else {} for r in rows],
        ),
        Column(title="threads", unit="", cells=tuple(_count(r, r.threads) for r in rows)),
        Column(title="tasks", unit="", cells=tuple(_count(r, r.tasks) for r in rows)),
        Column(title="makespan", unit="s", cells=tuple(figure(r.makespan_s) for r in rows)),
        Column(title="speed-up", unit="", cells=tuple(ratio(r.speedup) for r in rows)),
    ]  # fmt: skip
    for name in dict.fromkeys(n for r in rows for n in r.more):
        title, unit = _TITLES.get(name, (name.replace("_", " "), ""))
        none = Missing(missing="not measured")
        cells = tuple(
            figure(r.more.get(name, Missing(missing=r.reason) if r.reason else none)) for r in rows
        )
        columns.append(Column(title=title, unit=unit, cells=cells))
    columns.append(
        Column(title="peak memory", unit="MiB", cells=tuple(figure(r.peak_rss_mib) for r in rows))
    )
    columns += _graphs(rows)
    kept = tuple(c for i, c in enumerate(columns) if i == 0 or any(not f.reason for f in c.cells))
    return Table(columns=kept, reasons=_reasons(kept, rows))


def _settings(labels: Sequence[str], settings: Sequence[dict[str, Scalar]]) -> list[Column]:
    """Columns of what was set, but for what the labels say and what is counted anyway."""
    columns = []
    for name in dict.fromkeys(n for s in settings for n in s):
        said = all(
            name in s and re.search(rf"(?<!\w){re.escape(spell(s[name]))}(?!\w)", label)
            for label, s in zip(labels, settings, strict=True)
        )
        if said or name == "tasks":
            continue
        title, unit = _TITLES.get(name, (name.replace("_", " "), ""))
        columns.append(
            Column(
                title=title,
                unit=unit,
                cells=tuple(Figure(text=_spell(s[name]) if name in s else "") for s in settings),
                right=not any(isinstance(s.get(name), str) for s in settings),
            )
        )
    return columns


def _spell(value: Scalar) -> str:
    if isinstance(value, bool | str):
        return one_line(spell(value), 60)
    return f"{value:,}" if isinstance(value, int) else number(value)


def _count(point: PointResult, value: int) -> Figure:
    if point.state != "measured":
        return figure(Missing(missing=point.reason))
    return Figure(text=f"{value:,}")


def _graphs(rows: Sequence[PointResult]) -> list[Column]:
    def of(point: PointResult, name: str) -> Figure:
        if isinstance(point.graph, GraphFacts):
            return Figure(text=f"{getattr(point.graph, name):,}")
        return figure(point.graph)

    return [
        Column(title=title, unit="", cells=tuple(of(r, name) for r in rows))
        for name, title in (("arcs", "arcs"), ("longest_path", "longest path"))
    ]


def _reasons(columns: Sequence[Column], rows: Sequence[PointResult]) -> tuple[tuple[str, str], ...]:
    found: dict[str, list[str]] = {}
    for i, row in enumerate(rows):
        if row.state != "measured":
            found.setdefault(row.reason, []).append(row.label)
            continue
        for c in columns:
            if c.cells[i].reason:
                found.setdefault(c.cells[i].reason, []).append(f"{row.label}, {c.title}")
    return tuple(("; ".join(places), why) for why, places in found.items())


def parameter_rows(result: ExperimentResult) -> tuple[tuple[str, str, Figure], ...]:
    """Return (series, parameter, figure) of what was fitted."""
    return tuple(
        (f.series, name, figure(value)) for f in result.fits for name, value in f.parameters.items()
    )


def prediction_lines(planned: PlannedExperiment, result: ExperimentResult) -> tuple[str, ...]:
    """Return what was predicted, whether it came so, and what differs and why."""
    prediction = planned.prediction
    if prediction is None:
        return ()
    order = "; ".join(one_line(label) for label in prediction.order)
    lines = [f"Predicted before measuring, fastest first: {order}. {one_line(prediction.text)}"]
    if isinstance(result.as_predicted, Missing):
        lines.append(f"As predicted? Not decided: {result.as_predicted.missing}.")
    else:
        lines.append(f"As predicted? {'Yes' if result.as_predicted else 'No'}.")
    return (*lines, result.difference) if result.difference else tuple(lines)


def knee_lines(result: ExperimentResult) -> tuple[str, ...]:
    """Return the knee of each series, or why there is none."""
    return tuple(
        (f"{f.series}: " if f.series else "")
        + (f"none: {f.knee.missing}" if isinstance(f.knee, Missing) else f.knee.text)
        for f in result.fits
    )


def short_line(result: ExperimentResult) -> str:
    """Return an experiment's answer in one line."""
    measured = sum(p.state == "measured" for p in result.points)
    head = f"{result.name} ({measured} of {len(result.points)} points)"
    text = result.conclusion[0].rstrip(".") if result.conclusion else "no conclusion"
    knees = [k for k, f in zip(knee_lines(result), result.fits, strict=True)
             if not isinstance(f.knee, Missing)]  # fmt: skip
    knee = f"; knee: {knees[0]}" if knees and knees[0] not in text else ""
    return one_line(f"{head}: {text}{knee}", 300)
