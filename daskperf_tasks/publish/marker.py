"""The note in a spool that a run has been published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from daskperf_tasks.errors import SchemaError
from daskperf_tasks.model.codec import Stored, dumps, loads
from daskperf_tasks.store.keys import PUBLISHED, parse_run_id_of, published_file
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(Stored):
    """What was published where (``published/<run_id>.json`` in the spool)."""

    SCHEMA: ClassVar[str] = "daskperf.published"
    VERSION: ClassVar[int] = 1

    run_id: str
    #: URL of the store.
    store: str
    #: Of the manifest's bytes; another one in the spool means that there is news to publish.
    manifest_sha256: str
    #: With the manifest.
    files: int
    size_bytes: int
    #: Files that this call uploaded; the others were there already.
    uploaded: int
    published_at: str


def read_marker(spool: ArtifactStore, run_id: str) -> Published | None:
    """Return the note of a run; None when there is none or it cannot be read.

    Publishing again is harmless, so a broken note is as good as none.
    """
    key = published_file(run_id)
    try:
        return loads(spool.get(key), Published, where=key)
    except (NoSuchKey, SchemaError):
        return None


def write_marker(spool: ArtifactStore, marker: Published) -> None:
    """Write or renew the note of a run."""
    spool.put(published_file(marker.run_id), dumps(marker).encode(), replace=True)


def marked_runs(spool: ArtifactStore) -> tuple[str, ...]:
    """Return the runs that have a note, oldest first."""
    found = (parse_run_id_of(o.key) for o in spool.list(PUBLISHED))
    return tuple(run_id for run_id in found if run_id is not None)
