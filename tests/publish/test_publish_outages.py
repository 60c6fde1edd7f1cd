"""The store goes away, the publisher is killed: nothing is lost, all arrives."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daskperf_tasks.errors import StoreError
from daskperf_tasks.publish.publish import drain, pending, publish
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.manifest import verify_run
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import StoreUnreachable
from daskperf_tasks.store.runs import list_runs
from tests.object_server import BUCKET, ObjectServer, start_object_server
from tests.sample_documents import RUN
from tests.sample_run import finish, run_id, write_run, write_unfinished


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ObjectServer]:
    """A server of the test's own, to stop and start."""
    server = start_object_server(tmp_path)
    yield server
    server.stop()


def test_what_cannot_be_published_waits_and_is_published_when_the_store_is_back(
    spool: FilesystemStore, server: ObjectServer
) -> None:
    nights = [run_id(n) for n in (1, 2)]
    server.stop()
    for night in nights:
        write_run(spool, night)
        before = {o.key: spool.get(o.key) for o in spool.list("")}
        store = open_store(f"s3://{BUCKET}/x", client_options=server.client_options)
        begin = time.monotonic()
        with pytest.raises(StoreError, match="does not answer") as caught:
            publish(night, spool, store)
        assert time.monotonic() - begin < 11
        assert server.url in str(caught.value)
        assert server.env["AWS_SECRET_ACCESS_KEY"] not in str(caught.value)
        assert {o.key: spool.get(o.key) for o in spool.list("")} == before
    assert pending(spool) == tuple(nights)
    with pytest.raises(StoreUnreachable):
        drain(spool, store)
    assert pending(spool) == tuple(nights)

    server.start()
    assert tuple(drain(spool, store)) == tuple(nights)
    assert pending(spool) == ()
    for night in nights:
        assert verify_run(store, night) == ()
        assert store.exists(keys.history_file(night))
    assert tuple(drain(spool, store)) == ()


def test_a_publisher_killed_in_mid_upload_is_resumed(
    spool: FilesystemStore, server: ObjectServer
) -> None:
    write_unfinished(spool, RUN)
    # A mebibyte each, so that the kill falls between two of them or into one.
    for n in range(24):
        spool.put(keys.run_key(RUN, "remote", f"part-{n:02}.bin"), bytes([n]) * 2**20)
    finish(spool, RUN)
    store = open_store(f"s3://{BUCKET}/x", client_options=server.client_options)
    # It kills itself a moment after its sixth upload has begun.
    publisher = """
import os, signal, sys, threading
from daskperf_tasks.publish.publish import publish
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.s3 import S3Store

puts = 0
put = S3Store.put

def dying(self, *args, **options):
    global puts
    puts += 1
    if puts == 6:
        threading.Timer(0.003, os.kill, (os.getpid(), signal.SIGKILL)).start()
    put(self, *args, **options)

S3Store.put = dying
publish(sys.argv[1], open_store(sys.argv[2]), open_store(sys.argv[3]))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", publisher, RUN, str(spool.root), store.url],
        env={**server.env, "PATH": ""},
    )
    assert process.wait(60) == -signal.SIGKILL

    there = {o.key for o in store.list(keys.run_prefix(RUN))}
    everything = {o.key for o in spool.list(keys.run_prefix(RUN))}
    assert there < everything
    assert keys.run_key(RUN, "manifest.json") not in there
    assert list_runs(store)[0].state == "in progress"
    assert pending(spool) == (RUN,)
    for key in there:
        assert store.get(key) == spool.get(key), "whole objects or none"

    resumed = publish(RUN, spool, store)
    assert resumed.uploaded == len(everything - there)
    assert verify_run(store, RUN) == ()
    assert list_runs(store)[0].state == "complete"
    assert pending(spool) == ()


def test_the_store_goes_away_in_mid_upload(spool: FilesystemStore, server: ObjectServer) -> None:
    write_unfinished(spool, RUN)
    for n in range(8):
        spool.put(keys.run_key(RUN, "remote", f"part-{n:02}.bin"), bytes([n]) * 2**20)
    finish(spool, RUN)
    store = open_store(f"s3://{BUCKET}/x", client_options=server.client_options)
    puts = 0
    put = store.put

    def put_and_stop(key: str, data: bytes, *, replace: bool = False) -> None:
        nonlocal puts
        put(key, data, replace=replace)
        puts += 1
        if puts == 4:
            server.process.kill()
            server.process.wait(10)

    store.put = put_and_stop  # type: ignore[method-assign]
    with pytest.raises(StoreUnreachable):
        publish(RUN, spool, store)
    assert pending(spool) == (RUN,)
    server.start()
    assert tuple(drain(spool, store)) == (RUN,)
    assert verify_run(store, RUN) == ()


def test_a_tampered_object_is_found_and_evidence_is_not_repaired_silently(
    spool: FilesystemStore, server: ObjectServer
) -> None:
    write_run(spool)
    store = open_store(f"s3://{BUCKET}/x", client_options=server.client_options)
    publish(RUN, spool, store)
    report, plan = keys.run_key(RUN, "report.html"), keys.run_key(RUN, "plan.json")
    store.put(report, b"forged", replace=True)
    assert [p.partition(":")[0] for p in verify_run(store, RUN)] == ["report.html"]
    publish(RUN, spool, store)
    assert verify_run(store, RUN) == ()
    store.put(plan, b"forged", replace=True)
    assert [p.partition(":")[0] for p in verify_run(store, RUN)] == ["plan.json"]
    with pytest.raises(StoreError, match="never changed"):
        publish(RUN, spool, store)
