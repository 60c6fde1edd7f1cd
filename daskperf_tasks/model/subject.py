"""The wheel under test and where it was put."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.ids import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A wheel: what it is and how it was chosen."""

    name: str
    version: str
    sha256: str
    file: str
    size_bytes: int
    #: Import name that is checked on every worker.
    import_name: str
    #: Where it was taken from: a folder or an ``s3://`` prefix, or a path given by hand.
    source: str
    #: The rule that chose it, in words.
    chosen_by: str
    #: The other wheels of the source, best first, as ``file (version)``.
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectSet(Stored):
    """The wheels of a run (``subject.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.subject"
    VERSION: ClassVar[int] = 1

    subject: Subject
    #: None when nothing is compared in the same night; ``reference_reason`` says why.
    reference: Subject | None
    reference_reason: str

    @property
    def wheels(self) -> tuple[Subject, ...]:
        """The subject and, where there is one, the reference."""
        return (self.subject, self.reference) if self.reference else (self.subject,)

    def of(self, arm: Arm) -> Subject:
        """Return the wheel of an arm (KeyError when there is no reference)."""
        wheel = self.subject if arm == "subject" else self.reference
        if wheel is None:
            raise KeyError(arm)
        return wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """A wheel in its own folder on one host."""

    host: str
    #: Worker whose nanny did it.
    worker: str
    folder: str
    sha256: str
    #: sha256 over the installed files, equal on all hosts.
    files_sha256: str
    seconds: float
    #: True when the folder was there already, with the right content.
    reused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCheck:
    """What a worker says it imports after the switch."""

    worker: str
    host: str
    pid: int
    version: str
    location: str
    files_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(Stored):
    """What deploy did (``deployment.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.deployment"
    VERSION: ClassVar[int] = 1

    scheduler: str
    state: Literal["deployed", "restored", "failed"]
    #: The workers that were deployed to; their paths of ours before are always empty, as a
    #: dead run's leftovers are taken off first.
    previous: dict[str, tuple[str, ...]]
    installs: tuple[Install, ...]
    checks: tuple[WorkerCheck, ...]
    #: Folder of each arm's wheel for the local environments on the driver's host.
    local_folders: dict[str, str]
    switch_s: float
    #: Error text when it failed.
    error: str | None = None
    #: The wheel of each arm.
    subjects: dict[str, Subject] = field(default_factory=dict)
    #: Worker -> address of its nanny, to reach the nanny of a worker that cannot start.
    nannies: dict[str, str] = field(default_factory=dict)
