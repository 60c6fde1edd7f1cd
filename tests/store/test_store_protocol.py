"""What every store promises, on a folder and on a real object server."""

from __future__ import annotations

import threading
import time

import pytest

from daskperf_tasks.errors import InputError, StoreError
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey


def keys_of(store: ArtifactStore, prefix: str = "") -> list[str]:
    return [o.key for o in store.list(prefix)]


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 4096], ids=len)
def test_what_is_put_is_got(store: ArtifactStore, data: bytes) -> None:
    store.put("a/b.bin", data)
    assert store.get("a/b.bin") == data
    assert store.exists("a/b.bin")
    (entry,) = store.list("")
    assert (entry.key, entry.size_bytes) == ("a/b.bin", len(data))
    assert abs(entry.modified - time.time()) < 60


@pytest.mark.parametrize("key", ["a", "a/b", "nothing/here"])
def test_nothing_is_under_a_key_that_was_not_put(store: ArtifactStore, key: str) -> None:
    store.put("a/b/c", b"1")
    assert not store.exists(key)
    with pytest.raises(NoSuchKey) as caught:
        store.get(key)
    assert key in str(caught.value)
    store.delete(key)
    assert keys_of(store) == ["a/b/c"]


def test_a_raw_artifact_is_written_once(store: ArtifactStore) -> None:
    store.put("plan.json", b"one")
    store.put("plan.json", b"one")
    with pytest.raises(StoreError, match="already written") as caught:
        store.put("plan.json", b"two")
    assert caught.value.expected != caught.value.found
    assert store.get("plan.json") == b"one"


def test_a_derived_artifact_is_replaced(store: ArtifactStore) -> None:
    store.put("report.html", b"one")
    store.put("report.html", b"two", replace=True)
    store.put("other.html", b"new", replace=True)
    assert store.get("report.html") == b"two"
    assert store.get("other.html") == b"new"


def test_a_deleted_object_is_gone_and_its_key_is_free(store: ArtifactStore) -> None:
    store.put("a/b/c", b"1")
    store.delete("a/b/c")
    assert keys_of(store) == []
    assert store.folders("") == ()
    store.put("a/b/c", b"2")
    assert store.get("a/b/c") == b"2"


def test_lists_are_sorted_by_key_and_cut_by_prefix(store: ArtifactStore) -> None:
    keys = ["a-b/x", "a/x", "a/y/z", "ab", "b/x;n=1,m=+2.json", "b/ü ü"]
    for key in reversed(keys):
        store.put(key, key.encode())
    assert keys_of(store) == sorted(keys)
    assert keys_of(store, "a") == ["a-b/x", "a/x", "a/y/z", "ab"]
    assert keys_of(store, "a/") == ["a/x", "a/y/z"]
    assert keys_of(store, "a/y/z") == ["a/y/z"]
    assert keys_of(store, "none/") == []
    assert [store.get(k) for k in keys_of(store)] == [k.encode() for k in sorted(keys)]


def test_folders_are_named_without_what_is_in_them(store: ArtifactStore) -> None:
    for key in ("runs/b/1", "runs/b/2/3", "runs/a/1", "runs/file", "top"):
        store.put(key, b"")
    assert store.folders("") == ("runs",)
    assert store.folders("runs/") == ("a", "b")
    assert store.folders("none/") == ()


@pytest.mark.parametrize("key", ["../x", "/x", "a/../../x", "a/.hidden", ""])
def test_no_key_leaves_the_store(store: ArtifactStore, key: str) -> None:
    for action in (store.get, store.exists, store.delete, lambda k: store.put(k, b"")):
        with pytest.raises(InputError):
            action(key)


@pytest.mark.parametrize("replace", [True, False])
def test_racing_writers_never_tear_an_object(store: ArtifactStore, replace: bool) -> None:
    contents = [bytes([n]) * 200_000 for n in range(4)]
    refused: list[StoreError] = []
    start = threading.Barrier(len(contents))

    def write(data: bytes) -> None:
        start.wait()
        try:
            store.put("contended", data, replace=replace)
        except StoreError as err:
            refused.append(err)

    threads = [threading.Thread(target=write, args=(c,)) for c in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("contended") in contents
    # Whoever was overtaken has been told so, or was last.
    assert len(refused) < len(contents)
    assert keys_of(store) == ["contended"]
