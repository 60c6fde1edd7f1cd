from __future__ import annotations

import dataclasses
import importlib.metadata
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.facts import Finding, Preflight, ProcessFacts
from daskperf_tasks.preflight.check import preflight
from daskperf_tasks.preflight.libraries import IN_EXTRA, library_findings, needs_of, needs_with
from daskperf_tasks.preflight.probe import process_facts
from tests.analyse.synthetic_run import cell, plan
from tests.dask_cluster import Cluster, start_cluster
from tests.preflight.test_preflight_rules import CLIENT, LANE, SCHEDULER, A, B, judge
from tests.wheels import make_wheel, subject_and_bytes

NEEDS = {"xarray": ("air", "ocean")}


@dataclasses.dataclass(frozen=True)
class Needing:
    libraries: tuple[str, ...]


def with_libraries(process: ProcessFacts, **versions: str) -> ProcessFacts:
    return dataclasses.replace(process, libraries=versions)


def found(*processes: ProcessFacts, needs: Any = None) -> list[Finding]:
    return list(library_findings(processes, NEEDS if needs is None else needs))


def test_only_the_planned_workloads_count() -> None:
    workloads = {
        "air": Needing(("xarray",)),
        "text": Needing(("sklearn", "xarray")),
        "other": Needing(("torch",)),
        "plain": object(),
    }
    p = plan([cell("local", name) for name in ("air", "text", "plain", "of-a-wheel")])
    assert needs_of(p, workloads) == {"sklearn": ("text",), "xarray": ("air", "text")}


def test_what_is_shipped_says_what_it_needs(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "toy-subject", "1.0", {"toy_subject/__init__.py": ""})
    subject, data = subject_and_bytes(wheel, "toy_subject")
    p = plan([cell("local", name) for name in ("xarray", "vectorizer", "tree")])
    found = needs_with(p, subject, data, local_root=tmp_path / "unpacked")
    assert found == {"sklearn": ("vectorizer",), "xarray": ("xarray",)}


def test_libraries_that_are_there_are_not_told() -> None:
    everywhere = [with_libraries(f, xarray="1") for f in (CLIENT, SCHEDULER, A, B)]
    assert found(*everywhere) == []
    assert found(CLIENT, A, needs={}) == []
    unknown = [with_libraries(f, xarray="unknown") for f in (CLIENT, A)]
    assert found(*unknown) == []


def test_a_missing_library_names_worker_workloads_and_what_to_do() -> None:
    (one,) = found(
        with_libraries(CLIENT, xarray="1"), with_libraries(A, xarray="1"), with_libraries(B)
    )
    assert (one.level, one.code, one.role, one.name) == ("warn", "library-missing", "worker", "b")
    assert one.expected == "xarray, which air, ocean need" and one.found == "no module xarray"
    assert 'pip install "daskperf[workloads]"' in one.todo
    assert "cells of air, ocean fail" in one.todo


def test_a_library_of_a_foreign_workload_has_its_own_name() -> None:
    (one,) = found(with_libraries(A, ocean_models="missing"), needs={"ocean_models": ("mine",)})
    assert "pip install ocean_models" in one.todo and "daskperf[" not in one.todo
    assert one.expected.endswith("which mine needs")


def test_other_versions_are_told_per_worker() -> None:
    (one,) = found(
        with_libraries(CLIENT, xarray="2.0"),
        with_libraries(A, xarray="2.0"),
        with_libraries(B, xarray="1.9"),
    )
    assert (one.level, one.code, one.name) == ("warn", "library-version", "b")
    assert "xarray 2.0 (as the client)" in one.expected and one.found == "xarray 1.9"
    assert "pip install xarray==2.0" in one.todo
    (only_there,) = found(with_libraries(CLIENT), with_libraries(A, xarray="1.9"))
    assert (only_there.code, only_there.role) == ("library-missing", "client")


def test_the_rules_hold_them_among_the_others() -> None:
    codes = [f.code for f in judge(A, B, needs=NEEDS)]
    assert codes == ["library-missing"] * 4
    assert judge(A, B, lane=LANE) == ()


def test_the_named_extra_has_what_it_is_said_to_have() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["workloads"]
    assert {r.split(">")[0].split("<")[0] for r in extra} == set(IN_EXTRA.values())


def test_a_process_says_what_it_can_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stubbed_out", None)
    names = ["numpy", "dateutil", "json", "stubbed_out", "no_such_thing", "json.no", "no.such"]
    said = process_facts([], [], names)["libraries"]
    assert said["numpy"] == importlib.metadata.version("numpy")
    assert said["dateutil"] == importlib.metadata.version("python-dateutil")
    assert said["json"] == "unknown"
    assert {said[n] for n in names[3:]} == {"missing"}


def test_looking_for_a_library_does_not_import_it() -> None:
    import subprocess

    code = (
        "import sys\nfrom daskperf_tasks.preflight.probe import process_facts\n"
        "said = process_facts([], [], ['xarray', 'sklearn'])['libraries']\n"
        "assert 'missing' not in said.values(), said\n"
        "assert not {'xarray', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


_HIDE = """
import importlib.metadata, sys
sys.modules["xarray"] = None
real = importlib.metadata.version
importlib.metadata.version = lambda name: "0.1" if name == "scikit-learn" else real(name)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("shadow")
    (folder / "sitecustomize.py").write_text(_HIDE)
    running = start_cluster(
        tmp_path_factory.mktemp("cluster"),
        nthreads=1,
        worker_env={"lane-b": {"PYTHONPATH": str(folder)}},
    )
    yield running
    running.stop()


def test_on_real_processes(cluster: Cluster) -> None:
    needs = {"sklearn": ("vectorizer",), "xarray": ("xarray",), "no_such_thing": ("mine",)}
    seen = preflight(cluster.address, lane=cluster.lane(), subject=None, needs=needs)
    assert loads(dumps(seen), Preflight) == seen
    assert not seen.blocked
    told = {(f.code, f.name, f.expected.split(",")[0].split()[0]) for f in seen.findings}
    own = {t for t in told if t[0].startswith("library-")}
    assert own == {
        ("library-missing", "lane-b", "xarray"),
        ("library-version", "lane-b", "sklearn"),
        *(
            ("library-missing", name, "no_such_thing")
            for name in ("client", "scheduler", "lane-a", "lane-b")
        ),
    }
    by_name = {f.name: f.libraries for f in seen.facts}
    assert by_name["client"] == by_name["lane-a"] == by_name["scheduler"]
    assert by_name["lane-b"]["xarray"] == "missing"
    assert by_name["lane-b"]["sklearn"] == "0.1"


def test_without_a_plan_nothing_is_asked(cluster: Cluster) -> None:
    seen = preflight(cluster.address, lane=cluster.lane(), subject=None)
    assert all(f.libraries == {} for f in seen.facts)
    assert not any(f.code.startswith("library-") for f in seen.findings)
