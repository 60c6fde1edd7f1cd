"""Publish runs from the spool; what cannot be published stays there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from daskperf_tasks.errors import DaskperfError, UnknownRunError
from daskperf_tasks.publish.history import write_history
from daskperf_tasks.publish.marker import Published, marked_runs, read_marker, write_marker
from daskperf_tasks.publish.upload import upload_run
from daskperf_tasks.publish.wheels import prune_wheels
from daskperf_tasks.store.keys import MANIFEST, published_file, run_key, run_prefix
from daskperf_tasks.store.manifest import describe
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey, StoreUnreachable
from daskperf_tasks.store.runs import run_ids

#: Published runs that keep their copy in the spool, for a quick look and a rebuild.
KEEP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a drain did. Iterates over the published runs."""

    published: tuple[str, ...]
    #: Run id -> why it could not be published.
    failed: dict[str, str]

    def __iter__(self) -> Iterator[str]:
        return iter(self.published)

    def __len__(self) -> int:
        return len(self.published)


def publish(
    run_id: str, spool: ArtifactStore, store: ArtifactStore, *, keep: int = KEEP
) -> Published:
    """Upload a finished run and its wheels, its manifest last, then its rows in the history.

    Parameters
    ----------
    run_id
        A run whose ``manifest.json`` is in the spool.
    spool, store
        From where, to where.
    keep
        Published runs that keep their copy in the spool; older copies are
        removed, those of unpublished runs never.

    Returns
    -------
    Published
        Also kept in the spool as the note that this run is done.

    Raises
    ------
    UnknownRunError
        When the spool holds no such run, or one without a manifest.
    StoreError
        When the store does not answer or fails. The spool is unchanged then
        and :func:`drain` publishes the run on the next occasion.
    """
    try:
        upload = upload_run(run_id, spool, store)
    except NoSuchKey as err:
        raise UnknownRunError(
            "the spool has no finished run of this id",
            where=spool.url,
            expected=run_key(run_id, MANIFEST),
            found=run_id,
            todo="a published run may have left the spool already: see `daskperf list`",
        ) from err
    write_history(store, run_id)
    marker = Published(
        run_id=run_id,
        store=store.url,
        manifest_sha256=upload.manifest_sha256,
        files=upload.files,
        size_bytes=upload.size_bytes,
        uploaded=upload.uploaded,
        published_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_marker(spool, marker)
    prune(spool, keep=keep, spare=run_id)
    return marker


def pending(spool: ArtifactStore) -> tuple[str, ...]:
    """Return the finished runs of the spool that are not published yet, oldest first.

    A run that was rebuilt after it had been published is among them again.
    """
    return tuple(
        run_id
        for run_id in run_ids(spool)
        if spool.exists(run_key(run_id, MANIFEST)) and not _is_published(spool, run_id)
    )


def drain(spool: ArtifactStore, store: ArtifactStore, *, keep: int = KEEP) -> Drained:
    """Publish all that is pending, oldest first.

    A run that cannot be published does not stand in the way of the others.

    Raises
    ------
    StoreUnreachable
        When the store does not answer: then it is no run's fault.
    """
    published, failed = [], {}
    for run_id in pending(spool):
        try:
            publish(run_id, spool, store, keep=keep)
        except StoreUnreachable:
            raise
        except DaskperfError as err:
            failed[run_id] = str(err)
        else:
            published.append(run_id)
    return Drained(published=tuple(published), failed=failed)


def prune(spool: ArtifactStore, *, keep: int = KEEP, spare: str | None = None) -> tuple[str, ...]:
    """Remove the spool's copies of published runs except the latest ``keep`` and ``spare``.

    Returns
    -------
    tuple of str
        The runs whose copies were removed.
    """
    done = [r for r in marked_runs(spool) if _is_published(spool, r)]
    # The run just published may be an old one that was rebuilt: its later stages read it.
    old = tuple(r for r in done[: max(0, len(done) - keep)] if r != spare)
    for run_id in old:
        manifest_key = run_key(run_id, MANIFEST)
        # The manifest goes after the files and the note last: ended half-way,
        # the run still counts as published, and the next call ends the job.
        for stored in list(spool.list(run_prefix(run_id))):
            if stored.key != manifest_key:
                spool.delete(stored.key)
        spool.delete(manifest_key)
        spool.delete(published_file(run_id))
    if old:
        prune_wheels(spool)
    return old


def _is_published(spool: ArtifactStore, run_id: str) -> bool:
    marker = read_marker(spool, run_id)
    if marker is None:
        return False
    try:
        manifest = spool.get(run_key(run_id, MANIFEST))
    except NoSuchKey:
        # Only a prune that was ended half-way leaves a note without a manifest.
        return True
    return describe(MANIFEST, manifest).sha256 == marker.manifest_sha256
