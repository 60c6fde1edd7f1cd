"""Making everything after measuring again, for a run that is stored already."""

from __future__ import annotations

from typing import Any

from daskperf_tasks.derive import close_run, derive, previous_run, report_into, validate_into
from daskperf_tasks.model.subject import SubjectSet
from daskperf_tasks.settings import Settings
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.runs import load_or_none


def rebuild(settings: Settings, run_id: str, source: ArtifactStore) -> dict[str, Any]:
    """Make everything after measuring again, from the raw artifacts of a stored run.

    The run is brought into the spool, derived again, closed with a new
    manifest and published in place of the old one. Raw artifacts stay as they
    are, byte for byte.
    """
    from daskperf_tasks.publish.publish import publish

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
            "validation",
            "report",
            "manifest",
        ],
    }
