"""The document of a block that left none itself: its environment or its process failed."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from daskperf_tasks.collect.host_load import cpu_model
from daskperf_tasks.model.block import BlockResult, HostLoad, Outcome
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.run.spec import RoundSpec, Turn


def unmeasured_block(
    spec: RoundSpec, turn: Turn, outcome: Outcome, *, started_at: str | None = None
) -> BlockResult:
    """Return a result without samples that says why."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    load = os.getloadavg()[0]
    nothing = Missing(missing="nothing was measured in this attempt")
    return BlockResult(
        run_id=spec.run_id,
        cell_id=turn.planned.cell_id,
        arm=spec.arm,
        round=spec.round.index,
        attempt=turn.attempt,
        subject_sha256=spec.subject_sha256,
        subject_version=spec.subject_version,
        request_hash=turn.planned.request_hash,
        started_at=started_at or now,
        ended_at=now,
        threads=0,
        processes=0,
        outcome=outcome,
        invalid_reason=None,
        correctness="not checked: nothing was computed to its end",
        members_before=(),
        members_after=(),
        host_load=HostLoad(
            load_1min_before=load,
            load_1min_after=load,
            foreign_cpu_cores=nothing,
            steal_fraction=nothing,
            cpu_model=cpu_model(),
        ),
        samples=(),
        task_stream=nothing,
        fine_metrics=nothing,
    )
