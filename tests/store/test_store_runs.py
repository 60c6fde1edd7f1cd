from __future__ import annotations

import dataclasses

import pytest

from daskperf_tasks.errors import UnknownRunError
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Summary, Verdicts
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey
from daskperf_tasks.store.runs import (
    list_runs,
    load,
    load_blocks,
    load_or_none,
    previous_accepted,
    run_ids,
)
from tests import sample_documents as documents
from tests.sample_documents import RUN
from tests.sample_run import run_id, write_run, write_unfinished


def test_an_empty_store_has_no_runs(store: ArtifactStore) -> None:
    assert list_runs(store) == ()
    assert previous_accepted(store, RUN, "lab", "nightly") is None


def test_runs_are_listed_newest_first_whatever_their_state(store: ArtifactStore) -> None:
    write_run(store, run_id(1))
    write_run(store, run_id(2), state="partial", green=False)
    write_unfinished(store, run_id(3))
    store.put(keys.run_key(run_id(4), "manifest.json"), b"{}")
    store.put("profiles/lost+found/x", b"")
    broken, unfinished, partial, complete = list_runs(store)
    assert [r.run_id for r in (broken, unfinished, partial, complete)] == [
        run_id(n) for n in (4, 3, 2, 1)
    ]
    assert (complete.state, complete.green, complete.reasons) == ("complete", True, ())
    assert (complete.subject, complete.matrix, complete.lane) == (
        "daskperf-kernels 0.1.0.dev1",
        "nightly",
        "lab",
    )
    assert (partial.state, partial.green, partial.reasons) == (
        "partial",
        False,
        ("1 cell failed",),
    )
    assert (unfinished.state, unfinished.green) == ("in progress", False)
    assert (unfinished.subject, unfinished.matrix) == ("daskperf-kernels 0.1.0.dev1", "nightly")
    assert unfinished.created_at == "2026-11-03T01:02:03+00:00"
    assert "abandoned" in unfinished.reasons[0]
    assert (broken.state, broken.green) == ("failed", False)
    assert "manifest cannot be read" in broken.reasons[0]


def test_a_run_that_has_just_begun_is_in_progress(folder: FilesystemStore) -> None:
    folder.put(keys.run_key(RUN, "lane.json"), b"{}")
    (row,) = list_runs(folder)
    assert (row.state, row.subject, row.matrix) == ("in progress", "", "")


def test_the_previous_accepted_run_is_the_latest_good_one_of_its_kind(
    folder: FilesystemStore,
) -> None:
    write_run(folder, run_id(1))
    write_run(folder, run_id(2))
    write_run(folder, run_id(3), lane="elsewhere")
    write_run(folder, run_id(4), matrix="other")
    write_run(folder, run_id(5), state="partial", green=False)
    write_run(folder, run_id(6), state="complete", green=False)
    write_run(folder, run_id(7), state="failed", green=False)
    write_unfinished(folder, run_id(8))
    folder.put(keys.run_key(run_id(9), "manifest.json"), b"{}")
    write_run(folder, run_id(11))

    def previous(before: int, lane: str = "lab", matrix: str = "nightly") -> str | None:
        found = previous_accepted(folder, run_id(before), lane, matrix)
        return found.run_id if found else None

    assert previous(10) == run_id(2)
    assert previous(11) == run_id(2), "never the run itself"
    assert previous(12) == run_id(11)
    assert previous(2) == run_id(1)
    assert previous(1) is None
    assert previous(12, lane="elsewhere") == run_id(3)
    assert previous(12, matrix="other") == run_id(4)
    assert previous(12, lane="nowhere") is None


def test_run_ids_ignore_what_is_no_run(folder: FilesystemStore) -> None:
    folder.put("profiles/readme/x", b"")
    write_unfinished(folder, run_id(2))
    write_unfinished(folder, run_id(1))
    assert run_ids(folder) == (run_id(1), run_id(2))


def test_documents_are_loaded_by_name(store: ArtifactStore) -> None:
    write_run(store)
    assert load(store, RUN, "plan.json", Plan) == documents.plan()
    assert load(store, RUN, "local/summary.json", Summary).side == "local"
    assert load_or_none(store, RUN, "plan.json", Plan) == documents.plan()
    assert load_or_none(store, RUN, "verdicts.json", Verdicts) is None
    with pytest.raises(NoSuchKey, match="no such object"):
        load(store, RUN, "verdicts.json", Verdicts)
    with pytest.raises(UnknownRunError, match="no such run"):
        load(store, run_id(1), "plan.json", Plan)


def test_blocks_are_loaded_in_the_order_of_measuring(folder: FilesystemStore) -> None:
    first = documents.block(env="remote")
    second = dataclasses.replace(
        documents.block(env="local"), started_at="2026-11-30T01:04:00+00:00"
    )
    third = dataclasses.replace(
        documents.block(env="remote", attempt=2), started_at="2026-11-30T01:05:00+00:00"
    )
    for b in (third, first, second):
        key = keys.block_file(b.run_id, b.cell_id, b.arm, b.round, b.attempt)
        folder.put(key, dumps(b).encode())
    assert load_blocks(folder, RUN) == (first, second, third)
    assert load_blocks(folder, run_id(1)) == ()
