"""Metric tables, local beside remote, and the rows of evidence."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.ids import parse_cell_id
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.metrics import METRICS
from daskperf_tasks.model.results import CellDiagnosis, CellSummary, Estimate, SidePair
from daskperf_tasks.report.coverage import labelled, summarised
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.labels import labels_of
from daskperf_tasks.report.spelling import Figure, figure, ratio

#: Raw throughput first, then the two normalised views, then what explains them.
SHOWN = (
    "throughput_per_s",
    "throughput_per_thread",
    "throughput_per_effective_thread",
    "makespan_s",
    "aot_us",
    "task_wall_ms",
    "task_cpu_ms",
    "cpu_per_wall",
    "busy_fraction",
    "transfer_mib",
    "transfer_fraction",
    "scheduler_cpu_us_per_task",
    "worker_cpu_s",
    "client_cpu_s",
    "peak_rss_mib",
    "success_rate",
)
NOT_PLANNED = Figure(text="–", reason="not in the plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRow:
    """One metric on both sides."""

    name: str
    title: str
    unit: str
    local: Figure
    remote: Figure
    #: remote / local, where it is compared.
    ratio: Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """The metrics of one piece of work, local beside remote."""

    label: str
    #: Without the parameters that all such cells share.
    short: str
    #: The cells planned on each side, measured or not.
    local_cell: str | None
    remote_cell: str | None
    local: CellSummary | None
    remote: CellSummary | None
    rows: tuple[MetricRow, ...]
    same_inputs: bool | None
    reading: tuple[str, ...]
    #: Distinct reasons for dashes: (where, why).
    reasons: tuple[tuple[str, str], ...]

    @property
    def empty(self) -> bool:
        """Whether there is no figure at all: only the reasons are worth showing."""
        return all(r.local.reason and r.remote.reason for r in self.rows)

    @property
    def local_head(self) -> str:
        """Environment and threads of the local side."""
        return _head(self.local)

    @property
    def remote_head(self) -> str:
        """Environment and threads of the remote side."""
        return _head(self.remote)


def pair_tables(inputs: ReportInputs) -> tuple[PairTable, ...]:
    """Return a table for each pair, then for each cell without a counterpart."""
    cells = {c.cell_id: c for c in summarised(inputs) if c.arm == "subject"}
    pairs = () if isinstance(inputs.comparison, Missing) else inputs.comparison.sides
    found: list[PairTable] = []
    used: set[str] = set()
    labels = labels_of(inputs)
    for pair in pairs:
        local, remote = cells.get(pair.local_cell), cells.get(pair.remote_cell)
        used |= {pair.local_cell, pair.remote_cell}
        ids = (pair.local_cell, pair.remote_cell)
        found.append(_table(pair.label, labels.pair(*ids), ids, local, remote, pair))
    for cell_id, cell in cells.items():
        if cell_id not in used:
            side = parse_cell_id(cell_id).side
            left, right = (cell, None) if side == "local" else (None, cell)
            alone = (cell_id, None) if side == "local" else (None, cell_id)
            name = labels.pair(*alone)
            found.append(_table(labelled(cell), name, alone, left, right, None))
    return tuple(found)


def _table(
    label: str,
    short: str,
    ids: tuple[str | None, str | None],
    local: CellSummary | None,
    remote: CellSummary | None,
    pair: SidePair | None,
) -> PairTable:
    rows = []
    for name in SHOWN:
        metric = METRICS[name]
        compared = (pair.ratios if pair else {}).get(name)
        rows.append(
            MetricRow(
                name=name,
                title=metric.title,
                unit="" if metric.unit == "1" else metric.unit,
                local=_figure(local, name),
                remote=_figure(remote, name),
                ratio=Figure(text="") if compared is None else ratio(compared),
            )
        )
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for side, f in (("local", row.local), ("remote", row.remote), ("ratio", row.ratio)):
            if f.reason:
                reasons.setdefault((side, f.reason), []).append(row.title)
    return PairTable(
        label=label,
        short=short,
        local_cell=ids[0],
        remote_cell=ids[1],
        local=local,
        remote=remote,
        rows=tuple(rows),
        same_inputs=None if pair is None else pair.same_inputs,
        reading=pair.reading if pair else (),
        reasons=tuple(
            (f"{side}: {_some(titles)}", reason) for (side, reason), titles in reasons.items()
        ),
    )


def _some(titles: list[str]) -> str:
    return "every metric" if len(titles) == len(SHOWN) else ", ".join(titles)


def _figure(cell: CellSummary | None, name: str) -> Figure:
    if cell is None:
        return NOT_PLANNED
    return figure(cell.metrics.get(name, Missing(missing="not summarised")))


def _head(cell: CellSummary | None) -> str:
    if cell is None:
        return "not in the plan"
    env = parse_cell_id(cell.cell_id).env
    if cell.state != "measured":
        return f"{env}, {cell.state}"
    return f"{env}, {cell.threads} thr"


def evidence(cell: CellDiagnosis) -> tuple[tuple[str, str, str, float, str, str], ...]:
    """Return (class, signal, figure with unit, strength, says, opposite), strongest first.

    Signals that were not taken come last.
    """
    ranked = sorted(
        cell.signals, key=lambda s: (isinstance(s.value, Missing), -s.strength, s.speaks_for)
    )
    rows = []
    for s in ranked:
        shown = figure(s.value)
        unit = "" if s.unit == "1" or shown.reason else f" {s.unit}"
        rows.append((s.speaks_for, s.name, f"{shown.text}{unit}", s.strength, s.says, s.opposite))
    return tuple(rows)


def expected(ratio_: object) -> str:
    """Write an action's expected ratio with its gain, or why there is none."""
    if isinstance(ratio_, Missing):
        return f"no figure: {ratio_.missing}"
    if isinstance(ratio_, float | int):
        return f"makespan ×{ratio_:.2f} ({ratio_ - 1:+.0%})"
    return ""


def confidence_note(tables: tuple[PairTable, ...]) -> str:
    """Say which coverage the intervals of the tables really have."""
    found = {
        m.confidence
        for t in tables
        for c in (t.local, t.remote)
        if c is not None
        for m in c.metrics.values()
        if isinstance(m, Estimate)
    }
    if not found:
        return ""
    low, high = min(found), max(found)
    span = f"{low:.0%}" if low == high else f"{low:.0%} to {high:.0%}"
    return (
        f"Figures are medians over repeats with distribution-free intervals; their coverage is "
        f"{span}, as much as the number of blocks allows. Ratios are the "
        "remote median / the local median with 95 % bootstrap intervals over blocks."
    )
