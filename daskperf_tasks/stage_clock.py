"""Records how long each stage took and how it ended, in the run's own ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from daskperf_tasks.errors import DaskperfError
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.store import keys
from daskperf_tasks.store.protocol import ArtifactStore


@contextmanager
def stage_clock(
    store: ArtifactStore, run_id: str, name: str, *, since: float | None = None
) -> Iterator[None]:
    """Write ``stages/<name>.json`` when the body ends, however it ends.

    Parameters
    ----------
    store, run_id, name
        Where to, whose, which.
    since
        Reading of ``time.perf_counter`` at which the stage began; default: now.
    """
    begin = time.perf_counter() if since is None else since
    before = timedelta(seconds=time.perf_counter() - begin)
    started_at = (datetime.now(UTC) - before).isoformat(timespec="seconds")
    fault: str | None = None
    error: str | None = None
    try:
        yield
    except KeyboardInterrupt:
        fault, error = "input", "interrupted"
        raise
    except BaseException as err:
        fault = err.kind if isinstance(err, DaskperfError) else "harness"
        error = str(err) or type(err).__name__
        raise
    finally:
        record = StageRecord(
            name=name,
            started_at=started_at,
            seconds=time.perf_counter() - begin,
            outcome="done" if error is None else "failed",
            fault=fault,
            error=error,
        )
        store.put(
            keys.run_key(run_id, "stages", f"{name}.json"), dumps(record).encode(), replace=True
        )


def stage_records(store: ArtifactStore, run_id: str) -> tuple[StageRecord, ...]:
    """Return the records of a run's stages in the order in which they started."""
    prefix = keys.run_key(run_id, "stages") + "/"
    records = [loads(store.get(o.key), StageRecord, where=o.key) for o in store.list(prefix)]
    return tuple(sorted(records, key=lambda r: (r.started_at, r.name)))


def stage_seconds(store: ArtifactStore, run_id: str) -> dict[str, float]:
    """Return the seconds of each stage; the rounds of measuring are added up."""
    total: dict[str, float] = {}
    for record in stage_records(store, run_id):
        name = record.name.split("-")[0]
        total[name] = total.get(name, 0.0) + record.seconds
    return total
