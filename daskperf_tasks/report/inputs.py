"""Everything that a report is made from; each part may be missing with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.experiment import Experiments
from daskperf_tasks.model.facts import Calibration, Lane, Preflight
from daskperf_tasks.model.graph import GraphTable
from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import (
    Comparison,
    Diagnosis,
    FileEntry,
    Summary,
    Validation,
    Verdicts,
)
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.model.subject import Deployment, SubjectSet

NOT_WRITTEN = Missing(missing="the run did not come that far")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInputs:
    """The documents of one run, as far as it came."""

    run_id: str
    plan: Plan | Missing = NOT_WRITTEN
    subjects: SubjectSet | Missing = NOT_WRITTEN
    lane: Lane | Missing = NOT_WRITTEN
    deployment: Deployment | Missing = NOT_WRITTEN
    preflight: Preflight | Missing = NOT_WRITTEN
    calibration: Calibration | Missing = NOT_WRITTEN
    blocks: tuple[BlockResult, ...] = ()
    local: Summary | Missing = NOT_WRITTEN
    remote: Summary | Missing = NOT_WRITTEN
    comparison: Comparison | Missing = NOT_WRITTEN
    verdicts: Verdicts | Missing = NOT_WRITTEN
    diagnosis: Diagnosis | Missing = NOT_WRITTEN
    experiments: Experiments | Missing = NOT_WRITTEN
    validation: Validation | Missing = NOT_WRITTEN
    graphs: GraphTable | Missing = NOT_WRITTEN
    #: ``environment.json`` of each side: flat facts of the measuring process.
    environments: Mapping[Side, Mapping[str, Any]] = field(default_factory=dict)
    stages: tuple[StageRecord, ...] = ()
    #: What the run left so far, with hashes; relative to the run's folder.
    artifacts: tuple[FileEntry, ...] = ()
    #: As decided by the stage; None lets the report derive it from the rest.
    state: Literal["complete", "partial", "failed"] | None = None
    green: bool | None = None
    reasons: tuple[str, ...] = ()
    #: Where the run is or will be published.
    store_url: str = ""

    def summary(self, side: Side) -> Summary | Missing:
        """Return the summary of a side."""
        return self.local if side == "local" else self.remote
