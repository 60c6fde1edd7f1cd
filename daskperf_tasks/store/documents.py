"""Which class reads which of a run's artifacts."""

from __future__ import annotations

import json
from typing import TypeVar

from daskperf_tasks.errors import SchemaError, UnknownRunError
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import Stored, loads
from daskperf_tasks.model.facts import Calibration, Lane, Preflight
from daskperf_tasks.model.graph import GraphTable
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import (
    Comparison,
    Diagnosis,
    Manifest,
    Summary,
    Validation,
    Verdicts,
)
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.model.subject import Deployment, SubjectSet
from daskperf_tasks.store.keys import MANIFEST, run_key, run_prefix
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey

T = TypeVar("T")

#: Key below the run -> class.
DOCUMENTS: dict[str, type[Stored]] = {
    "plan.json": Plan,
    "subject.json": SubjectSet,
    "lane.json": Lane,
    "deployment.json": Deployment,
    "preflight.json": Preflight,
    "calibration.json": Calibration,
    "local/summary.json": Summary,
    "remote/summary.json": Summary,
    "comparison.json": Comparison,
    "diagnosis.json": Diagnosis,
    "verdicts.json": Verdicts,
    "graphs.json": GraphTable,
    "validation/results.json": Validation,
    MANIFEST: Manifest,
}


def class_of(name: str) -> type[Stored] | None:
    """Return the class of an artifact (its key below the run), None for what has none.

    Examples
    --------
    >>> class_of("blocks/integrate-v1-00000000/subject-r0-a1.json").__name__
    'BlockResult'
    >>> class_of("report.html") is None
    True
    """
    if name.startswith("blocks/") and name.endswith(".json"):
        return BlockResult
    if name.startswith("stages/") and name.endswith(".json"):
        return StageRecord
    return DOCUMENTS.get(name)


def unreadable(name: str, data: bytes) -> str | None:
    """Return why an artifact cannot be read as what its name promises, or None."""
    cls = class_of(name)
    try:
        if cls is not None:
            loads(data, cls, where=name)
        elif name.endswith(".json"):
            json.loads(data)
    except SchemaError as err:
        return " ".join(str(err).split())
    except ValueError as err:
        return f"no JSON document: {err}"
    return None


def load(store: ArtifactStore, run_id: str, name: str, cls: type[T]) -> T:
    """Return one of a run's documents.

    Parameters
    ----------
    name
        Key below the run, for example ``local/summary.json``.

    Raises
    ------
    UnknownRunError
        When the store holds nothing of this run.
    NoSuchKey
        When it holds the run but not this document.
    SchemaError
        When the document cannot be read.
    """
    key = run_key(run_id, *name.split("/"))
    try:
        data = store.get(key)
    except NoSuchKey:
        require_run(store, run_id)
        raise
    return loads(data, cls, where=key)


def load_or_none(store: ArtifactStore, run_id: str, name: str, cls: type[T]) -> T | None:
    """Return one of a run's documents, or None when it is not there (yet)."""
    key = run_key(run_id, *name.split("/"))
    try:
        return loads(store.get(key), cls, where=key)
    except NoSuchKey:
        return None


def load_blocks(store: ArtifactStore, run_id: str) -> tuple[BlockResult, ...]:
    """Return all attempts at blocks of a run, in the order in which they started."""
    blocks = [
        loads(store.get(o.key), BlockResult, where=o.key)
        for o in store.list(run_key(run_id, "blocks") + "/")
        if o.key.endswith(".json")
    ]
    return tuple(sorted(blocks, key=lambda b: (b.started_at, b.key)))


def require_run(store: ArtifactStore, run_id: str) -> None:
    """Raise :class:`UnknownRunError` when the store holds nothing of this run."""
    if next(iter(store.list(run_prefix(run_id))), None) is None:
        raise UnknownRunError(
            "there is no such run",
            where=store.url,
            found=run_id,
            todo="`daskperf list` shows the runs of the store",
        )
