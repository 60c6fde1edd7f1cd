"""Raw results: one document an attempt at a block, written once, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Document, Stored, register_upgrade
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Arm, block_key
from daskperf_tasks.model.measured import Measured, Missing

#: Stands for the graph of a block that ended too early.
NO_GRAPH = Missing(missing="the block ended before its graph was built")

Phase = Literal["warmup", "measure", "profile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One repeat. Only ``measure`` samples are ever summarised."""

    repeat: int
    phase: Phase
    #: Unix time of the start.
    started_at: float
    #: Seconds around compute, from a monotonic clock.
    makespan_s: float
    units: int
    #: Tasks in the graph as run.
    tasks: int
    #: Sum over tasks of their time on a thread.
    task_wall_s: Measured
    #: CPU seconds of the task threads (distributed) or of the pool (single machine).
    task_cpu_s: Measured
    #: Bytes moved between workers.
    transfer_bytes: Measured
    #: Sum over tasks of time spent waiting for inputs of other workers.
    transfer_s: Measured
    #: CPU seconds of all worker processes.
    worker_cpu_s: Measured
    scheduler_cpu_s: Measured
    client_cpu_s: Measured
    #: Largest resident set that one worker process had during the repeat (before
    #: version 2 of the block: at its end).
    peak_rss_mib: Measured
    #: Share of the units whose result was right and arrived, 0 to 1.
    success_rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The block ran to its end."""

    kind: Literal["success"] = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """The block was ended at its limit."""

    kind: Literal["timeout"] = "timeout"
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The block raised or its process died."""

    kind: Literal["failure"] = "failure"
    #: ``infra``, ``product`` or ``harness``: whose fault.
    fault: Literal["infra", "product", "harness", "input"]
    error_type: str
    message: str
    traceback: str


Outcome = Success | Timeout | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoad:
    """How busy the driver's host was with others' work during the block."""

    load_1min_before: float
    load_1min_after: float
    #: CPU seconds used on the host during the block by processes that are not the run's,
    #: per second of the block.
    foreign_cpu_cores: Measured
    #: Share of CPU time that the hypervisor took, 0 to 1.
    steal_fraction: Measured
    cpu_model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A worker process at a moment; a restart changes its pid or id."""

    name: str
    worker_id: str
    nthreads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult(Stored):
    """An attempt at a block: everything that was seen."""

    SCHEMA: ClassVar[str] = "daskperf.block"
    VERSION: ClassVar[int] = 2

    run_id: str
    cell_id: str
    arm: Arm
    round: int
    attempt: int
    subject_sha256: str
    #: Version that the measured processes imported.
    subject_version: str
    request_hash: str
    started_at: str
    ended_at: str
    #: Threads that could run tasks at once, and the processes they were in.
    threads: int
    processes: int
    outcome: Outcome
    #: Why the block does not count although it ran (a worker left, disturbed host), or None.
    invalid_reason: str | None
    #: What the result was checked against before timing, or why it was not.
    correctness: str
    members_before: tuple[Member, ...]
    members_after: tuple[Member, ...]
    host_load: HostLoad
    samples: tuple[Sample, ...]
    #: Key of the block's task stream (parquet) below the run, or why there is none.
    task_stream: str | Missing
    #: Dask's own fine performance metrics: ``context/activity/unit`` -> sum over the measured
    #: repeats, or why there are none.
    fine_metrics: dict[str, float] | Missing
    #: Warnings that the computation gave (version mismatch and the like), each once.
    warnings: tuple[str, ...] = ()
    #: Properties of the task graph of one repeat, or why they are not known.
    graph: GraphFacts | Missing = NO_GRAPH

    @property
    def key(self) -> str:
        """The idempotency key."""
        return block_key(self.run_id, self.cell_id, self.arm, self.round, self.attempt)

    @property
    def valid(self) -> bool:
        """Whether its samples count."""
        return isinstance(self.outcome, Success) and self.invalid_reason is None

    @property
    def measured(self) -> tuple[Sample, ...]:
        """The samples of the measuring phase."""
        return tuple(s for s in self.samples if s.phase == "measure")


@register_upgrade(BlockResult.SCHEMA, 1)
def _upgrade_to_2(document: Document) -> Document:
    reason = "version 1 of the block did not record the graph"
    return document | {"graph": {"missing": reason}}
