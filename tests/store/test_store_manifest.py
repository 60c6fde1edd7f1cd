from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from daskperf_tasks.errors import InputError, UnknownRunError
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.manifest import put_manifest, verify_run
from daskperf_tasks.store.protocol import ArtifactStore
from tests.sample_documents import RUN
from tests.sample_run import finish, run_id, write_run, write_unfinished

SCHEMAS = Path(__file__).parent.parent / "data" / "schemas"


def test_the_manifest_lists_every_file_with_size_and_hash(folder: FilesystemStore) -> None:
    manifest = write_run(folder)
    found = {e.key: (e.size_bytes, e.sha256) for e in manifest.files}
    expected = {}
    for path in (folder.root / "profiles" / RUN).rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            data = path.read_bytes()
            key = path.relative_to(folder.root / "profiles" / RUN).as_posix()
            expected[key] = (len(data), hashlib.sha256(data).hexdigest())
    assert found == expected
    assert len(found) == 7
    assert list(found) == sorted(found)


def test_a_run_as_it_was_written_has_no_problems(store: ArtifactStore) -> None:
    write_run(store)
    write_run(store, run_id(1), report=b"another")
    assert verify_run(store, RUN) == ()


def test_a_tampered_object_is_found(store: ArtifactStore) -> None:
    write_run(store)
    key = keys.run_key(RUN, "report.html")
    good = store.get(key)
    store.put(key, good.replace(b"report", b"REPORT"), replace=True)
    (problem,) = verify_run(store, RUN)
    assert problem.startswith("report.html: its sha256 is")
    store.put(key, good + b" ", replace=True)
    (problem,) = verify_run(store, RUN)
    assert problem == f"report.html: has {len(good) + 1} bytes, the manifest says {len(good)}"


def test_missing_and_extra_files_are_found(store: ArtifactStore) -> None:
    write_run(store)
    store.delete(keys.run_key(RUN, "plan.json"))
    store.put(keys.run_key(RUN, "local", "extra.json"), b"{}")
    assert verify_run(store, RUN) == (
        "plan.json: missing from the store",
        "local/extra.json: in the store (2 bytes), not in manifest.json",
    )


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("verdicts.json", '{"schema": "daskperf.verdicts", "version": 99}', "newer daskperf"),
        ("comparison.json", '{"schema": "daskperf.plan", "version": 1}', "another kind"),
        ("local/summary.json", "no json", "no JSON document"),
        ("blocks/x/subject-r9-a1.json", '{"schema": "daskperf.block", "version": 1}', "missing"),
        ("stages/deploy.json", "{}", "another kind"),
        ("local/workers.json", "{", "no JSON document"),
    ],
)
def test_a_document_that_cannot_be_read_is_found(
    folder: FilesystemStore, name: str, text: str, says: str
) -> None:
    write_unfinished(folder, RUN)
    folder.put(keys.run_key(RUN, *name.split("/")), text.encode(), replace=True)
    finish(folder, RUN)
    (problem,) = verify_run(folder, RUN)
    assert problem.startswith(f"{name}: ")
    assert says in problem


def test_a_run_without_a_manifest_is_said_to_be_unfinished(store: ArtifactStore) -> None:
    write_unfinished(store, RUN)
    assert verify_run(store, RUN) == (
        "manifest.json: missing; the run is in progress or was abandoned",
    )


def test_a_broken_manifest_is_found(folder: FilesystemStore) -> None:
    write_unfinished(folder, RUN)
    key = keys.run_key(RUN, "manifest.json")
    folder.put(key, b'{"schema": "daskperf.manifest"')
    (problem,) = verify_run(folder, RUN)
    assert problem.startswith("manifest.json: the artifact is no JSON document")


def test_the_manifest_of_another_run_is_found(folder: FilesystemStore) -> None:
    write_run(folder)
    other = dumps(write_run(folder, run_id(1)))
    folder.put(keys.run_key(RUN, "manifest.json"), other.encode(), replace=True)
    problems = verify_run(folder, RUN)
    assert f"manifest.json: it is of run {run_id(1)}, not of {RUN}" in problems


def test_an_unknown_run_is_an_error_and_not_a_clean_one(store: ArtifactStore) -> None:
    write_run(store)
    with pytest.raises(UnknownRunError, match="no such run") as caught:
        verify_run(store, run_id(1))
    assert store.url in str(caught.value)
    with pytest.raises(InputError, match="not a run id"):
        verify_run(store, "latest")


def test_records_of_later_stages_do_not_spoil_a_finished_run(folder: FilesystemStore) -> None:
    write_unfinished(folder, RUN)
    record = json.loads((SCHEMAS / "stage-v1.json").read_text(encoding="utf-8"))
    for name in ("deploy", "publish", "notify", "gate"):
        data = json.dumps({**record, "name": name}).encode()
        folder.put(keys.run_key(RUN, "stages", f"{name}.json"), data)
    manifest = finish(folder, RUN)
    assert [e.key for e in manifest.files if e.key.startswith("stages/")] == ["stages/deploy.json"]
    folder.put(keys.run_key(RUN, "stages", "publish.json"), b"{}", replace=True)
    assert verify_run(folder, RUN) == ()


def test_a_rebuilt_run_gets_a_new_manifest(folder: FilesystemStore) -> None:
    write_run(folder)
    folder.put(keys.run_key(RUN, "report.html"), b"a better judge", replace=True)
    assert verify_run(folder, RUN) != ()
    put_manifest(folder, finish(folder, RUN))
    assert verify_run(folder, RUN) == ()
