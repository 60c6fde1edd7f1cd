"""A store with a few runs to look at."""

from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.keys import run_key
from daskperf_tasks.store.manifest import describe

GOOD = "20261130T010203Z-616263"
RED = "20261129T010203Z-616263"
GOING = "20261201T010203Z-616263"
BROKEN = "20261128T010203Z-616263"
HOSTILE = "<script>alert(1)</script>"


def manifest(run_id: str, files, **changes) -> Manifest:
    values = {
        "run_id": run_id,
        "state": "complete",
        "reasons": (),
        "green": True,
        "created_at": "2026-11-30T01:20:00+00:00",
        "trigger": "nightly",
        "matrix_name": "nightly",
        "lane": "loopback",
        "subject": "daskperf-kernels 0.1.0",
        "subject_sha256": "a" * 64,
        "measured": 12,
        "failed": 0,
        "missing": 0,
        "stage_seconds": {"deploy": 2.5},
        "files": tuple(files),
    }
    return Manifest(**{**values, **changes})


def filled(root) -> FilesystemStore:
    store = FilesystemStore(root)
    report = b"<!doctype html><title>r</title><script>1</script>"
    store.put(run_key(GOOD, "report.html"), report)
    store.put(run_key(GOOD, "local", "summary.json"), b"{}")
    store.put(run_key(GOOD, "local", "samples.parquet"), b"PAR1")
    store.put(run_key(GOOD, "unlisted.txt"), b"not promised by the manifest")
    files = [
        describe("report.html", report),
        describe("local/summary.json", b"{}"),
        describe("local/samples.parquet", b"PAR1"),
    ]
    good = manifest(GOOD, files)
    store.put(run_key(GOOD, "manifest.json"), dumps(good).encode())
    name = f"{HOSTILE.replace('/', '-')}.txt"
    store.put(run_key(RED, name), b"x")
    red = manifest(
        RED,
        [describe(name, b"x")],
        state="failed",
        green=False,
        subject=HOSTILE,
        reasons=(f"the worker said {HOSTILE}",),
    )
    store.put(run_key(RED, "manifest.json"), dumps(red).encode())
    store.put(run_key(GOING, "notes.md"), b"# so far")
    store.put(run_key(BROKEN, "manifest.json"), b"{")
    store.put("wheels/secret.whl", b"not a run's")
    return store
