"""The manifest: what a run left, file by file, written last."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from daskperf_tasks.errors import SchemaError
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.results import FileEntry, Manifest
from daskperf_tasks.store.documents import require_run, unreadable
from daskperf_tasks.store.keys import MANIFEST, in_manifest, run_key, run_prefix
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey


def build_manifest(
    store: ArtifactStore,
    run_id: str,
    *,
    state: Literal["complete", "partial", "failed"],
    reasons: Sequence[str],
    green: bool,
    created_at: str,
    trigger: str,
    matrix_name: str,
    lane: str,
    subject: str,
    subject_sha256: str,
    measured: int,
    failed: int,
    missing: int,
    stage_seconds: Mapping[str, float],
) -> Manifest:
    """Describe every file that the run has in ``store`` now.

    Left out are the manifest itself and the records of the stages after it
    (:func:`daskperf_tasks.store.keys.in_manifest`).
    """
    prefix = run_prefix(run_id)
    return Manifest(
        run_id=run_id,
        state=state,
        reasons=tuple(reasons),
        green=green,
        created_at=created_at,
        trigger=trigger,
        matrix_name=matrix_name,
        lane=lane,
        subject=subject,
        subject_sha256=subject_sha256,
        measured=measured,
        failed=failed,
        missing=missing,
        stage_seconds=dict(stage_seconds),
        files=tuple(
            describe(o.key.removeprefix(prefix), store.get(o.key))
            for o in store.list(prefix)
            if in_manifest(o.key.removeprefix(prefix))
        ),
    )


def describe(name: str, data: bytes) -> FileEntry:
    """Return the manifest's entry of a file (``name`` is its key below the run)."""
    return FileEntry(key=name, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def put_manifest(store: ArtifactStore, manifest: Manifest) -> bytes:
    """Write the manifest, or its successor after a rebuild; returns the bytes."""
    data = dumps(manifest).encode()
    store.put(run_key(manifest.run_id, MANIFEST), data, replace=True)
    return data


def verify_run(store: ArtifactStore, run_id: str) -> tuple[str, ...]:
    """Read every file of a run again and compare it with the manifest.

    Returns
    -------
    tuple of str
        What is wrong, a sentence each; empty when all is as it was written.

    Raises
    ------
    UnknownRunError
        When the store holds nothing of this run.
    StoreError
        When the store fails.
    """
    prefix = run_prefix(run_id)
    try:
        text = store.get(prefix + MANIFEST)
    except NoSuchKey:
        require_run(store, run_id)
        return (f"{MANIFEST}: missing; the run is in progress or was abandoned",)
    try:
        manifest = loads(text, Manifest, where=prefix + MANIFEST)
    except SchemaError as err:
        return (f"{MANIFEST}: {' '.join(str(err).split())}",)
    problems = []
    if manifest.run_id != run_id:
        problems.append(f"{MANIFEST}: it is of run {manifest.run_id}, not of {run_id}")
    for entry in manifest.files:
        problem = _check_file(store, prefix, entry)
        if problem is not None:
            problems.append(f"{entry.key}: {problem}")
    listed = {e.key for e in manifest.files}
    for stored in store.list(prefix):
        name = stored.key.removeprefix(prefix)
        if in_manifest(name) and name not in listed:
            problems.append(f"{name}: in the store ({stored.size_bytes} bytes), not in {MANIFEST}")
    return tuple(problems)


def _check_file(store: ArtifactStore, prefix: str, entry: FileEntry) -> str | None:
    try:
        data = store.get(prefix + entry.key)
    except NoSuchKey:
        return "missing from the store"
    found = describe(entry.key, data)
    if found.size_bytes != entry.size_bytes:
        return f"has {found.size_bytes} bytes, the manifest says {entry.size_bytes}"
    if found.sha256 != entry.sha256:
        return f"its sha256 is {found.sha256}, the manifest says {entry.sha256}"
    return unreadable(entry.key, data)
