"""Graphs built and counted in a process of their own, with its limits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from daskperf_tasks.asking import Ask
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.reading import graphs_text, plan_graphs, sketch_plan
from daskperf_tasks.settings import read_settings
from daskperf_tasks.workloads.graph_counter import GraphCounter, Work

_ODD = '''
import os, time
from dataclasses import dataclass

import dask.dataframe as dd
import pandas as pd
from dask import delayed

from daskperf_tasks.workloads.protocol import Built, Checked, ParamSpec


@dataclass(frozen=True)
class Odd:
    """Builds in several ways."""

    name: str = "odd"
    version: int = 1
    unit: str = "thing"
    requires: tuple = ()

    @property
    def params(self):
        ways = ("right", "shuffle", "raises", "exits", "hangs", "eats", "dies", "prints")
        return {"way": ParamSpec(kind=str, default="right", choices=ways)}

    def unit_cost_s(self, params):
        return 1e-3

    def build(self, params, *, units, seed):
        way = params.get("way", "right")
        if way == "raises":
            raise RuntimeError("no graph today\\nnor tomorrow")
        if way == "exits":
            raise SystemExit(3)
        if way == "hangs":
            time.sleep(600)
        if way == "eats":
            bytearray(2**40)
        if way == "dies":
            os._exit(9)
        if way == "prints":
            print("{}", flush=True)
            os.write(1, b"noise\\n")
        if way == "shuffle":
            frame = dd.from_pandas(pd.DataFrame({"a": range(100), "b": 1.0}), npartitions=4)
            return Built(collections=(frame.shuffle("a").b.sum(),))
        parts = [delayed(abs)(i) for i in range(units)]
        return Built(collections=(delayed(sum)(parts),), optimize_graph=False)

    def check(self, results, params, *, units, seed):
        return Checked(right_units=units, text="it is")


ODD = Odd()
'''


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "odd_graphs.py").write_text(_ODD)
    monkeypatch.setenv("DASKPERF_WORKLOADS", "odd_graphs:ODD")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder))
    return str(folder)


def work(way: str, *, cluster: bool = False, units: int = 5) -> Work:
    return Work(workload="odd", params=(("way", way),), units=units, seed=0, cluster=cluster)


@pytest.mark.usefixtures("odd")
def test_each_graph_costs_only_its_own_answer() -> None:
    right = GraphFacts(form="low-level", tasks=6, arcs=5, longest_path=1)
    with GraphCounter(timeout_s=60.0) as counter:
        assert counter.count(work("right")) == right
        told = {}
        for way in ("raises", "exits", "eats", "dies"):
            found = counter.count(work(way))
            assert isinstance(found, Missing)
            told[way] = found.missing
            assert counter.count(work("prints")) == right
        assert told["raises"] == "RuntimeError: no graph today nor tomorrow"
        assert told["exits"] == "SystemExit: 3"
        assert told["eats"] == "more than 6 GiB of memory"
        assert told["dies"] == "the process that built it ended (code 9)"
        unknown = counter.count(Work(workload="no", params=(), units=1, seed=0, cluster=False))
        assert unknown == Missing(missing="workload 'no' is not installed here")


@pytest.mark.usefixtures("odd")
def test_a_graph_has_a_time_limit() -> None:
    with GraphCounter(timeout_s=1.0) as counter:
        assert counter.count(work("hangs")) == Missing(missing="it was not built within 1 s")


@pytest.mark.usefixtures("odd")
def test_a_cluster_shuffles_otherwise() -> None:
    with GraphCounter(timeout_s=60.0) as counter:
        alone = counter.count(work("shuffle"))
        there = counter.count(work("shuffle", cluster=True))
    assert isinstance(alone, GraphFacts) and isinstance(there, GraphFacts)
    assert alone.form == there.form == "optimized"
    assert alone != there


@pytest.fixture
def matrix(tmp_path: Path, odd: str) -> Path:
    path = tmp_path / "odd.toml"
    path.write_text(
        '[matrix]\nname = "odd"\nseed = 1\n\n'
        '[[workload]]\nname = "odd"\nunits = 4\nenvironments = ["local", "remote", "threads"]\n'
        'params = { way = ["right", "raises"] }\n'
    )
    return path


def test_the_graphs_of_a_plan(matrix: Path, tmp_path: Path) -> None:
    settings = read_settings({"DASKPERF_HOME": str(tmp_path / "home")})
    ask = Ask(matrix=str(matrix))
    plan = sketch_plan(settings, ask)
    graphs = plan_graphs(settings, ask, plan, timeout_s=60.0)
    assert list(graphs) == [c.cell_id for c in plan.cells]
    for c in plan.cells:
        found = graphs[c.cell_id]
        if "way=right" in c.cell_id:
            assert found == GraphFacts(form="low-level", tasks=5, arcs=4, longest_path=1)
        else:
            assert isinstance(found, Missing) and found.missing.startswith("RuntimeError")
    lines = graphs_text(graphs).splitlines()
    assert len(lines) == 1 + len(plan.cells)
    assert sum("not known: RuntimeError" in line for line in lines) == 3
    assert graphs_text({}).startswith("graph of cell")


def test_the_command_shows_them(matrix: Path, tmp_path: Path) -> None:
    from daskperf_tasks.cli import main

    args = ["--home", str(tmp_path / "home"), "plan", str(matrix), "--graphs"]
    text = CliRunner().invoke(main, args)
    assert text.exit_code == 0, text.output
    assert "low-level" in text.stdout and "not known: RuntimeError" in text.stdout
    as_json = CliRunner().invoke(main, [*args, "--json"])
    cells = json.loads(as_json.stdout)["cells"]
    right = [c["graph"] for c in cells if "way=right" in c["id"]]
    assert right == [{"form": "low-level", "tasks": 5, "arcs": 4, "longest_path": 1}] * 3
    wrong = [c["graph"] for c in cells if "way=raises" in c["id"]]
    assert all(list(g) == ["missing"] for g in wrong) and len(wrong) == 3
