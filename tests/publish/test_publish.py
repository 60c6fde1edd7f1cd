from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from daskperf_tasks.errors import StoreError, UnknownRunError
from daskperf_tasks.publish.marker import read_marker
from daskperf_tasks.publish.publish import drain, pending, prune, publish
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.manifest import verify_run
from daskperf_tasks.store.protocol import ArtifactStore, StoredObject
from daskperf_tasks.store.runs import list_runs
from tests import sample_documents as documents
from tests.sample_documents import RUN
from tests.sample_run import (
    WHEEL_BYTES,
    WHEEL_SHA256,
    finish,
    run_id,
    write_run,
    write_unfinished,
)

WHEEL_KEY = keys.wheel_file(WHEEL_SHA256, documents.WHEEL)


class Recorder:
    """A store that remembers what was written and removed, in order."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store
        self.puts: list[str] = []
        self.deletes: list[str] = []

    @property
    def url(self) -> str:
        return self.store.url

    def put(self, key: str, data: bytes, *, replace: bool = False) -> None:
        self.puts.append(key)
        self.store.put(key, data, replace=replace)

    def get(self, key: str) -> bytes:
        return self.store.get(key)

    def exists(self, key: str) -> bool:
        return self.store.exists(key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        return self.store.list(prefix)

    def folders(self, prefix: str) -> tuple[str, ...]:
        return self.store.folders(prefix)

    def delete(self, key: str) -> None:
        self.deletes.append(key)
        self.store.delete(key)


def contents(store: ArtifactStore, prefix: str = "") -> dict[str, bytes]:
    return {o.key: store.get(o.key) for o in store.list(prefix)}


def test_a_published_run_is_the_spools_copy(spool: FilesystemStore, store: ArtifactStore) -> None:
    manifest = write_run(spool)
    recorder = Recorder(store)
    published = publish(RUN, spool, recorder)
    assert contents(store, "profiles/") == contents(spool, "profiles/")
    assert verify_run(store, RUN) == ()
    assert store.get(WHEEL_KEY) == WHEEL_BYTES
    assert published.files == published.uploaded == len(manifest.files) + 1
    assert published.size_bytes == sum(len(d) for d in contents(spool, "profiles/").values())
    assert published.store == store.url
    # The manifest comes after all that it vouches for; then the history.
    assert recorder.puts[-2:] == [keys.run_key(RUN, "manifest.json"), keys.history_file(RUN)]
    assert recorder.deletes == []
    assert [r.state for r in list_runs(store)] == ["complete"]


def test_a_second_publish_writes_nothing(spool: FilesystemStore, store: ArtifactStore) -> None:
    write_run(spool)
    publish(RUN, spool, store)
    before = contents(store)
    recorder = Recorder(store)
    again = publish(RUN, spool, recorder)
    assert (recorder.puts, recorder.deletes, again.uploaded) == ([], [], 0)
    assert contents(store) == before


def test_the_note_is_outside_the_run_and_ends_the_waiting(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_run(spool)
    assert pending(spool) == (RUN,)
    published = publish(RUN, spool, store)
    assert pending(spool) == ()
    assert read_marker(spool, RUN) == published
    assert verify_run(spool, RUN) == ()
    spool.put(keys.published_file(RUN), b"broken", replace=True)
    assert pending(spool) == (RUN,)
    assert list(drain(spool, store)) == [RUN]
    assert pending(spool) == ()


def test_a_rebuilt_run_is_published_anew(spool: FilesystemStore, store: ArtifactStore) -> None:
    write_run(spool)
    spool.put(keys.run_key(RUN, "old.html"), b"no longer made")
    finish(spool, RUN)
    publish(RUN, spool, store)
    spool.put(keys.run_key(RUN, "report.html"), b"a better judge", replace=True)
    spool.delete(keys.run_key(RUN, "old.html"))
    finish(spool, RUN)
    assert pending(spool) == (RUN,)
    recorder = Recorder(store)
    publish(RUN, spool, recorder)
    manifest_key = keys.run_key(RUN, "manifest.json")
    # No manifest vouches for a half-replaced run.
    assert recorder.deletes == [manifest_key, keys.run_key(RUN, "old.html")]
    assert recorder.puts == [keys.run_key(RUN, "report.html"), manifest_key]
    assert contents(store, "profiles/") == contents(spool, "profiles/")
    assert verify_run(store, RUN) == ()


def test_evidence_in_the_store_is_never_overwritten(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_run(spool)
    block = documents.block()
    key = keys.block_file(RUN, block.cell_id, "subject", 0, 1)
    store.put(key, b"other evidence")
    with pytest.raises(StoreError, match="already written") as caught:
        publish(RUN, spool, store)
    assert key in str(caught.value)
    assert store.get(key) == b"other evidence"
    assert not store.exists(keys.run_key(RUN, "manifest.json"))
    assert pending(spool) == (RUN,)


def test_a_spool_that_lost_or_changed_a_file_is_not_published(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_run(spool)
    key = keys.run_key(RUN, "report.html")
    spool.put(key, b"changed", replace=True)
    with pytest.raises(StoreError, match="changed in the spool"):
        publish(RUN, spool, store)
    spool.delete(key)
    with pytest.raises(StoreError, match="lost a file") as caught:
        publish(RUN, spool, store)
    assert "daskperf rebuild" in str(caught.value)
    assert list_runs(store)[0].state == "in progress"


def test_a_wheel_that_changed_in_the_spool_is_not_published(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_run(spool)
    spool.put(WHEEL_KEY, b"other bytes", replace=True)
    with pytest.raises(StoreError, match="a wheel changed in the spool"):
        publish(RUN, spool, store)
    spool.delete(WHEEL_KEY)
    publish(RUN, spool, store)
    assert verify_run(store, RUN) == ()
    assert not store.exists(WHEEL_KEY)


def test_an_unfinished_or_unknown_run_is_not_published(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    write_unfinished(spool, RUN)
    for unfit in (RUN, run_id(1)):
        with pytest.raises(UnknownRunError, match="no finished run"):
            publish(unfit, spool, store)
    assert pending(spool) == ()
    assert contents(store) == {}


def test_two_publishers_at_once_do_no_harm(spool: FilesystemStore, store: ArtifactStore) -> None:
    write_run(spool)
    start = threading.Barrier(3)
    problems: list[BaseException] = []

    def work() -> None:
        start.wait()
        try:
            publish(RUN, spool, store)
        except BaseException as err:
            problems.append(err)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert verify_run(store, RUN) == ()
    assert contents(store, "profiles/") == contents(spool, "profiles/")
    assert pending(spool) == ()


def test_draining_takes_the_oldest_first_and_goes_past_a_bad_run(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    for n in (3, 1, 4, 2):
        write_run(spool, run_id(n))
    write_unfinished(spool, run_id(5))
    spool.delete(keys.run_key(run_id(2), "report.html"))
    spool.put(keys.run_key(run_id(4), "manifest.json"), b"{}", replace=True)
    assert pending(spool) == tuple(run_id(n) for n in (1, 2, 3, 4))
    recorder = Recorder(store)
    drained = drain(spool, recorder)
    assert drained.published == tuple(drained) == (run_id(1), run_id(3))
    assert len(drained) == 2
    assert set(drained.failed) == {run_id(2), run_id(4)}
    assert "lost a file" in drained.failed[run_id(2)]
    manifests = [k for k in recorder.puts if k.endswith("manifest.json")]
    assert manifests == [keys.run_key(run_id(n), "manifest.json") for n in (1, 3)]
    assert pending(spool) == (run_id(2), run_id(4))


def test_only_old_published_copies_leave_the_spool(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    for n in range(1, 6):
        write_run(spool, run_id(n))
    for n in (1, 2, 4, 5):
        publish(run_id(n), spool, store, keep=2)
    write_unfinished(spool, run_id(6))
    assert spool.folders("profiles/") == tuple(run_id(n) for n in (3, 4, 5, 6))
    assert [o.key for o in spool.list("published/")] == [
        keys.published_file(run_id(n)) for n in (4, 5)
    ]
    assert pending(spool) == (run_id(3),)
    assert spool.exists(WHEEL_KEY)
    for n in (1, 2, 4, 5):
        assert verify_run(store, run_id(n)) == ()


def test_the_copy_of_the_run_just_published_stays(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    for n in (2, 3, 1):
        write_run(spool, run_id(n))
        publish(run_id(n), spool, store, keep=1)
    assert spool.folders("profiles/") == (run_id(1), run_id(3))


def test_a_prune_that_was_ended_half_way_is_ended_later(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    for n in (1, 2, 3):
        write_run(spool, run_id(n))
        publish(run_id(n), spool, store)
    spool.delete(keys.run_key(run_id(1), "report.html"))
    for entry in list(spool.list(keys.run_prefix(run_id(2)))):
        spool.delete(entry.key)
    assert pending(spool) == ()
    assert prune(spool, keep=1) == (run_id(1), run_id(2))
    assert spool.folders("profiles/") == (run_id(3),)
    assert [o.key for o in spool.list("published/")] == [keys.published_file(run_id(3))]


def test_old_wheels_leave_with_the_last_run_that_names_them(
    spool: FilesystemStore, store: ArtifactStore
) -> None:
    old = keys.wheel_file("ab" * 32, "x-1-py3-none-any.whl")
    young = keys.wheel_file("cd" * 32, "x-2-py3-none-any.whl")
    for n in (1, 2):
        write_run(spool, run_id(n))
        publish(run_id(n), spool, store)
    spool.put(old, b"1")
    spool.put(young, b"2")
    for key in (old, WHEEL_KEY):
        os.utime(spool.root / key, (0, 0))
    prune(spool, keep=1)
    assert [o.key for o in spool.list("wheels/")] == sorted([WHEEL_KEY, young])
