"""The wheels of a run, kept by content so that a later run can compare with them."""

from __future__ import annotations

import hashlib
import time

from daskperf_tasks.errors import StoreError
from daskperf_tasks.model.subject import Subject, SubjectSet
from daskperf_tasks.store.documents import load_or_none
from daskperf_tasks.store.keys import WHEELS, wheel_file
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey
from daskperf_tasks.store.runs import run_ids

_YOUNG_S = 7 * 24 * 3600.0


def upload_wheels(run_id: str, spool: ArtifactStore, store: ArtifactStore) -> int:
    """Bring the run's wheels to the store; returns how many were not there.

    Raises
    ------
    StoreError
        When the spool holds other bytes than the run measured.
    """
    uploaded = 0
    for wheel in _wheels_of(spool, run_id):
        key = wheel_file(wheel.sha256, wheel.file)
        if _sha256_of(store, key) == wheel.sha256:
            continue
        try:
            data = spool.get(key)
        except NoSuchKey:
            continue  # a run without its wheel is still a run
        found = hashlib.sha256(data).hexdigest()
        if found != wheel.sha256:
            raise StoreError(
                "a wheel changed in the spool",
                where=f"{spool.url}/{key}",
                expected=f"sha256 {wheel.sha256}",
                found=f"sha256 {found}",
                todo="remove this file; the run can be published without its wheel",
            )
        store.put(key, data, replace=True)
        uploaded += 1
    return uploaded


def prune_wheels(spool: ArtifactStore) -> None:
    """Remove old wheels that no run in the spool names any more."""
    named = {wheel_file(w.sha256, w.file) for r in run_ids(spool) for w in _wheels_of(spool, r)}
    for stored in list(spool.list(WHEELS)):
        # A young one may belong to a run that is just being written.
        if stored.key not in named and time.time() - stored.modified > _YOUNG_S:
            spool.delete(stored.key)


def _wheels_of(spool: ArtifactStore, run_id: str) -> tuple[Subject, ...]:
    wheels = load_or_none(spool, run_id, "subject.json", SubjectSet)
    if wheels is None:
        return ()
    return tuple(w for w in (wheels.subject, wheels.reference) if w is not None)


def _sha256_of(store: ArtifactStore, key: str) -> str | None:
    try:
        return hashlib.sha256(store.get(key)).hexdigest()
    except NoSuchKey:
        return None
