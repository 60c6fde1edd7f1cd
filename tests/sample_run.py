"""A small finished run in a store, written as the stages write one."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Literal

from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.store import keys
from daskperf_tasks.store.manifest import build_manifest, put_manifest
from daskperf_tasks.store.protocol import ArtifactStore
from tests import sample_documents as documents

WHEEL_BYTES = b"the bytes of a wheel"
WHEEL_SHA256 = hashlib.sha256(WHEEL_BYTES).hexdigest()


def run_id(n: int) -> str:
    """The id of the n-th night."""
    return f"202611{n:02}T010203Z-{n:06x}"


def write_run(
    store: ArtifactStore,
    run: str = documents.RUN,
    *,
    state: Literal["complete", "partial", "failed"] = "complete",
    green: bool = True,
    lane: str = "lab",
    matrix: str = "nightly",
    report: bytes = b"<h1>report</h1>",
) -> Manifest:
    """Write a whole run with its manifest."""
    write_unfinished(store, run, matrix=matrix, report=report)
    return finish(store, run, state=state, green=green, lane=lane, matrix=matrix)


def write_unfinished(
    store: ArtifactStore, run: str, *, matrix: str = "nightly", report: bytes = b"report"
) -> None:
    """Write all of a run except its manifest."""
    wheel = documents.subject(sha256=WHEEL_SHA256)
    wheel = dataclasses.replace(wheel, size_bytes=len(WHEEL_BYTES))
    store.put(keys.wheel_file(wheel.sha256, wheel.file), WHEEL_BYTES)
    block = documents.block(run)
    stored = {
        "plan.json": dumps(documents.plan(run, matrix)),
        "subject.json": dumps(documents.subject_set(wheel)),
        "local/summary.json": dumps(documents.summary(run, "local")),
        "remote/summary.json": dumps(documents.summary(run, "remote", makespan_s=0.4)),
    }
    for name, text in stored.items():
        store.put(keys.run_key(run, *name.split("/")), text.encode(), replace=True)
    place = (run, block.cell_id, block.arm, block.round, block.attempt)
    store.put(keys.block_file(*place), dumps(block).encode())
    store.put(keys.stream_file(*place), b"PAR1...")
    store.put(keys.run_key(run, "report.html"), report, replace=True)


def finish(
    store: ArtifactStore,
    run: str,
    *,
    state: Literal["complete", "partial", "failed"] = "complete",
    green: bool = True,
    lane: str = "lab",
    matrix: str = "nightly",
) -> Manifest:
    """Write the manifest over what is there."""
    manifest = build_manifest(
        store,
        run,
        state=state,
        reasons=() if state == "complete" else ("1 cell failed",),
        green=green,
        created_at="2026-11-30T01:10:00+00:00",
        trigger="cli",
        matrix_name=matrix,
        lane=lane,
        subject="daskperf-kernels 0.1.0.dev1",
        subject_sha256=WHEEL_SHA256,
        measured=2,
        failed=2,
        missing=0,
        stage_seconds={"measure": 80.5},
    )
    put_manifest(store, manifest)
    return manifest
