"""The matrices that come with the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.model.plan import Plan
from daskperf_tasks.plan.build import make_plan
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.patterns.dependences import PATTERNS
from daskperf_tasks.workloads.patterns.kernels import KERNELS
from daskperf_tasks.workloads.registry import load_registry

FOLDER = Path(__file__).resolve().parents[2] / "matrix"
REGISTRY = load_registry({})
#: Needs the compiled kernels to build.
_OF_THE_WHEEL = ("aggregates", "integrate")


def plan_of(name: str) -> Plan:
    path = FOLDER / f"{name}.toml"
    return make_plan(
        load_matrix(path.read_text(encoding="utf-8"), where=str(path), registry=REGISTRY),
        run_id="20261130T010203Z-616263",
        created_at="2026-11-30T01:02:03+00:00",
        trigger="cli",
        commit="unknown",
        arms=("subject",),
        registry=REGISTRY,
    )


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda p: p.stem)
def test_each_can_be_planned_under_its_own_name(path: Path) -> None:
    plan = plan_of(path.stem)
    assert plan.matrix_name == path.stem
    assert plan.cells


def test_the_full_one_measures_everything() -> None:
    plan = plan_of("full")
    assert {c.cell.workload for c in plan.cells} == set(REGISTRY)
    forms = {(c.cell.workload, dict(c.cell.params).get("graph")) for c in plan.cells}
    for name in ("merge", "tree", "xarray", "bag", "numpy", "groupby", "join"):
        assert {(name, "optimized"), (name, "low-level")} <= forms
    patterns = {
        (dict(c.cell.params)["pattern"], dict(c.cell.params)["kernel"])
        for c in plan.cells
        if c.cell.workload == "pattern"
    }
    assert patterns == {(p, k) for p in PATTERNS for k in KERNELS}
    kinds = {e.kind for e in plan.experiments}
    assert kinds == {"task-size", "workers", "scheduler", "chunks", "granularity", "optimization"}


def test_the_full_one_asks_for_graphs_that_can_be_built() -> None:
    requests = {c.request for c in plan_of("full").cells if c.cell.workload not in _OF_THE_WHEEL}
    for request in sorted(requests, key=lambda r: (r.workload, r.params)):
        params = dict(request.params)
        if params.get("method") == "p2p":
            continue  # needs a cluster; its own tests have one
        built = REGISTRY[request.workload].build(params, units=request.units, seed=request.seed)
        facts = graph_facts(built)
        assert facts.tasks > 0, request
        assert facts.form == params.get("graph", facts.form), request
