from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.experiment import PlannedExperiment
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.plan.build import make_plan, planned
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.single import experiment_matrix
from daskperf_tasks.plan.matrix import Matrix
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.plan.overrides import apply

from .matrices import EVERY, GOOD, experiments

TWO = Allocation(cores=2, workers=2, threads=2)
WORKSHOP = Path(__file__).resolve().parents[2] / "matrix" / "experiments.toml"


def one(
    kind: str, allocation: Allocation = TWO, **given_: Any
) -> tuple[PlannedExperiment, dict[str, PlannedCell]]:
    matrix = experiment_matrix(kind, given_, registry=EVERY, allocation=allocation)  # type: ignore[arg-type]
    cells, (experiment,) = planned(matrix, EVERY, allocation)
    return experiment, {c.cell_id: c for c in cells}


def work_of(cell: PlannedCell) -> int:
    return cell.request.units * int(dict(cell.request.params)["steps"])


def test_task_size_keeps_the_total_and_varies_the_tasks() -> None:
    experiment, cells = one("task-size", total_steps=8192, tasks=(2, 8, 32, 128))
    assert [p.label for p in experiment.points] == ["2 tasks", "8 tasks", "32 tasks", "128 tasks"]
    assert [p.x for p in experiment.points] == [2, 8, 32, 128]
    assert experiment.points[0].cell_id == (
        f"integrate/v{EVERY['integrate'].version};implementation=python;steps=4096;workers=2;"
        "env=processes;sched=none"
    )
    assert [dict(p.settings)["steps"] for p in experiment.points] == [4096, 1024, 256, 64]
    assert experiment.baseline == "2 tasks"
    assert dict(experiment.fixed)["total_steps"] == 8192
    assert {work_of(c) for c in cells.values()} == {8192}


@given(
    total=st.integers(10**5, 10**8),
    tasks=st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24, 48]), min_size=1, unique=True),
)
def test_total_work_is_constant_to_the_step(total: int, tasks: list[int]) -> None:
    experiment, cells = one("task-size", total_steps=total, tasks=tuple(tasks))
    (work,) = {work_of(c) for c in cells.values()}
    assert work == dict(experiment.fixed)["total_steps"]
    assert total <= work < total + 48


@pytest.mark.parametrize("kind", ["scheduler", "optimization"])
@given(total=st.integers(10**5, 10**8), tasks=st.integers(1, 64), workers=st.integers(1, 2))
def test_versions_do_the_same_work(kind: str, total: int, tasks: int, workers: int) -> None:
    experiment, cells = one(kind, total_steps=total, tasks=tasks, workers=workers)
    (work,) = {work_of(c) for c in cells.values()}
    assert total <= work < total + tasks
    assert len({p.label for p in experiment.points}) == 4


def test_workers_go_up_to_the_allocation_in_two_series() -> None:
    experiment, cells = one("workers", Allocation(cores=6))
    series = {p.series for p in experiment.points}
    assert series == {"python in processes", "cython in threads"}
    for name in series:
        assert [p.x for p in experiment.points if p.series == name] == [1, 2, 4, 6]
        work = {work_of(cells[p.cell_id]) for p in experiment.points if p.series == name}
        assert len(work) == 1
    assert experiment.baseline is None
    assert experiment.axis == "worker processes or threads"
    assert {c.cell.workers for c in cells.values()} == {1, 2, 4, 6}


def test_workers_of_a_cluster_are_those_of_the_lane() -> None:
    lane = Allocation(cores=2, workers=4, threads=8)
    experiment, cells = one("workers", lane, environment="remote", implementation=("python",))
    assert [p.x for p in experiment.points] == [1, 2, 4]
    assert experiment.baseline == "1 worker"
    assert {c.cell.env for c in cells.values()} == {"remote"}
    experiment, _ = one("workers", lane, environment="remote-threads", implementation=("cython",))
    assert [p.x for p in experiment.points] == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("workers", {"workers": (1, 3)}),
        ("task-size", {"workers": 3}),
        ("scheduler", {"workers": 3}),
        ("chunks", {"workers": 3}),
        ("granularity", {"workers": 3}),
        ("optimization", {"workers": 3}),
    ],
)
def test_more_workers_than_there_are_are_refused(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"'workers' is 3, and .* has 2 within"):
        one(kind, **options)


def test_the_schedulers_are_predicted_before() -> None:
    experiment, _ = one("scheduler")
    assert experiment.prediction is not None
    assert experiment.prediction.order == (
        "cython, threads",
        "cython, processes",
        "python, processes",
        "python, threads",
    )
    assert set(experiment.prediction.order) == {p.label for p in experiment.points}
    assert "GIL" in experiment.prediction.text
    alone, _ = one("scheduler", workers=1)
    assert alone.prediction is not None
    assert alone.prediction.order[2:] == ("python, threads", "python, processes")


def test_chunks_are_measured_in_mib() -> None:
    experiment, cells = one("chunks")
    assert [p.x for p in experiment.points] == [chunk**2 * 8 / 2**20 for chunk in (250, 1000, 4000)]
    assert [dict(p.settings)["partitions"] for p in experiment.points] == [1024, 64, 4]
    assert {c.cell.env for c in cells.values()} == {"threads"}
    moved, cells = one("chunks", environment="local", size=100, chunk=(30, 10))
    assert [dict(p.settings)["partitions"] for p in moved.points] == [100, 16]
    assert {c.cell.env for c in cells.values()} == {"local"}
    with pytest.raises(InputError, match="'chunk' is 200: the array has only 100 a side"):
        one("chunks", size=100, chunk=(200,))


def test_granularity_sweeps_the_grain_of_each_pattern() -> None:
    experiment, cells = one("granularity")
    grains = [int(p.x or 0) for p in experiment.points]
    assert 8 <= len(grains) <= 10
    assert {b / a for a, b in itertools.pairwise(grains)} == {2, 4}
    assert {c.cell.env for c in cells.values()} == {"local"}
    two, _ = one("granularity", pattern=("fft", "trivial"), grain=(8, 1))
    assert [(p.series, p.x) for p in two.points] == [
        ("fft", 1), ("fft", 8), ("trivial", 1), ("trivial", 8),
    ]  # fmt: skip
    with pytest.raises(InputError, match="'stencill' is none of"):
        one("granularity", pattern=("stencill",))


def test_optimization_has_a_serial_baseline_and_the_tolerance() -> None:
    experiment, cells = one("optimization")
    assert experiment.baseline == "serial Python"
    fixed = dict(experiment.fixed)
    assert fixed["tolerance"] == 1e-9
    assert {"total_steps", "workers", "tasks"} <= set(fixed)
    found = {
        p.label: (cells[p.cell_id].cell.env, cells[p.cell_id].cell.workers)
        for p in experiment.points
    }
    assert found == {
        "serial Python": ("threads", 1),
        "serial Cython": ("threads", 1),
        "parallel Python, processes": ("processes", 2),
        "parallel Cython, threads": ("threads", 2),
    }
    units = [cells[p.cell_id].request.units for p in experiment.points]
    assert units == [1, 1, 8, 8]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cores", [1, 2, 3, 6, 64])
def test_defaults_fit_every_allocation(kind: str, cores: int) -> None:
    experiment, cells = one(kind, Allocation(cores=cores, workers=cores, threads=2))
    labels = [p.label for p in experiment.points]
    assert len(set(labels)) == len(labels) > 0
    assert {p.cell_id for p in experiment.points} == set(cells)
    assert experiment.baseline is None or experiment.baseline in labels
    assert experiment.question.endswith("?")


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("task-size", {"total_steps": 1000, "tasks": (32,)}, "'steps' of '32 tasks': 32 is below"),
        ("task-size", {"total_steps": 10**6, "tasks": (997, 991, 983)}, "no number near it is a"),
        ("task-size", {"total_steps": 10**12, "tasks": (2,)}, "above 1,000,000,000"),
        ("task-size", {"environment": "treads"}, "did you mean 'threads'"),
        ("task-size", {"tasks": (2, 2)}, "'tasks' lists 2 twice"),
        ("task-size", {"tasks": tuple(range(1, 102))}, "must have 1 to 100 values"),
        ("task-size", {"chunk": (3,)}, "option 'chunk' is not one of 'task-size'"),
        ("task-size", {"workers": (1, 2)}, "'workers' must be one value"),
        ("task-size", {"tasks": ("a",)}, "'tasks' must be a whole number"),
        ("granularity", {"kernel": "empty", "grain": (4,)}, "grain 0 or 1 for the kernel"),
        ("granularity", {"kernel": 3}, "'kernel' must be a word"),
        ("optimization", {"tasks": 0}, "'tasks' must be a whole number from 1"),
    ],
)
def test_options_that_cannot_be_measured(kind: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        one(kind, **options)


@pytest.mark.parametrize("name", ["rounds", "repeats"])
def test_rounds_and_repeats_have_their_limits(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' must be a whole number from 1 to 1,000, not 0"):
        experiment_matrix(
            "task-size", {}, registry=EVERY, allocation=TWO, **{name: 0}  # type: ignore[arg-type]
        )  # fmt: skip


def test_an_experiment_of_a_workload_that_is_not_there() -> None:
    with pytest.raises(InputError, match="needs the workload 'chunked-means', which is not there"):
        experiment_matrix("chunks", {}, registry={}, allocation=TWO)


def test_the_workshop_shares_what_its_experiments_have_in_common() -> None:
    matrix = load_matrix(WORKSHOP.read_text(), where="x", registry=EVERY, allocation=TWO)
    cells, found = planned(matrix, EVERY, TWO)
    assert {e.kind for e in found} == set(KINDS)
    ids = [c.cell_id for c in cells]
    assert len(ids) == len(set(ids)) < sum(len(e.points) for e in found)
    assert {p.cell_id for e in found for p in e.points} == set(ids)


def plan(matrix: Matrix) -> Plan:
    return make_plan(
        matrix, run_id="20261130T010203Z-616263", created_at="t", trigger="cli", commit="c",
        arms=("subject",), registry=EVERY, allocation=TWO,
    )  # fmt: skip


def test_the_plan_holds_the_experiments_and_their_cells() -> None:
    made = plan(experiments('[[experiment]]\nkind = "scheduler"\n', allocation=TWO))
    (experiment,) = made.experiments
    assert loads(dumps(made), Plan) == made
    assert {p.cell_id for p in experiment.points} == {c.cell_id for c in made.cells}
    assert all(set(r.order) == {c.cell_id for c in made.cells} for r in made.rounds)
    again = load_matrix(made.matrix_text, where="x", registry=EVERY, allocation=TWO)
    assert plan(again) == made


TWO_TASKS = """
[[experiment]]
kind = "task-size"
total_steps = 128
tasks = [1, 2]
required = false
"""


def test_a_cell_of_a_workload_is_measured_once_for_both() -> None:
    row = (
        '[[workload]]\nname = "integrate"\nunits = 2\nenvironments = ["processes"]\nworkers = 2\n'
        'params = { implementation = "python", steps = 64 }\n'
    )
    made = plan(experiments(row + TWO_TASKS))
    assert [c.request.units for c in made.cells] == [2, 1]
    # What anybody requires is required.
    assert [c.required for c in made.cells] == [True, False]
    assert len(made.experiments) == 1


def test_only_leaves_out_what_can_no_longer_be_answered() -> None:
    matrix = experiments(
        TWO_TASKS + '[[experiment]]\nkind = "chunks"\nsize = 100\nchunk = [10, 50]\n'
    )
    kept = plan(apply(matrix, registry=EVERY, cells=["chunked-means*", "*steps=64*"]))
    assert [e.name for e in kept.experiments] == ["chunks"]
    assert len(kept.cells) == 3


def test_environments_keep_whole_experiments() -> None:
    matrix = experiments(GOOD.split("[[workload]]", 1)[1].join(["[[workload]]", ""]) + TWO_TASKS)
    kept = apply(matrix, registry=EVERY, environments=["processes"])
    assert [e.name for e in kept.experiments] == ["task-size"]
    assert apply(matrix, registry=EVERY, environments=["local"]).experiments == ()
    only = experiments(TWO_TASKS)
    with pytest.raises(InputError, match="nothing of this matrix runs in these environments"):
        apply(only, registry=EVERY, environments=["remote"])
    with pytest.raises(InputError, match="has a parameter n") as caught:
        apply(only, registry=EVERY, n=[3])
    assert caught.value.found == "experiments only"


def test_repeats_replace_those_of_an_experiment() -> None:
    matrix = experiments(TWO_TASKS + "repeats = 9\n")
    assert {c.request.repeats for c in plan(matrix).cells} == {9}
    changed = plan(apply(matrix, registry=EVERY, repeats=4))
    assert {c.request.repeats for c in changed.cells} == {4}
