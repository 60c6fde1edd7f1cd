"""Short names of cells: only the parameters that tell one cell of the run from another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daskperf_tasks.model.ids import WORKERS, Cell, Scalar, parse_cell_id, spell
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.coverage import summarised
from daskperf_tasks.report.inputs import ReportInputs

Params = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortLabels:
    """Names cells within one run.

    Examples
    --------
    >>> c, p = "implementation=cython;steps=4000", "implementation=python;steps=50"
    >>> labels = short_labels([f"integrate/v1;{x};env=threads;sched=none" for x in (c, p)])
    >>> labels.cell(f"integrate/v1;{c};env=threads;sched=none")
    'integrate cython (threads)'
    """

    #: Workload -> names of the parameters that are left out.
    dropped: dict[str, frozenset[str]]

    def work(self, cell: Cell) -> str:
        """Name the workload with what tells it from the others; words go without their key."""
        out = self.dropped.get(cell.workload, frozenset())
        told = [_word(key, value) for key, value in _told(cell) if key not in out]
        return " ".join([cell.workload, *told])

    def cell(self, cell_id: str) -> str:
        """Name a cell with its environment."""
        cell = parse_cell_id(cell_id)
        return f"{self.work(cell)} ({cell.env})"

    def pair(self, local_id: str | None, remote_id: str | None) -> str:
        """Name the same work on both sides, or on the one where it is planned."""
        cells = [parse_cell_id(i) for i in (local_id, remote_id) if i is not None]
        return f"{self.work(cells[0])} ({' | '.join(c.env for c in cells)})"


def _word(key: str, value: Scalar) -> str:
    if key == WORKERS:
        return f"on {spell(value)}"
    return value if isinstance(value, str) else f"{key}={spell(value)}"


def _told(cell: Cell) -> Params:
    """Return what may stand in a name: the parameters, and the number of workers if limited."""
    if cell.workers is None:
        return cell.params
    return (*cell.params, (WORKERS, cell.workers))


def labels_of(inputs: ReportInputs) -> ShortLabels:
    """Return short names for all cells that a run tells of."""
    ids = [c.cell_id for c in summarised(inputs)] + [b.cell_id for b in inputs.blocks]
    if not isinstance(inputs.plan, Missing):
        ids += [c.cell_id for c in inputs.plan.cells]
    if not isinstance(inputs.verdicts, Missing):
        ids += [v.cell_id for v in inputs.verdicts.verdicts]
    return short_labels(ids)


def short_labels(cell_ids: Iterable[str]) -> ShortLabels:
    """Find the parameters that can be left out without two cells getting one name."""
    variants: dict[str, set[Params]] = {}
    for cell_id in dict.fromkeys(cell_ids):
        cell = parse_cell_id(cell_id)
        variants.setdefault(cell.workload, set()).add(_told(cell))
    return ShortLabels(dropped={name: _needless(found) for name, found in variants.items()})


def _needless(variants: set[Params]) -> frozenset[str]:
    """Drop what every variant has and none needs; numbers and long values go first."""
    tables = [dict(params) for params in variants]
    common = set.intersection(*(set(t) for t in tables)) if tables else set()
    order = sorted(
        common,
        key=lambda k: (
            all(isinstance(t[k], str) for t in tables),
            -max(len(spell(t[k])) for t in tables),
            k,
        ),
    )
    dropped: set[str] = set()
    for name in order:
        without = dropped | {name}
        left = {tuple((k, v) for k, v in p if k not in without) for p in variants}
        if len(left) == len(variants) and all(left):
            dropped = without
    return frozenset(dropped)
