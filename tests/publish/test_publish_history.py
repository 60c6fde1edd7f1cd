from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from daskperf_tasks.errors import StoreError
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate
from daskperf_tasks.publish.history import (
    history_rows,
    read_history,
    rebuild_history,
    schema,
    write_history,
)
from daskperf_tasks.publish.publish import publish
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.protocol import ArtifactStore
from tests import sample_documents as documents
from tests.sample_documents import RUN
from tests.sample_run import WHEEL_SHA256, finish, run_id, write_run, write_unfinished


def rows_of(store: ArtifactStore) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_history(store).to_pylist()
    return rows


def test_every_figure_is_a_row_with_its_interval_and_its_origin(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_run(spool)
    publish(RUN, spool, store)
    rows = rows_of(store)
    cell_id = documents.cell("remote").id
    (row,) = [r for r in rows if (r["cell_id"], r["metric"]) == (cell_id, "makespan_s")]
    assert row == {
        "run_id": RUN,
        "time": datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC),
        "cell_id": "aggregates/v1;n=128;env=remote;sched=ws",
        "label": "aggregates n=128",
        "side": "remote",
        "arm": "subject",
        "metric": "makespan_s",
        "unit": "s",
        "value": 0.4,
        "low": 0.4 * 0.98,
        "high": 0.4 * 1.02,
        "confidence": 0.95,
        "n": 3,
        "reason": None,
        "subject": "daskperf-kernels 0.1.0.dev1",
        "subject_sha256": WHEEL_SHA256,
        "cell_state": "measured",
        "state": "complete",
        "green": True,
        "lane": "lab",
        "matrix": "nightly",
    }
    assert len(rows) == 2 * (3 + 1)


def test_what_is_missing_is_a_row_with_its_reason_and_without_a_number(
    spool: FilesystemStore,
) -> None:
    write_run(spool)
    write_history(spool, RUN)
    rows = rows_of(spool)
    memory = [r for r in rows if r["metric"] == "peak_rss_mib"]
    lost = [r for r in rows if r["cell_state"] == "failed"]
    assert [r["reason"] for r in memory] == ["the worker ended before it was asked"] * 2
    assert [(r["metric"], r["reason"]) for r in lost] == [("makespan_s", "timeout after 120 s")] * 2
    for row in [*memory, *lost]:
        assert (row["value"], row["low"], row["high"], row["n"]) == (None, None, None, None)


def test_rows_are_their_summaries_and_each_arm_has_its_own_wheel() -> None:
    from daskperf_tasks.model.results import Manifest

    manifest = Manifest(
        run_id=RUN,
        state="partial",
        reasons=("x",),
        green=False,
        created_at="",
        trigger="cli",
        matrix_name="m",
        lane="l",
        subject="w 2",
        subject_sha256="22" * 32,
        measured=1,
        failed=0,
        missing=0,
        stage_seconds={},
        files=(),
    )
    summary = documents.summary()
    other = dataclasses.replace(summary.cells[0], arm="reference")
    summary = dataclasses.replace(summary, cells=(*summary.cells, other))
    wheels = documents.subject_set(
        documents.subject("2", "22" * 32), documents.subject("1", "11" * 32)
    )
    rows = history_rows(manifest, wheels, [summary])
    assert {(r["arm"], r["subject"], r["subject_sha256"]) for r in rows} == {
        ("subject", "daskperf-kernels 2", "22" * 32),
        ("reference", "daskperf-kernels 1", "11" * 32),
    }
    for cell in summary.cells:
        mine = [r for r in rows if (r["cell_id"], r["arm"]) == (cell.cell_id, cell.arm)]
        for name, value in cell.metrics.items():
            (row,) = [r for r in mine if r["metric"] == name]
            if isinstance(value, Estimate):
                assert (row["value"], row["n"]) == (value.value, value.n)
            else:
                assert isinstance(value, Missing)
                assert row["reason"] == value.missing
    assert {r["subject"] for r in history_rows(manifest, None, [summary])} == {"w 2"}


def test_the_history_is_the_runs_in_order_of_time(spool: FilesystemStore) -> None:
    for n in (2, 1):
        write_run(spool, run_id(n))
        write_history(spool, run_id(n))
    assert list(dict.fromkeys(r["run_id"] for r in rows_of(spool))) == [run_id(1), run_id(2)]


def test_a_run_that_failed_early_has_no_rows_and_breaks_nothing(spool: FilesystemStore) -> None:
    spool.put(keys.run_key(RUN, "lane.json"), b"{}")
    finish(spool, RUN, state="failed", green=False)
    write_history(spool, RUN)
    assert read_history(spool).schema == schema()
    assert rows_of(spool) == []


def test_an_empty_history_has_its_columns(spool: FilesystemStore) -> None:
    table = read_history(spool)
    assert table.schema == schema()
    assert table.num_rows == 0


def test_the_history_can_be_rebuilt_from_the_runs(
    store: ArtifactStore, spool: FilesystemStore
) -> None:
    for n in (1, 2):
        write_run(spool, run_id(n))
        publish(run_id(n), spool, store)
    before = rows_of(store)
    store.delete(keys.history_file(run_id(1)))
    store.put(keys.history_file(run_id(2)), b"damaged", replace=True)
    store.put(keys.history_file(run_id(3)), b"of a run that is gone")
    write_unfinished(store, run_id(4))
    with pytest.raises(StoreError, match="cannot be read"):
        read_history(store)
    rebuilt = rebuild_history(store)
    assert rebuilt.written == (run_id(1), run_id(2))
    assert rebuilt.left_out == {run_id(4): "no manifest, or a file of it is missing"}
    assert rows_of(store) == before
    assert [o.key for o in store.list("history/")] == [keys.history_file(run_id(n)) for n in (1, 2)]


def test_an_older_file_without_a_column_is_still_read(spool: FilesystemStore) -> None:
    import io

    import pyarrow.parquet as pq

    write_run(spool)
    key = write_history(spool, RUN)
    table = pq.read_table(io.BytesIO(spool.get(key))).drop_columns(["confidence", "green"])
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    spool.put(key, buffer.getvalue(), replace=True)
    read = read_history(spool)
    assert read.schema == schema()
    assert read.num_rows == table.num_rows
    assert set(read["green"].to_pylist()) == {None}
