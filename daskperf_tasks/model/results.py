"""What analyse makes of the raw results; all of it can be rebuilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.ids import Arm, Side
from daskperf_tasks.model.measured import Measured, Missing

VerdictName = Literal["slower", "faster", "no change", "undecided", "invalid"]
BottleneckClass = Literal[
    "correctness",
    "compute-bound",
    "scheduler-bound",
    "transfer-bound",
    "straggler-bound",
    "undetermined",
]
CellState = Literal["measured", "failed", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A figure with its interval."""

    value: float
    low: float
    high: float
    #: Nominal coverage of the interval, for example 0.95.
    confidence: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """One cell under one wheel."""

    cell_id: str
    label: str
    arm: Arm
    request_hash: str
    state: CellState
    #: Why it failed or is missing; None when measured.
    reason: str | None
    required: bool
    blocks_valid: int
    blocks_invalid: int
    samples: int
    threads: int
    processes: int
    #: Metric name (of the registry) -> estimate or the reason for its absence.
    metrics: dict[str, Estimate | Missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Stored):
    """One side of the run (``local/summary.json``, ``remote/summary.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.summary"
    VERSION: ClassVar[int] = 1

    run_id: str
    side: Side
    #: Worker topology in words.
    topology: str
    cells: tuple[CellSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePair:
    """The same work local and remote."""

    label: str
    local_cell: str
    remote_cell: str
    same_inputs: bool
    #: remote / local of throughput_per_s, throughput_per_thread, throughput_per_effective_thread.
    ratios: dict[str, Estimate | Missing]
    #: The sentences of the rubric that apply, with their numbers.
    reading: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelPair:
    """A cell under two wheels (or under the same wheel in two nights)."""

    cell_id: str
    label: str
    #: Makespan tonight / before: above 1 is slower.
    ratio: Estimate | Missing
    verdict: VerdictName
    #: Smallest ratio that this comparison could have seen, or why it is unknown.
    smallest_visible: Measured
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Stored):
    """Local against remote, and tonight against before (``comparison.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.comparison"
    VERSION: ClassVar[int] = 1

    run_id: str
    sides: tuple[SidePair, ...]
    #: The run compared with, or why there is none.
    previous_run: str | Missing
    #: True when both runs measured the same wheel: then any difference is the machine's.
    same_subject: bool | None
    previous: tuple[WheelPair, ...]
    #: The reference wheel measured in the same night, or why there is none.
    reference: str | Missing
    paired: tuple[WheelPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Stored):
    """The night's answers (``verdicts.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.verdicts"
    VERSION: ClassVar[int] = 1

    run_id: str
    #: How they were decided, with the error rates.
    method: str
    #: ``paired`` (same night), ``previous`` (across nights) or ``none``.
    basis: Literal["paired", "previous", "none"]
    verdicts: tuple[WheelPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One piece of evidence for or against a bottleneck class."""

    name: str
    value: Measured
    unit: str
    #: The class it speaks for, and how strongly, 0 to 1.
    speaks_for: BottleneckClass
    strength: float
    #: In words with the numbers.
    says: str
    #: What would have said the opposite.
    opposite: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDiagnosis:
    """Where one cell's time goes."""

    cell_id: str
    label: str
    primary: BottleneckClass
    secondary: BottleneckClass | None
    #: 0 to 1: how far the evidence for the primary stands above the rest.
    confidence: float
    signals: tuple[Signal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A next step that can be tested."""

    rank: int
    title: str
    #: What to change, from what to what.
    change: str
    cell_ids: tuple[str, ...]
    #: Expected makespan after / before; below 1 is a gain.
    expected_ratio: Measured
    evidence: str
    #: A command or an experiment that would prove it.
    test: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Stored):
    """Bottlenecks and actions (``diagnosis.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.diagnosis"
    VERSION: ClassVar[int] = 1

    run_id: str
    #: Over the whole run.
    primary: BottleneckClass
    secondary: BottleneckClass | None
    confidence: float
    cells: tuple[CellDiagnosis, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One expectation and its outcome."""

    suite: str
    name: str
    success: bool
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation(Stored):
    """What Great Expectations said (``validation/results.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.validation"
    VERSION: ClassVar[int] = 1

    run_id: str
    success: bool
    checks: tuple[Check, ...]
    great_expectations: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One artifact of a run."""

    #: Below ``profiles/<run_id>/``.
    key: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Stored):
    """Written last: what the run left, and whether it may be believed (``manifest.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.manifest"
    VERSION: ClassVar[int] = 1

    run_id: str
    #: ``complete`` all required was measured and validated; ``partial`` something is
    #: missing; ``failed`` it must not be believed.
    state: Literal["complete", "partial", "failed"]
    reasons: tuple[str, ...]
    #: Whether the night is green: complete and no product failure.
    green: bool
    created_at: str
    trigger: str
    matrix_name: str
    lane: str
    subject: str
    subject_sha256: str
    measured: int
    failed: int
    missing: int
    #: Seconds by stage, as far as they are known.
    stage_seconds: dict[str, float]
    files: tuple[FileEntry, ...]
