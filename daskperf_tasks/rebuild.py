"""Making everything after measuring again, for a run that is stored already."""

from __future__ import annotations

from typing import Any

from daskperf_tasks.derive import close_run, derive, previous_run, report_into, validate_into
from daskperf_tasks.errors import InfraError, LaneBusyError, StoreError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.model.subject import SubjectSet
from daskperf_tasks.settings import Settings
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.manifest import describe
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.runs import load_or_none


def rebuild(settings: Settings, run_id: str, source: ArtifactStore) -> dict[str, Any]:
    """Make everything after measuring again, from the raw artifacts of a stored run.

    The run is brought into the spool, derived again, closed with a new
    manifest and published in place of the old one. Raw artifacts stay as they
    are, byte for byte. A run that died is closed with what it has.

    Raises
    ------
    LaneBusyError
        When the run is in progress.
    StoreError
        When raw artifacts are not what the manifest says: nothing is made of
        figures that nobody measured.
    """
    from daskperf_tasks.publish.publish import publish

    _require_at_rest(source, run_id)
    _require_genuine(source, run_id)
    spool = FilesystemStore(settings.spool)
    prefix = keys.run_prefix(run_id)
    if source.url != spool.url:
        for stored in list(source.list(prefix)):
            spool.put(stored.key, source.get(stored.key), replace=True)
    subjects = load_or_none(source, run_id, "subject.json", SubjectSet)
    for wheel in subjects.wheels if subjects else ():
        key = keys.wheel_file(wheel.sha256, wheel.file)
        if not spool.exists(key) and source.exists(key):
            spool.put(key, source.get(key))
    derive(spool, run_id, previous_of=lambda: previous_run(settings.store, spool, run_id))
    validate_into(spool, run_id)
    report_into(spool, run_id, store_url=settings.store)
    manifest = close_run(spool, run_id)
    publish(run_id, spool, open_store(settings.store))
    return {
        "run_id": run_id,
        "state": manifest.state,
        "rebuilt": [
            "summaries",
            "comparison",
            "verdicts",
            "diagnosis",
            "graphs",
            *(["experiments"] if spool.exists(keys.run_key(run_id, keys.EXPERIMENTS)) else []),
            "validation",
            "report",
            "manifest",
        ],
    }


def _require_at_rest(source: ArtifactStore, run_id: str) -> None:
    """Refuse a run that holds its lane just now."""
    from daskperf_tasks.deploy import lease

    if source.exists(keys.run_key(run_id, keys.MANIFEST)):
        return
    lane = load_or_none(source, run_id, "lane.json", Lane)
    if lane is None:
        return
    try:
        held = lease.holder(lane)
    except InfraError:
        return  # without its scheduler it measures nothing any more
    if held is not None and held.run_id == run_id:
        raise LaneBusyError(
            "the run is in progress",
            where=f"lane {lane.name} at {lane.scheduler}",
            expected="a run that has ended",
            found=f"{run_id}, held by {held.holder}",
            todo="wait until it ends; a lease whose run died expires by itself",
        )


def _require_genuine(source: ArtifactStore, run_id: str) -> None:
    """Refuse raw artifacts that differ from what the manifest vouched for."""
    manifest = load_or_none(source, run_id, keys.MANIFEST, Manifest)
    for entry in manifest.files if manifest else ():
        if not keys.is_evidence(entry.key):
            continue
        key = keys.run_key(run_id, *entry.key.split("/"))
        found = describe(entry.key, source.get(key)) if source.exists(key) else None
        if found != entry:
            raise StoreError(
                "a raw artifact is not what was measured",
                where=f"{source.url}/{key}",
                expected=f"{entry.size_bytes} bytes, sha256 {entry.sha256}",
                found=f"{found.size_bytes} bytes, sha256 {found.sha256}" if found else "nothing",
                todo="bring the genuine file back (the spool or a backup may have it); "
                "`daskperf verify` names all that differ",
            )
