"""What the measuring process is told, as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.facts import LaneWorker
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.plan import Plan, PlannedCell, Round
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.plan.coverage import pending_cells

#: Seconds for one step of ending a block by itself; see ``RoundSpec.grace_s``.
GRACE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A block to be measured next."""

    planned: PlannedCell
    #: From 1.
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Worker processes and their threads: the lane's, and so the local environments'."""

    workers: int
    #: Threads of each worker process.
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundSpec(Stored):
    """One round, as the measuring process gets it on its standard input."""

    SCHEMA: ClassVar[str] = "daskperf.round"
    VERSION: ClassVar[int] = 1

    run_id: str
    round: Round
    #: How many rounds the run has, for messages.
    rounds_total: int
    #: The blocks to measure, in order.
    turns: tuple[Turn, ...]
    max_attempts: int
    subject_sha256: str
    #: Version in the metadata of the wheel that every measured process must import.
    subject_version: str
    import_name: str
    #: Address of the remote cluster's scheduler; empty when no cell is remote.
    scheduler: str
    #: Folder of this arm's wheel on this host; empty: whatever is installed.
    wheel_folder: str
    #: Root of the ledger (a folder), where blocks and logs are written.
    ledger: str
    layout: Layout
    #: Seconds for a scheduler to answer, workers to come back, a local cluster to start.
    open_timeout_s: float = 60.0
    #: More of others' work than this on the driver's host (cores) makes a block invalid;
    #: None: it is only recorded.
    max_foreign_cores: float | None = None
    #: The lane's workers, all of which each remote block needs; empty: any workers, in
    #: number and threads as ``layout`` says.
    workers: tuple[LaneWorker, ...] = ()
    #: All cells of the round, measured already or not, for the profiled pass.
    cells: tuple[PlannedCell, ...] = ()
    #: Bytes that the measuring process and its children may hold together; None: a share
    #: of what is free on its host (:func:`daskperf_tasks.run.memory_watch.limit_now`).
    memory_limit_bytes: int | None = None
    #: Seconds beyond its limit that a block gets to end by itself before its process is killed.
    grace_s: float = 3 * GRACE_S

    @property
    def arm(self) -> Arm:
        """Which wheel."""
        return self.round.arm


def round_spec(
    plan: Plan,
    round_: Round,
    *,
    subject: Subject,
    wheel_folder: str,
    scheduler: str,
    layout: Layout,
    ledger: str,
    blocks: Iterable[BlockResult] = (),
    open_timeout_s: float = 60.0,
    max_foreign_cores: float | None = None,
    workers: Iterable[LaneWorker] = (),
) -> RoundSpec:
    """Return the spec of a round.

    Parameters
    ----------
    blocks
        What the ledger holds of this run already: cells with a valid block in
        this round are left out, the others go on with their next attempt.
    workers
        The lane's workers as preflight found them, by name and threads. A
        remote block that one of them is missing from, or that others joined,
        does not count.
    """
    turns = tuple(
        Turn(planned=plan.cell(cell_id), attempt=attempt)
        for cell_id, attempt in pending_cells(plan, round_, blocks)
    )
    return RoundSpec(
        run_id=plan.run_id,
        round=round_,
        rounds_total=len(plan.rounds),
        turns=turns,
        max_attempts=plan.max_attempts,
        subject_sha256=subject.sha256,
        subject_version=subject.version,
        import_name=subject.import_name,
        scheduler=scheduler,
        wheel_folder=wheel_folder,
        ledger=ledger,
        layout=layout,
        open_timeout_s=open_timeout_s,
        max_foreign_cores=max_foreign_cores,
        workers=tuple(workers),
        cells=tuple(plan.cell(cell_id) for cell_id in round_.order),
    )
