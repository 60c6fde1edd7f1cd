"""All samples of a run as one table (``samples.parquet``), a row a repeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.ids import Side, parse_cell_id
from daskperf_tasks.model.measured import Missing

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = ("run_id", "cell_id", "env", "arm", "subject_sha256", "request_hash", "phase")
_WHOLE = ("round", "attempt", "repeat", "units", "tasks", "threads", "processes")
_FIGURES = (
    "makespan_s",
    "task_wall_s",
    "task_cpu_s",
    "transfer_bytes",
    "transfer_s",
    "worker_cpu_s",
    "scheduler_cpu_s",
    "client_cpu_s",
    "peak_rss_mib",
    "success_rate",
)


def samples_table(blocks: Iterable[BlockResult], *, side: Side | None = None) -> pa.Table:
    """Return every repeat of the blocks, valid or not.

    A figure that is missing is null; its reason stands in ``missing`` as
    ``figure: reason`` lines. ``started_at`` is Unix time.

    Parameters
    ----------
    side
        Only this side's; None: both.
    """
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for block in sorted(blocks, key=lambda b: (b.round, b.cell_id, b.arm, b.attempt)):
        cell = parse_cell_id(block.cell_id)
        if side is not None and cell.side != side:
            continue
        for sample in block.samples:
            figures = {name: getattr(sample, name) for name in _FIGURES}
            absent = {k: v.missing for k, v in figures.items() if isinstance(v, Missing)}
            rows.append(
                {
                    "run_id": block.run_id,
                    "cell_id": block.cell_id,
                    "env": cell.env,
                    "arm": block.arm,
                    "subject_sha256": block.subject_sha256,
                    "request_hash": block.request_hash,
                    "phase": sample.phase,
                    "round": block.round,
                    "attempt": block.attempt,
                    "repeat": sample.repeat,
                    "units": sample.units,
                    "tasks": sample.tasks,
                    "threads": block.threads,
                    "processes": block.processes,
                    "started_at": sample.started_at,
                    **{k: None if k in absent else v for k, v in figures.items()},
                    "valid": block.valid,
                    "missing": "\n".join(f"{k}: {why}" for k, why in absent.items()),
                }
            )
    schema = pa.schema(
        [
            *((name, pa.string()) for name in _TEXT),
            *((name, pa.int64()) for name in _WHOLE),
            ("started_at", pa.float64()),
            *((name, pa.float64()) for name in _FIGURES),
            ("valid", pa.bool_()),
            ("missing", pa.string()),
        ]
    )
    return pa.Table.from_pylist(rows, schema=schema)
