"""Task streams as tables: which task ran where, when, and what it waited for."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.model.block import Phase
from daskperf_tasks.model.ids import Arm

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns, with their arrow types by name. ``nbytes`` (of the result) stands on rows of
#: action ``compute`` only; times are Unix seconds by the clock of the worker's host.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("cell_id", "string"),
    ("arm", "string"),
    ("round", "int32"),
    ("attempt", "int32"),
    ("repeat", "int32"),
    ("phase", "string"),
    ("key", "string"),
    ("name", "string"),
    ("worker", "string"),
    ("worker_name", "string"),
    ("thread", "int64"),
    ("action", "string"),
    ("start_s", "float64"),
    ("stop_s", "float64"),
    ("nbytes", "int64"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task as the scheduler (or the timing hook of a pool) saw it."""

    key: str
    #: The task's prefix: what groups tasks of a kind.
    name: str
    worker: str
    worker_name: str
    thread: int
    #: Bytes of the result; None when nobody measured them.
    nbytes: int | None
    #: (action, start, stop) in Unix seconds.
    spans: tuple[tuple[str, float, float], ...]

    def seconds(self, action: str) -> float:
        """Return the time spent on an action."""
        return sum(stop - start for kind, start, stop in self.spans if kind == action)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatRows:
    """All tasks of one repeat."""

    repeat: int
    phase: Phase
    rows: tuple[TaskRow, ...]


def task_table(
    repeats: Iterable[RepeatRows], *, cell_id: str, arm: Arm, round_index: int, attempt: int
) -> pa.Table:
    """Return the rows of a block as an arrow table with :data:`COLUMNS`."""
    columns: dict[str, list[Any]] = {name: [] for name, _ in COLUMNS}
    for part in repeats:
        for row in part.rows:
            for action, start, stop in row.spans:
                values = (
                    cell_id,
                    arm,
                    round_index,
                    attempt,
                    part.repeat,
                    part.phase,
                    row.key,
                    row.name,
                    row.worker,
                    row.worker_name,
                    row.thread,
                    action,
                    start,
                    stop,
                    row.nbytes if action == "compute" else None,
                )
                for (name, _), value in zip(COLUMNS, values, strict=True):
                    columns[name].append(value)
    return _table(columns)


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    import pyarrow as pa

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS])
    return pa.table(columns, schema=schema)


def empty_table() -> pa.Table:
    """Return a table of no rows."""
    return _table({name: [] for name, _ in COLUMNS})


def to_parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a parquet file."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def from_parquet(data: bytes) -> pa.Table:
    """Read the bytes of a parquet file."""
    import pyarrow.parquet as pq

    return pq.read_table(io.BytesIO(data))


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the streams of many blocks as one table, by start of the tasks."""
    import pyarrow as pa

    if not tables:
        return empty_table()
    return pa.concat_tables(tables).sort_by("start_s")
