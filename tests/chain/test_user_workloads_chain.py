"""A package's own workloads, from its wheel, through the whole chain on real parts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from daskperf_tasks.deploy.build import build_wheel
from daskperf_tasks.settings import read_settings
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.runs import load_blocks
from tests.chain.conftest import CHECKOUT, Bench

EXAMPLE = CHECKOUT / "docs" / "examples" / "daskperf-example"
MATRIX = CHECKOUT / "docs" / "examples" / "example.toml"


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with the wheel of the example package, outside the tree."""
    build_wheel(EXAMPLE, tmp_path / "their-wheels")
    return tmp_path / "their-wheels"


def test_the_example_package_is_deployed_and_measured(
    bench: Bench, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bench.env.items():
        if name.startswith(("AWS_", "DASKPERF_")):
            monkeypatch.setenv(name, value)
    store = open_store(read_settings().store)
    [wheel] = wheels.glob("*.whl")

    green = bench.run("run", str(MATRIX), "--subject", str(wheel), "--json")
    assert green.code == 0, green.err
    run_id = green.document["run_id"]
    assert green.document["green"] is True
    blocks = load_blocks(store, run_id)
    assert len(blocks) == 12 and {b.valid for b in blocks} == {True}
    measured = {(b.cell_id.split("/")[0], b.cell_id.split("env=")[1].split(";")[0]) for b in blocks}
    assert measured == {
        *(("example-words", e) for e in ("threads", "processes", "local", "remote")),
        *(("example-blur", e) for e in ("local", "remote", "remote-threads", "remote-processes")),
    }
    assert {b.correctness for b in blocks} == {
        "compared with one count over all pages",
        "compared with sums of shifted images",
    }
    subject = bench.artifact(run_id, "subject.json")["subject"]
    assert {b.subject_version for b in blocks} == {subject["version"]}
    deployment = bench.artifact(run_id, "deployment.json")
    assert {i["sha256"] for i in deployment["installs"]} == {subject["sha256"]}

    # The next wheel is found by its name; it does other work under a new version, which the
    # last accepted one cannot be compared with.
    changed = tmp_path / "changed"
    shutil.copytree(EXAMPLE, changed)
    source = changed / "src" / "daskperf_example" / "workloads.py"
    source.write_text(source.read_text().replace("version = 1", "version = 2"))
    build_wheel(changed, wheels, base_version="1.1.0")
    small = tmp_path / "example.toml"
    only = 'only = ["*words=2000;env=remote;*", "*words=2000;env=local;*"]'
    small.write_text(MATRIX.read_text().replace("rounds = 1", f"rounds = 1\n{only}"))
    theirs = {"DASKPERF_SUBJECT": "daskperf-example", "DASKPERF_WHEELS": str(wheels)}
    second = bench.run("run", str(small), "--json", env=theirs)
    assert second.code == 0, second.err
    subjects = bench.artifact(second.document["run_id"], "subject.json")
    assert subjects["subject"]["version"].startswith("1.1.0")
    assert subjects["reference"] is None
    assert "brings version 1 of the workload 'example-words'" in subjects["reference_reason"]
    again = load_blocks(store, second.document["run_id"])
    assert {b.cell_id.split(";")[0] for b in again} == {"example-words/v2"}
    assert len(again) == 2 and {b.valid for b in again} == {True}
