"""Copy a finished run from the spool to the store, the manifest last."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from daskperf_tasks.errors import StoreError
from daskperf_tasks.model.codec import loads
from daskperf_tasks.model.results import FileEntry, Manifest
from daskperf_tasks.publish.wheels import upload_wheels
from daskperf_tasks.store.keys import MANIFEST, is_evidence, run_key, run_prefix
from daskperf_tasks.store.manifest import describe
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What an upload did."""

    manifest: Manifest
    manifest_sha256: str
    #: Of the run, with the manifest.
    files: int
    size_bytes: int
    #: How many of them were not in the store yet.
    uploaded: int


def upload_run(run_id: str, spool: ArtifactStore, store: ArtifactStore) -> Upload:
    """Bring the store's copy of a run to what the spool's manifest says.

    Each file is read back from the store and compared, whether it was
    uploaded now or found there. Killed at any moment, the next call goes on
    where this one ended; several at once do the same work twice and no harm.

    Raises
    ------
    StoreError
        When the spool does not hold what its manifest says, when the store
        fails, or holds other evidence under the same key.
    """
    manifest_key = run_key(run_id, MANIFEST)
    text = spool.get(manifest_key)
    manifest = loads(text, Manifest, where=f"{spool.url}/{manifest_key}")
    present = {o.key for o in store.list(run_prefix(run_id))}
    uploaded = 0
    if manifest_key in present and store.get(manifest_key) != text:
        # The run was rebuilt. Until all is replaced, no manifest may vouch for it.
        store.delete(manifest_key)
        present.discard(manifest_key)
    for entry in manifest.files:
        key = run_key(run_id, *entry.key.split("/"))
        if key not in present or not _stored_well(store, key, entry):
            data = _from_spool(spool, key, entry)
            store.put(key, data, replace=not is_evidence(entry.key))
            uploaded += 1
    upload_wheels(run_id, spool, store)
    listed = {run_key(run_id, *e.key.split("/")) for e in manifest.files} | {manifest_key}
    for key in sorted(present - listed):
        # Left by an earlier build of the derived artifacts.
        if not is_evidence(key.removeprefix(run_prefix(run_id))):
            store.delete(key)
    if manifest_key not in present:
        store.put(manifest_key, text, replace=True)
        uploaded += 1
    return Upload(
        manifest=manifest,
        manifest_sha256=hashlib.sha256(text).hexdigest(),
        files=len(manifest.files) + 1,
        size_bytes=sum(e.size_bytes for e in manifest.files) + len(text),
        uploaded=uploaded,
    )


def _stored_well(store: ArtifactStore, key: str, entry: FileEntry) -> bool:
    try:
        return describe(entry.key, store.get(key)) == entry
    except NoSuchKey:
        return False  # another publisher replaces it just now


def _from_spool(spool: ArtifactStore, key: str, entry: FileEntry) -> bytes:
    try:
        data = spool.get(key)
    except NoSuchKey as err:
        raise StoreError(
            "the spool lost a file of a finished run",
            where=f"{spool.url}/{key}",
            expected=f"{entry.size_bytes} bytes",
            found="no such file",
            todo="`daskperf rebuild RUN` makes the derived artifacts and the manifest again",
        ) from err
    found = describe(entry.key, data)
    if found != entry:
        raise StoreError(
            "a file of a finished run changed in the spool after its manifest was written",
            where=f"{spool.url}/{key}",
            expected=f"{entry.size_bytes} bytes, sha256 {entry.sha256}",
            found=f"{found.size_bytes} bytes, sha256 {found.sha256}",
            todo="`daskperf rebuild RUN` makes the derived artifacts and the manifest again",
        )
    return data
