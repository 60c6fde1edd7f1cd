"""What is true of the processes and hosts of a lane, and what preflight makes of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.measured import Measured

Role = Literal["client", "scheduler", "worker"]
Level = Literal["block", "warn", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """One process: client, scheduler or worker."""

    role: Role
    #: Worker name as given at its start; the role for the others.
    name: str
    address: str
    host: str
    pid: int
    python: str
    #: Distribution name -> version, or ``missing``.
    versions: dict[str, str]
    cpu_model: str
    cores: int
    #: Threads that run tasks; 0 for client and scheduler.
    nthreads: int
    #: Memory limit in bytes, 0 for none.
    memory_limit_bytes: int
    load_1min: float
    #: Whether its address is on the loopback interface.
    loopback: bool
    #: Whether a nanny watches it (workers).
    nanny: bool
    #: Environment variables that steer native threads.
    thread_settings: dict[str, str]
    #: Distribution name -> folder that it is imported from, as far as it was asked for.
    locations: dict[str, str] = field(default_factory=dict)
    #: Import name -> version, ``unknown`` or ``missing``, of the libraries that the planned
    #: workloads need.
    libraries: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that preflight saw."""

    level: Level
    #: Short stable name such as ``version-mismatch``.
    code: str
    role: str
    host: str
    name: str
    expected: str
    found: str
    todo: str

    def __str__(self) -> str:
        place = f"{self.role} {self.name} on {self.host}" if self.name else self.role
        return (
            f"[{self.level}] {self.code}: {place}: expected {self.expected}, "
            f"found {self.found}; {self.todo}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight(Stored):
    """Facts and findings (``preflight.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.preflight"
    VERSION: ClassVar[int] = 1

    scheduler: str
    checked_at: str
    facts: tuple[ProcessFacts, ...]
    findings: tuple[Finding, ...]

    @property
    def blocked(self) -> bool:
        """Whether a finding forbids measuring."""
        return any(f.level == "block" for f in self.findings)

    @property
    def workers(self) -> tuple[ProcessFacts, ...]:
        """The workers, by name."""
        return tuple(sorted((f for f in self.facts if f.role == "worker"), key=lambda f: f.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneWorker:
    """A worker as the lane file expects it. None: not stated, not checked."""

    name: str
    host: str | None = None
    nthreads: int | None = None
    memory_gib: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane(Stored):
    """The hosts that one run may use at a time (``lane.toml``, kept as ``lane.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.lane"
    VERSION: ClassVar[int] = 1

    name: str
    scheduler: str
    workers: tuple[LaneWorker, ...] = ()
    #: ``loopback``, ``netlab`` or ``cluster``.
    kind: str = "cluster"
    #: Seconds to wait for the scheduler and for workers.
    timeout_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCalibration:
    """How fast one worker runs the calibration kernel."""

    worker: str
    host: str
    nthreads: int
    #: Seconds of each run with all threads of all workers busy.
    runs_s: tuple[float, ...]
    median_s: float
    mad_s: float
    #: Speed against the median worker before clipping; 1 is the median worker.
    raw_index: float
    #: After conservative clipping.
    index: float
    clipped: bool
    #: False when the runs spread too much to be trusted.
    stable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Stored):
    """Calibration of all workers (``calibration.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.calibration"
    VERSION: ClassVar[int] = 1

    kernel: str
    rule: str
    workers: tuple[WorkerCalibration, ...]
    total_threads: int
    effective_threads: Measured
    #: The same for the local environments: cores' worth of the driver's host against the lane.
    local_effective_threads: Measured
    stable: bool
    note: str
