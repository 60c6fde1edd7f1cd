"""What a task graph looks like, as Table I of the paper on Dask's overheads describes its graphs.

Böhm and Beránek, "Runtime vs Scheduler: Analyzing Dask's Overheads", WORKS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Estimate

#: ``optimized``: as Dask optimizes it for its users (culled, fused, high-level expressions).
#: ``low-level``: every task as the collection wrote it down, as the paper had it.
GraphForm = Literal["optimized", "low-level"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts:
    """Properties of the graph of one repeat, counted in the graph as run."""

    form: GraphForm
    tasks: int
    #: Dependencies between tasks.
    arcs: int
    #: Arcs on the longest path.
    longest_path: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCell:
    """What running a graph cost in one cell."""

    cell_id: str
    #: The environment, with the number of workers where the cell has one.
    where: str
    #: Keys that were seen to compute in a measured repeat, median. Schedulers run more than
    #: the tasks of the graph: names for other keys, data written into the graph (both on a
    #: cluster), and the step that puts a collection's result together.
    keys_run: Measured
    #: Mean size of a result over all keys of the measured repeats.
    mean_output_kib: Measured
    #: Mean time that a key computes, over the measured repeats.
    mean_task_ms: Measured
    #: Makespan / number of tasks, median over the measured repeats.
    aot_us: Estimate | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRow:
    """One graph: the cells of the same work in which it has the same properties."""

    #: Workload with its parameters.
    label: str
    graph: GraphFacts | Missing
    cells: tuple[GraphCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTable(Stored):
    """The graphs of a run, as in Table I of the paper (``graphs.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.graphs"
    VERSION: ClassVar[int] = 1

    run_id: str
    rows: tuple[GraphRow, ...]
    #: What is odd about them: graphs that are not the same in every block, or that ran in part.
    findings: tuple[str, ...]
