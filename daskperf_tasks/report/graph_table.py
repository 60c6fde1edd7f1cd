"""The task graphs of a run, for the report: one line a cell, graphs that are equal together."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.graph import GraphCell, GraphForm, GraphRow
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import DASH, Figure, figure

#: What each form means.
FORMS: dict[GraphForm, str] = {
    "optimized": "optimized: as users get it, after Dask's own optimization",
    "low-level": "low-level: as written down, every task that the collection made",
}
HEAD = (
    "graph", "form", "tasks", "arcs", "longest path", "where", "keys run", "mean output KiB",
    "mean task ms", "AOT us",
)  # fmt: skip
KEYS_RUN = (
    "AOT is the makespan / the number of tasks. Keys run, in a repeat, are the tasks and what "
    "schedulers run like them: names for other keys, data in the graph, the step that puts a "
    "result together"
)
#: Above this many lines the table is shown closed.
LONG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLine:
    """What running a graph cost in one environment."""

    where: str
    keys_run: Figure
    output_kib: Figure
    task_ms: Figure
    aot_us: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphGroup:
    """One graph and the environments in which it has these properties."""

    label: str
    form: str
    tasks: str
    arcs: str
    longest_path: str
    #: Why the properties are not known; empty when they are.
    reason: str
    lines: tuple[GraphLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """The section of the report."""

    groups: tuple[GraphGroup, ...]
    #: The forms that occur, in words.
    forms: tuple[str, ...]
    findings: tuple[str, ...]
    #: Why there is no table; empty when there is one.
    reason: str
    #: Distinct reasons for dashes: (where, why).
    reasons: tuple[tuple[str, str], ...]

    @property
    def note(self) -> str:
        """What the columns mean."""
        return KEYS_RUN

    @property
    def lines(self) -> int:
        """Lines of the table."""
        return sum(len(g.lines) for g in self.groups)

    @property
    def long(self) -> bool:
        """Whether the table is shown closed."""
        return self.lines > LONG

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Return the table as text, with :data:`HEAD`."""
        return tuple(
            (
                g.label, g.form, g.tasks, g.arcs, g.longest_path, line.where,
                line.keys_run.text, line.output_kib.text, line.task_ms.text, line.aot_us.full,
            )
            for g in self.groups
            for line in g.lines
        )  # fmt: skip


def graphs_of(inputs: ReportInputs) -> Graphs:
    """Return the graphs of a run as they are shown, or why there is no table."""
    table = inputs.graphs
    if isinstance(table, Missing):
        return Graphs(groups=(), forms=(), findings=(), reason=table.missing, reasons=())
    used = {r.graph.form for r in table.rows if not isinstance(r.graph, Missing)}
    groups = tuple(_group(row) for row in table.rows)
    return Graphs(
        groups=groups,
        forms=tuple(text for form, text in FORMS.items() if form in used),
        findings=table.findings,
        reason="" if groups else "the plan has no cells",
        reasons=_reasons(groups),
    )


def _group(row: GraphRow) -> GraphGroup:
    lines = tuple(_line(cell) for cell in row.cells)
    if isinstance(row.graph, Missing):
        unknown = (DASH,) * 4
        form, tasks, arcs, path = unknown
        reason = row.graph.missing
    else:
        g = row.graph
        form, tasks, arcs, path = g.form, f"{g.tasks:,}", f"{g.arcs:,}", f"{g.longest_path:,}"
        reason = ""
    return GraphGroup(
        label=row.label,
        form=form,
        tasks=tasks,
        arcs=arcs,
        longest_path=path,
        reason=reason,
        lines=lines,
    )


def _line(cell: GraphCell) -> GraphLine:
    return GraphLine(
        where=cell.where,
        keys_run=_whole(cell.keys_run),
        output_kib=figure(cell.mean_output_kib),
        task_ms=figure(cell.mean_task_ms),
        aot_us=figure(cell.aot_us),
    )


def _whole(value: Measured) -> Figure:
    return figure(value) if isinstance(value, Missing) else Figure(text=f"{value:,.0f}")


def _reasons(groups: tuple[GraphGroup, ...]) -> tuple[tuple[str, str], ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for g in groups:
        if g.reason:
            found.setdefault(("properties", g.reason), []).append(g.label)
        for line in g.lines:
            for name, f in (
                ("keys run", line.keys_run),
                ("output", line.output_kib),
                ("task time", line.task_ms),
                ("AOT", line.aot_us),
            ):
                if f.reason:
                    found.setdefault((name, f.reason), []).append(f"{g.label} ({line.where})")
    return tuple((f"{name} of {_few(cells)}", why) for (name, why), cells in found.items())


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:2])
    return shown if len(names) <= 2 else f"{shown} and {len(names) - 2} more"
