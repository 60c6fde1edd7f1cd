"""Every run's figures as rows, one parquet file a run; rebuildable from the runs."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import DaskperfError, StoreError
from daskperf_tasks.model.ids import run_time
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.metrics import METRICS
from daskperf_tasks.model.results import CellSummary, Manifest, Summary
from daskperf_tasks.model.subject import SubjectSet
from daskperf_tasks.store.documents import load
from daskperf_tasks.store.keys import HISTORY, MANIFEST, history_file, parse_run_id_of
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey, StoreUnreachable
from daskperf_tasks.store.runs import run_ids

#: A cell without any figure has a row of this metric with the reason.
_MAIN_METRIC = "makespan_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What a rebuild of the history did."""

    written: tuple[str, ...]
    #: Runs that are not in the history -> why.
    left_out: dict[str, str]


def schema() -> Any:
    """Return the columns (a ``pyarrow.Schema``).

    ``value``, ``low`` and ``high`` are in ``unit``; where there is no figure
    they are null and ``reason`` says why. ``state`` is the run's,
    ``cell_state`` the cell's.
    """
    import pyarrow as pa

    text, real = pa.string(), pa.float64()
    return pa.schema(
        [
            ("run_id", text),
            ("time", pa.timestamp("ms", tz="UTC")),
            ("cell_id", text),
            ("label", text),
            ("side", text),
            ("arm", text),
            ("metric", text),
            ("unit", text),
            ("value", real),
            ("low", real),
            ("high", real),
            ("confidence", real),
            ("n", pa.int64()),
            ("reason", text),
            ("subject", text),
            ("subject_sha256", text),
            ("cell_state", text),
            ("state", text),
            ("green", pa.bool_()),
            ("lane", text),
            ("matrix", text),
        ]
    )


def history_rows(
    manifest: Manifest, wheels: SubjectSet | None, summaries: Iterable[Summary]
) -> list[dict[str, Any]]:
    """Return a run's rows; pure."""
    rows: list[dict[str, Any]] = []
    for summary in summaries:
        for cell in summary.cells:
            name, sha256 = manifest.subject, manifest.subject_sha256
            if wheels is not None:
                wheel = wheels.reference if cell.arm == "reference" else wheels.subject
                if wheel is not None:
                    name, sha256 = f"{wheel.name} {wheel.version}", wheel.sha256
            rows += [
                {
                    "run_id": manifest.run_id,
                    "time": run_time(manifest.run_id),
                    "cell_id": cell.cell_id,
                    "label": cell.label,
                    "side": summary.side,
                    "arm": cell.arm,
                    **figure,
                    "subject": name,
                    "subject_sha256": sha256,
                    "cell_state": cell.state,
                    "state": manifest.state,
                    "green": manifest.green,
                    "lane": manifest.lane,
                    "matrix": manifest.matrix_name,
                }
                for figure in _figures(cell)
            ]
    return rows


def _figures(cell: CellSummary) -> list[dict[str, Any]]:
    metrics = cell.metrics or {_MAIN_METRIC: Missing(missing=cell.reason or cell.state)}
    figures: list[dict[str, Any]] = []
    for name, value in metrics.items():
        unit = METRICS[name].unit if name in METRICS else None
        figure = {"metric": name, "unit": unit, "reason": None}
        if isinstance(value, Missing):
            figures.append({**figure, "reason": value.missing})
        else:
            figures.append(
                {
                    **figure,
                    "value": value.value,
                    "low": value.low,
                    "high": value.high,
                    "confidence": value.confidence,
                    "n": value.n,
                }
            )
    return figures


def write_history(store: ArtifactStore, run_id: str) -> str:
    """Write a published run's rows from its artifacts in ``store``; returns the key.

    A run that ended before it had figures gets a file without rows. Nothing
    is written when the same rows are there.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = load(store, run_id, MANIFEST, Manifest)
    names = {e.key for e in manifest.files}
    wheels = load(store, run_id, "subject.json", SubjectSet) if "subject.json" in names else None
    summaries = [
        load(store, run_id, name, Summary)
        for name in ("local/summary.json", "remote/summary.json")
        if name in names
    ]
    table = pa.Table.from_pylist(history_rows(manifest, wheels, summaries), schema=schema())
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    key = history_file(run_id)
    data = buffer.getvalue()
    try:
        if store.get(key) == data:
            return key
    except NoSuchKey:
        pass
    store.put(key, data, replace=True)
    return key


def read_history(store: ArtifactStore) -> Any:
    """Return the rows of all runs as one ``pyarrow.Table``, oldest run first.

    Raises
    ------
    StoreError
        When a file of the history cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for stored in store.list(HISTORY):
        if parse_run_id_of(stored.key) is None:
            continue
        try:
            table = pq.read_table(io.BytesIO(store.get(stored.key)))
        except pa.ArrowException as err:
            raise _unreadable(store, stored.key, str(err)) from err
        # An older file may lack columns that were added since.
        tables.append(pa.concat_tables([schema().empty_table(), table], promote_options="default"))
    if not tables:
        return schema().empty_table()
    return pa.concat_tables(tables, promote_options="default")


def rebuild_history(store: ArtifactStore) -> Rebuilt:
    """Write the history of all published runs again, and remove that of runs that are gone."""
    written: list[str] = []
    left_out: dict[str, str] = {}
    for run_id in run_ids(store):
        try:
            write_history(store, run_id)
        except StoreUnreachable:
            raise
        except NoSuchKey:
            left_out[run_id] = "no manifest, or a file of it is missing"
        except DaskperfError as err:
            left_out[run_id] = " ".join(str(err).split())
        else:
            written.append(run_id)
    for stored in list(store.list(HISTORY)):
        run_id_of_file = parse_run_id_of(stored.key)
        if run_id_of_file is not None and run_id_of_file not in written:
            store.delete(stored.key)
    return Rebuilt(written=tuple(written), left_out=left_out)


def _unreadable(store: ArtifactStore, key: str, why: str) -> StoreError:
    return StoreError(
        "a file of the history cannot be read",
        where=f"{store.url}/{key}",
        found=why[:200],
        todo="write the history again: it is made from the published runs",
    )
