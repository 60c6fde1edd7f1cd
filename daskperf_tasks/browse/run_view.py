"""What the page of one run shows, read from the store."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from daskperf_tasks.errors import InputError, SchemaError, UnknownRunError
from daskperf_tasks.model.codec import loads
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.report.artifacts import RAW
from daskperf_tasks.report.spelling import size as spell_size
from daskperf_tasks.store.keys import MANIFEST, is_run_id, run_key, run_prefix
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey
from daskperf_tasks.store.runs import NO_MANIFEST, RunState

REPORT = "report.html"
#: Shown first, in this order.
_FIRST = (
    REPORT,
    "notes.md",
    "local/performance_report.html",
    "remote/performance_report.html",
    "local/timeline.html",
    "remote/timeline.html",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A file of a run."""

    #: Below the run.
    name: str
    size_bytes: int
    #: As the manifest promises; None without a manifest.
    sha256: str | None

    @property
    def size(self) -> str:
        """Size in words."""
        return spell_size(self.size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """All raw files of one kind."""

    #: With its slash.
    name: str
    artifacts: tuple[Artifact, ...]

    @property
    def size(self) -> str:
        """Size of all its files in words."""
        return spell_size(sum(a.size_bytes for a in self.artifacts))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run."""

    run_id: str
    #: None while it is in progress or when it cannot be read; ``why`` says which.
    manifest: Manifest | None
    why: str
    #: As the list of runs shows it.
    state: RunState
    artifacts: tuple[Artifact, ...]

    @property
    def names(self) -> frozenset[str]:
        """The artifacts that may be asked for."""
        return frozenset(a.name for a in self.artifacts)

    @property
    def has_report(self) -> bool:
        """Whether there is a report to show."""
        return REPORT in self.names

    @property
    def first(self) -> tuple[Artifact, ...]:
        """The artifacts that people look for, as far as they are there."""
        by_name = {a.name: a for a in self.artifacts}
        return tuple(by_name[name] for name in _FIRST if name in by_name)

    @property
    def main(self) -> tuple[Artifact, ...]:
        """All but the raw ones: what people look for first, then by name."""
        rest = [a for a in self.artifacts if not a.name.startswith(RAW)]
        rank = {name: i for i, name in enumerate(_FIRST)}
        return tuple(sorted(rest, key=lambda a: (rank.get(a.name, len(rank)), a.name)))

    @property
    def raw(self) -> tuple[Folder, ...]:
        """The raw ones by folder."""
        folders = (
            Folder(name=f, artifacts=tuple(a for a in self.artifacts if a.name.startswith(f)))
            for f in RAW
        )
        return tuple(f for f in folders if f.artifacts)


def read_run(store: ArtifactStore, run_id: str) -> RunView:
    """Read what the page of a run shows.

    Raises
    ------
    UnknownRunError
        When the store holds nothing of it.
    """
    if not is_run_id(run_id):
        raise _unknown(run_id)
    try:
        data = store.get(run_key(run_id, MANIFEST))
        manifest = loads(data, Manifest, where=run_key(run_id, MANIFEST))
    except NoSuchKey:
        return _listed(store, run_id, "in progress", NO_MANIFEST)
    except SchemaError as err:
        return _listed(store, run_id, "failed", f"the manifest cannot be read: {err}")
    files = [Artifact(name=f.key, size_bytes=f.size_bytes, sha256=f.sha256) for f in manifest.files]
    files.append(Artifact(name=MANIFEST, size_bytes=len(data), sha256=None))
    return RunView(
        run_id=run_id,
        manifest=manifest,
        why="",
        state=manifest.state,
        artifacts=tuple(sorted(files, key=lambda a: a.name)),
    )


def read_artifact(store: ArtifactStore, run_id: str, name: str) -> bytes:
    """Return the bytes of an artifact that belongs to the run.

    Raises
    ------
    UnknownRunError
        When there is no such run, or it has no such artifact.
    """
    if name in read_run(store, run_id).names:
        # What a manifest names may still be no key below the run.
        with contextlib.suppress(InputError):
            return store.get(run_key(run_id, *name.split("/")))
    raise UnknownRunError(
        "the run has no such artifact",
        where=run_id,
        found=name[:200],
        todo="the run's page lists what there is",
    )


def _listed(store: ArtifactStore, run_id: str, state: RunState, why: str) -> RunView:
    prefix = run_prefix(run_id)
    files = tuple(
        Artifact(name=o.key.removeprefix(prefix), size_bytes=o.size_bytes, sha256=None)
        for o in store.list(prefix)
    )
    if not files:
        raise _unknown(run_id)
    return RunView(run_id=run_id, manifest=None, why=why, state=state, artifacts=files)


def _unknown(run_id: str) -> UnknownRunError:
    return UnknownRunError(
        "the store holds no such run",
        found=run_id[:80],
        todo="a run that could not be published waits in the spool for the next one",
    )
