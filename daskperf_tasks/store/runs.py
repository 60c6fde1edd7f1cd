"""The runs of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daskperf_tasks.errors import SchemaError, StoreError
from daskperf_tasks.model.codec import loads
from daskperf_tasks.model.ids import run_time
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.model.subject import SubjectSet
from daskperf_tasks.store.documents import load, load_blocks, load_or_none
from daskperf_tasks.store.keys import MANIFEST, RUNS, is_run_id, run_key
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey, StoreUnreachable

__all__ = [
    "NO_MANIFEST",
    "RunRow",
    "RunState",
    "list_runs",
    "load",
    "load_blocks",
    "load_or_none",
    "previous_accepted",
    "run_ids",
]

NO_MANIFEST = "no manifest yet: in progress, or abandoned (`daskperf rebuild` closes it then)"
RunState = Literal["complete", "partial", "failed", "in progress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as a list shows it; empty strings where the run has not got that far."""

    run_id: str
    #: ``in progress`` also for a run that was abandoned: both have no manifest.
    state: RunState
    green: bool
    subject: str
    matrix: str
    lane: str
    created_at: str
    reasons: tuple[str, ...]


def run_ids(store: ArtifactStore) -> tuple[str, ...]:
    """Return the ids of all runs that the store holds something of, oldest first."""
    return tuple(name for name in store.folders(RUNS) if is_run_id(name))


def list_runs(store: ArtifactStore) -> tuple[RunRow, ...]:
    """Return all runs, newest first. A run that cannot be read says so in its reasons."""
    return tuple(_row(store, run_id) for run_id in reversed(run_ids(store)))


def previous_accepted(
    store: ArtifactStore, before_run_id: str, lane: str, matrix: str
) -> Manifest | None:
    """Return the latest complete and green run before this one on the same lane and matrix."""
    for run_id in reversed(run_ids(store)):
        if run_id >= before_run_id:
            continue
        try:
            manifest = load(store, run_id, MANIFEST, Manifest)
        except StoreUnreachable:
            raise
        except (StoreError, SchemaError):
            continue  # in progress, abandoned or broken: not to be compared with
        same = manifest.lane == lane and manifest.matrix_name == matrix
        if same and manifest.green and manifest.state == "complete":
            return manifest
    return None


def _row(store: ArtifactStore, run_id: str) -> RunRow:
    try:
        data = store.get(run_key(run_id, MANIFEST))
    except NoSuchKey:
        return _row_in_progress(store, run_id)
    except StoreUnreachable:
        raise
    except StoreError as err:
        # One object that cannot be read must not hide all the other runs.
        return _row_without_manifest(
            run_id, "failed", f"the manifest cannot be read: {err.message}"
        )
    try:
        manifest = loads(data, Manifest, where=run_key(run_id, MANIFEST))
    except SchemaError as err:
        return _row_without_manifest(
            run_id, "failed", f"the manifest cannot be read: {' '.join(str(err).split())}"
        )
    return RunRow(
        run_id=run_id,
        state=manifest.state,
        green=manifest.green,
        subject=manifest.subject,
        matrix=manifest.matrix_name,
        lane=manifest.lane,
        created_at=manifest.created_at,
        reasons=manifest.reasons,
    )


def _row_in_progress(store: ArtifactStore, run_id: str) -> RunRow:
    subject = matrix = ""
    try:
        matrix = load(store, run_id, "plan.json", Plan).matrix_name
        wheel = load(store, run_id, "subject.json", SubjectSet).subject
        subject = f"{wheel.name} {wheel.version}"
    except StoreUnreachable:
        raise
    except (StoreError, SchemaError):
        pass  # not that far yet
    return _row_without_manifest(
        run_id,
        "in progress",
        NO_MANIFEST,
        subject=subject,
        matrix=matrix,
    )


def _row_without_manifest(
    run_id: str, state: RunState, reason: str, *, subject: str = "", matrix: str = ""
) -> RunRow:
    return RunRow(
        run_id=run_id,
        state=state,
        green=False,
        subject=subject,
        matrix=matrix,
        lane="",
        created_at=run_time(run_id).isoformat(),
        reasons=(reason,),
    )
