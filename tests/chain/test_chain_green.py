"""The whole chain on real parts: object server, Dask cluster, wheel built from the tree."""

from __future__ import annotations

import io
import json

import pyarrow.parquet as pq
import pytest

from daskperf_tasks.deploy.build import build_wheel
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import loads
from daskperf_tasks.settings import read_settings
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.runs import load_blocks
from tests.chain.conftest import CHECKOUT, Bench

SIDE_FILES = (
    "summary.json",
    "performance_report.html",
    "task_stream.parquet",
    "timeline.html",
    "workers.json",
    "environment.json",
    "samples.parquet",
)
RUN_FILES = (
    "plan.json",
    "subject.json",
    "lane.json",
    "deployment.json",
    "restore.json",
    "preflight.json",
    "calibration.json",
    "comparison.json",
    "diagnosis.json",
    "verdicts.json",
    "graphs.json",
    "validation/results.json",
    "report.html",
    "notes.md",
    *(f"{side}/{name}" for side in ("local", "remote") for name in SIDE_FILES),
)


@pytest.fixture
def store(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    for name, value in bench.env.items():
        if name.startswith(("AWS_", "DASKPERF_")):
            monkeypatch.setenv(name, value)
    return open_store(read_settings().store)


def test_a_night_and_the_next_one(bench: Bench, store) -> None:
    first = bench.run("run", "smoke", "--json")
    assert first.code == 0, first.err
    run_id = first.document["run_id"]
    assert (first.document["state"], first.document["green"]) == ("complete", True)

    # Everything that the layout promises is in the store, and as the manifest says.
    prefix = f"profiles/{run_id}/"
    for name in RUN_FILES:
        assert store.exists(prefix + name), name
    manifest = json.loads(store.get(prefix + "manifest.json"))
    assert set(RUN_FILES) <= {f["key"] for f in manifest["files"]}
    assert manifest["measured"] == 6
    verified = bench.run("verify", run_id, "--json")
    assert verified.code == 0 and verified.document["ok"] is True

    # Local and remote carried the same request; every sample is in the tables.
    blocks = load_blocks(store, run_id)
    assert {b.valid for b in blocks} == {True}
    by_work: dict[str, set[str]] = {}
    for block in blocks:
        by_work.setdefault(block.cell_id.split(";env=")[0], set()).add(block.request_hash)
    assert len(by_work) == 2
    assert {len(hashes) for hashes in by_work.values()} == {1}
    rows = 0
    for side in ("local", "remote"):
        table = pq.read_table(io.BytesIO(store.get(f"{prefix}{side}/samples.parquet")))
        rows += table.num_rows
        stream = pq.read_table(io.BytesIO(store.get(f"{prefix}{side}/task_stream.parquet")))
        assert "compute" in set(stream.column("action").to_pylist())
    assert rows == sum(len(b.samples) for b in blocks)

    # Each worker served the wheel under test while it was measured ...
    subject = json.loads(store.get(prefix + "subject.json"))["subject"]
    assert {(b.subject_sha256, b.subject_version) for b in blocks} == {
        (subject["sha256"], subject["version"])
    }
    assert "+g" in subject["version"] or "+src" in subject["version"]
    # ... and the lane was given back.
    preflight = bench.run("preflight", "--json")
    assert preflight.code == 0 and preflight.document["blocked"] is False

    # What a person reads says what was found.
    notes = store.get(prefix + "notes.md").decode()
    assert run_id in notes and subject["version"] in notes
    shown = bench.run("show", run_id)
    assert shown.code == 0 and run_id in shown.out

    # Derived artifacts can be made again from the raw ones, which stay as they are.
    before = {
        o.key: store.get(o.key)
        for o in store.list(prefix)
        if o.key.removeprefix(prefix).startswith(("blocks/", "streams/", "plan.json"))
    }
    rebuilt = bench.run("rebuild", run_id, "--json")
    assert rebuilt.code == 0, rebuilt.err
    assert rebuilt.document["state"] == "complete"
    assert {key: store.get(key) for key in before} == before
    assert bench.run("verify", run_id).code == 0

    # Falsified figures are not made into a new report.
    [raw] = [k for k in before if "env-threads" in k and "/blocks/" in k]
    genuine = before[raw]
    document = json.loads(genuine)
    document["samples"][-1]["makespan_s"] *= 1.4
    store.put(raw, json.dumps(document).encode(), replace=True)
    assert bench.run("verify", run_id).code == 1
    refused = bench.run("rebuild", run_id, "--json")
    assert refused.code == 3
    assert refused.document["error"]["message"] == "a raw artifact is not what was measured"
    store.put(raw, genuine, replace=True)
    assert bench.run("verify", run_id).code == 0

    # The second night knows the first.
    second = bench.run("run", "smoke", "--json")
    assert second.code == 0, second.err
    comparison = json.loads(store.get(f"profiles/{second.document['run_id']}/comparison.json"))
    assert comparison["previous_run"] == run_id
    assert comparison["same_subject"] is True
    assert len(comparison["previous"]) == 6
    # The same wheel cannot have become slower: that would be the machine.
    assert {p["verdict"] for p in comparison["previous"]} & {"slower", "faster"} == set()
    listed = bench.run("list", "--json").document["runs"]
    assert [r["run_id"] for r in listed] == [run_id, second.document["run_id"]]
    assert {r["state"] for r in listed} == {"complete"}
    compared = bench.run("compare", run_id, second.document["run_id"], "--json")
    assert compared.code == 0
    assert len(compared.document["cells"]) == 6


def test_retrying_a_round_measures_nothing_twice(bench: Bench, store, monkeypatch) -> None:
    from daskperf_tasks import stages

    settings = read_settings()
    run_id = stages.start(settings, stages.Ask(matrix="smoke"))["run_id"]
    stages.deploy(settings, run_id)
    try:
        stages.preflight(settings, run_id)
        first = stages.measure(settings, run_id, 0)
        spool = bench.home / "spool"
        files = {p: p.read_bytes() for p in spool.rglob("blocks/**/*.json")}
        again = stages.measure(settings, run_id, 0)
    finally:
        stages.restore(settings, run_id)
    assert first["valid"] == 6
    assert again["valid"] == 0
    assert {p: p.read_bytes() for p in spool.rglob("blocks/**/*.json")} == files
    keys = [loads(data, BlockResult).key for data in files.values()]
    assert len(keys) == len(set(keys)) == 6


def test_the_last_accepted_wheel_is_measured_beside_a_new_one(bench: Bench, store) -> None:
    old = build_wheel(CHECKOUT / "kernels", bench.home / "old", base_version="0.0.9")
    first = bench.run("run", "smoke", "--subject", str(old.path), "--json")
    assert first.code == 0, first.err
    second = bench.run("run", "smoke", "--json")
    assert second.code == 0, second.err
    prefix = f"profiles/{second.document['run_id']}/"
    subjects = json.loads(store.get(prefix + "subject.json"))
    assert subjects["reference"]["sha256"] == old.sha256
    assert first.document["run_id"] in subjects["reference_reason"]
    new = subjects["subject"]
    blocks = load_blocks(store, second.document["run_id"])
    assert {(b.arm, b.subject_sha256, b.subject_version) for b in blocks} == {
        ("subject", new["sha256"], new["version"]),
        ("reference", old.sha256, old.version),
    }

    # Both wheels stood side by side; switching restarted the workers.
    deployment = json.loads(store.get(prefix + "deployment.json"))
    assert {i["sha256"] for i in deployment["installs"]} == {new["sha256"], old.sha256}
    workers: dict[str, set[str]] = {"subject": set(), "reference": set()}
    for block in blocks:
        if "env=remote;" in block.cell_id:
            workers[block.arm] |= {m.worker_id for m in block.members_before}
    assert workers["subject"] and workers["reference"]
    assert not workers["subject"] & workers["reference"]

    comparison = json.loads(store.get(prefix + "comparison.json"))
    assert len(comparison["paired"]) == 6
    verdicts = json.loads(store.get(prefix + "verdicts.json"))
    assert verdicts["basis"] == "paired"
    # One pair of rounds decides nothing.
    assert {v["verdict"] for v in verdicts["verdicts"]} == {"undecided"}
