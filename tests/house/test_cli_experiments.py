"""The contract of the commands that measure one experiment."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest

from daskperf_tasks.allocated import allocation_of
from daskperf_tasks.cli import main
from daskperf_tasks.experimenting import expected_text
from daskperf_tasks.plan.build import planned
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.single import experiment_matrix
from daskperf_tasks.settings import read_settings
from daskperf_tasks.workloads.registry import load_registry

from .conftest import call


def group(name: str) -> click.Group:
    found = main.commands[name]
    assert isinstance(found, click.Group)
    return found


def test_every_kind_is_a_command_with_its_options() -> None:
    assert list(group("experiment").commands) == list(KINDS)
    assert list(group("report").commands) == ["optimization"]
    for kind, command in group("experiment").commands.items():
        options = {o for p in command.params for o in p.opts}
        assert {f"--{o.name.replace('_', '-')}" for o in KINDS[kind].options} <= options
        assert {"--json", "--store", "--scheduler", "--subject", "--rounds", "--repeats"} <= options


@pytest.mark.parametrize("kind", KINDS)
def test_help_tells_options_and_defaults(kind: str) -> None:
    done = call("experiment", kind, "--help")
    assert done.exit_code == 0
    text = " ".join(done.output.split())
    assert KINDS[kind].about in text
    for option in KINDS[kind].options:
        assert f"--{option.name.replace('_', '-')}" in text
        assert not option.default or str(option.default[0]) in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("experiment", "task-size", "--tasks", "0"), "'tasks' must be a whole number from 1"),
        (("experiment", "task-size", "--tasks", "x"), "'x' is not a valid integer"),
        (("experiment", "task-size", "--environment", "treads"), "did you mean 'threads'"),
        (("experiment", "task-size", "--workers", "1000"), "'workers' is 1,000, and 'processes'"),
        (("experiment", "task-size", "--rounds", "0"), "'rounds' must be a whole number"),
        (("experiment", "task-size", "--grain", "1"), "No such option"),
        (("experiment", "workers", "--implementation", "c"), "'implementation' cannot be 'c'"),
        (("experiment", "scheduler", "--total-steps", "1"), "'total_steps' must be"),
        (("report", "optimization", "--tasks", "-1"), "'tasks' must be"),
        (("report", "optimisation"), "No such command"),
        (("experiment", "task-sise"), "No such command"),
    ],
)
def test_bad_options_are_refused_before_anything(
    home: Path, words: tuple[str, ...], says: str
) -> None:
    done = call(*words, "--json")
    assert done.exit_code == 2, done.output
    assert says in json.loads(done.stdout)["error"]["message"] or says in done.stderr
    assert not list(home.iterdir())


def test_a_plan_shows_its_experiments_with_their_predictions(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('[matrix]\nname = "x"\n[[experiment]]\nkind = "scheduler"\nworkers = 2\n')
    done = call("plan", str(file), "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    (experiment,) = document["experiments"]
    assert experiment["prediction"]["order"][0] == "cython, threads"
    assert {p["cell_id"] for p in experiment["points"]} == {c["id"] for c in document["cells"]}
    text = call("plan", str(file)).output
    assert "experiment scheduler: Which scheduler suits" in text
    assert "prediction, fastest first: cython, threads <" in text


def test_the_prediction_is_told_in_the_order_of_the_plan() -> None:
    matrix = experiment_matrix(
        "scheduler", {"workers": 2}, registry=load_registry({}), allocation=Allocation(cores=2)
    )
    _, (planned_,) = planned(matrix, load_registry({}), Allocation(cores=2))
    lines = expected_text(planned_).splitlines()
    assert lines[0] == planned_.question
    assert lines[1].startswith("prediction: cython, threads < cython, processes < python, proc")
    assert "GIL" in lines[2]


def test_a_lane_file_says_how_many_workers_there_are(home: Path) -> None:
    settings = read_settings()
    assert allocation_of(settings, scheduler=None).workers is None
    workers = "".join(f'[[workers]]\nname = "w{i}"\nnthreads = {i + 3}\n' for i in range(3))
    (home / "lane.toml").write_text(f'name = "x"\nscheduler = "tcp://10.0.0.5:8786"\n{workers}')
    found = allocation_of(settings, scheduler=None)
    assert (found.workers, found.threads) == (3, 3)
    assert found.cores == len(os.sched_getaffinity(0))
    # Nobody knows who is behind another scheduler.
    assert allocation_of(settings, scheduler="tcp://10.0.0.6:8786").workers is None
