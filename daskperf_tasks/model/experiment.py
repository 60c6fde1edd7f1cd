"""Experiments: cells that answer one question together, planned and answered.

An experiment is planned with everything that is known before measuring, the
prediction included; the plan is written before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Estimate

Kind = Literal["task-size", "workers", "scheduler", "chunks", "granularity", "optimization"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One configuration of an experiment, measured by one cell."""

    #: Its name in tables and conclusions (``32 tasks``); distinct within an experiment.
    label: str
    cell_id: str
    #: What was set, for the table's columns, in their order (``("steps", 62500)``).
    settings: tuple[tuple[str, Scalar], ...]
    #: Position on the plot's axis; None for an axis of categories.
    x: float | None = None
    #: Curve of the plot that it belongs to; empty when there is only one.
    series: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What is expected, written down before anything is measured."""

    #: Labels of points, the fastest first.
    order: tuple[str, ...]
    #: Why.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExperiment:
    """A question, and the cells that are to answer it."""

    #: Distinct within a plan; the kind, unless a matrix names it otherwise.
    name: str
    kind: Kind
    question: str
    #: What is varied, with its unit (``tasks``, ``worker processes``, ``MiB a chunk``).
    axis: str
    points: tuple[Point, ...]
    #: Label of the point that speed-ups refer to.
    baseline: str | None = None
    prediction: Prediction | None = None
    #: What was held fixed (total steps, workers, tolerance), for the report.
    fixed: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PointResult:
    """What was measured of a point."""

    label: str
    cell_id: str
    #: ``measured``, or why not.
    state: Literal["measured", "failed", "missing"]
    #: Why there are no figures; empty when measured.
    reason: str
    #: Threads that could run tasks at once; 0 when not measured.
    threads: int
    #: Tasks of one repeat; 0 when not measured.
    tasks: int
    makespan_s: Estimate | Missing
    #: Baseline's makespan / this one's: above 1 is faster than the baseline.
    speedup: Estimate | Missing
    throughput_per_s: Estimate | Missing
    #: Largest resident set of one process during the repeats.
    peak_rss_mib: Measured
    graph: GraphFacts | Missing
    #: What the results were compared with.
    correctness: str
    #: Further columns of this kind of experiment, by name with unit (``chunk_mib``).
    more: dict[str, Estimate | float | Missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """Where an effect sets in, from a fit to the points."""

    #: On the experiment's axis.
    value: float
    low: float
    high: float
    #: What begins there, with its figures.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFit:
    """What was fitted to the points of one series."""

    #: As in :class:`Point`; empty when there is only one.
    series: str
    #: Fitted parameters by name with unit (``overhead_ms_per_task``).
    parameters: dict[str, Estimate | Missing]
    knee: Knee | Missing
    #: The fitted curve (position on the axis, what the plot shows there); empty without a fit.
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentResult:
    """An experiment's answer."""

    name: str
    kind: Kind
    #: What is fitted, in words with its formula, and how the interval is made.
    model: str
    points: tuple[PointResult, ...]
    fits: tuple[SeriesFit, ...]
    #: Whether the measured order agrees with the predicted one, within the intervals.
    as_predicted: bool | Missing
    #: What prediction and measurement differ in, and why.
    difference: str
    #: Label of the point to use, or why none can be named.
    recommended: str | Missing
    #: Sentences that follow from the numbers above.
    conclusion: tuple[str, ...]
    #: What it ran on and with (CPU model, allocation, versions, native threads), as (name, text).
    context: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiments(Stored):
    """The answers of a run (``experiments.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.experiments"
    VERSION: ClassVar[int] = 1

    run_id: str
    results: tuple[ExperimentResult, ...]
