"""The wiring, run by Airflow itself: who runs after what fails, and which colour it gives."""

import sys
import time
from dataclasses import fields
from datetime import timedelta

import pytest

import daskperf_tasks
from daskperf_tasks import errors
from daskperf_tasks.asking import Ask
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.workloads.registry import load_registry
from tests.dags.stage_recorder import RUN_ID, Recorder

LANE = ["deploy", "preflight", "calibrate", "measure-0", "measure-1", "measure-2", "restore"]
TAIL = ["analyse", "validate", "report", "publish", "notify", "gate"]


@pytest.fixture
def drive(dag_bag, monkeypatch):
    """Run a DAG with recorded stages; gives the recorder, the run and its task states."""
    real_sleep = time.sleep

    def run(failing=None, *, dag_id="nightly", conf=None, passing_after=None):
        recorder = Recorder(failing=failing or {}, passing_after=passing_after)
        module = recorder.module()
        monkeypatch.setitem(sys.modules, "daskperf_tasks.stages", module)
        monkeypatch.setattr(daskperf_tasks, "stages", module, raising=False)
        dag = dag_bag.dags[dag_id]
        for task in dag.tasks:
            if task.task_id != "measure":
                monkeypatch.setattr(task, "retry_delay", timedelta(0))
        monkeypatch.setitem(dag.get_task("measure").partial_kwargs, "retry_delay", timedelta(0))
        # `dag.test` waits a whole second whenever a skipped task has to be looked at again.
        monkeypatch.setattr(time, "sleep", lambda seconds: real_sleep(min(seconds, 0.01)))
        dag_run = dag.test(run_conf=conf)
        monkeypatch.setattr(time, "sleep", real_sleep)
        states = {
            ti.task_id if ti.map_index < 0 else f"{ti.task_id}-{ti.map_index}": str(ti.state)
            for ti in dag_run.get_task_instances()
        }
        return recorder, str(dag_run.state), states

    return run


def test_a_green_night_runs_everything_once_and_in_order(drive):
    recorder, state, states = drive()
    # `dag.test` takes mapped tasks in any order.
    measured = recorder.calls[4:7]
    assert sorted(measured) == LANE[3:6]
    assert recorder.calls == ["start", *LANE[:3], *measured, "restore", *TAIL]
    assert set(states.values()) == {"success"}
    assert state == "success"
    assert recorder.asked[0].trigger == "nightly"
    assert recorder.asked[0].matrix == "nightly"


def test_a_blocked_preflight_measures_nothing_and_still_restores_and_reports(drive):
    recorder, state, states = drive({"preflight": errors.PreflightBlocked("dask is older")})
    assert recorder.calls == ["start", "deploy", "preflight", "restore", *TAIL]
    assert states["preflight"] == "failed"
    assert states["calibrate"] == states["measure"] == "upstream_failed"
    assert states["publish"] == "success"
    assert states["gate"] == "failed"
    assert state == "failed"


def test_a_round_that_fails_for_good_is_tried_twice_and_leaves_the_others(drive):
    recorder, state, states = drive({"measure-1": errors.ClusterError("a worker left")})
    assert recorder.calls.count("measure-1") == 2
    assert recorder.calls.count("measure-0") == recorder.calls.count("measure-2") == 1
    assert recorder.calls[-7:] == ["restore", *TAIL]
    assert states["measure-1"] == "failed"
    assert states["measure-2"] == states["restore"] == "success"
    assert (states["gate"], state) == ("failed", "failed")


def test_a_broken_wheel_is_not_tried_again(drive):
    recorder, state, states = drive({"deploy": errors.DeployError("cannot be imported")})
    # Airflow runs no teardown after a failed setup: deploy gives the lane back itself.
    assert recorder.calls == ["start", "deploy", "restore", *TAIL]
    assert states["restore"] == "upstream_failed"
    assert (states["gate"], state) == ("failed", "failed")


def test_a_busy_lane_is_waited_for(drive):
    recorder, state, states = drive({"deploy": errors.LaneBusyError("held")}, passing_after=3)
    assert recorder.calls.count("deploy") == 4
    assert recorder.calls[:5] == ["start", *["deploy"] * 4]
    assert sorted(recorder.calls[5:]) == sorted([*LANE[1:], *TAIL])
    assert (states["deploy"], state) == ("success", "success")


def test_a_scheduler_that_does_not_answer_is_red_at_once(drive):
    recorder, state, states = drive({"deploy": errors.ClusterError("no answer")})
    assert recorder.calls.count("deploy") == 1
    assert (states["deploy"], state) == ("failed", "failed")


def test_a_store_that_is_down_is_tried_again_and_turns_the_night_red(drive):
    recorder, state, states = drive({"publish": errors.StoreError("no answer")})
    assert recorder.calls.count("publish") == 3
    assert recorder.calls[-2:] == ["notify", "gate"]
    assert states["publish"] == "failed"
    assert (states["gate"], state) == ("failed", "failed")


@pytest.mark.parametrize("stage", ["calibrate", "restore", "analyse", "validate", "notify"])
def test_no_failure_stays_green(drive, stage):
    recorder, state, states = drive({stage: errors.HarnessError("broken")})
    assert recorder.calls[-1] == "gate"
    assert "restore" in recorder.calls
    assert (states[stage], states["gate"], state) == ("failed", "failed", "failed")


def test_a_red_gate_alone_turns_the_run_red(drive):
    _, state, states = drive({"gate": errors.GateRed("a required cell has no samples")})
    assert [n for n, s in states.items() if s != "success"] == ["gate"]
    assert state == "failed"


def test_when_start_fails_there_is_no_run_to_report(drive):
    recorder, state, states = drive({"start": errors.MatrixError("unknown key")})
    assert recorder.calls == ["start"]
    assert states.pop("start") == "failed"
    assert set(states.values()) == {"upstream_failed"}
    assert state == "failed"


def test_the_form_reaches_start(drive):
    conf = {
        "matrix": "nightly",
        "n": [64],
        "repeats": 2,
        "wheel": "/tmp/a.whl",
        "scheduler": "tcp://127.0.0.1:8786",
    }
    recorder, state, _ = drive(dag_id="on_demand", conf=conf)
    ask = recorder.asked[0]
    assert (ask.n, ask.repeats, ask.wheel, ask.against) == ((64,), 2, "/tmp/a.whl", None)
    assert (ask.scheduler, ask.trigger) == ("tcp://127.0.0.1:8786", "on_demand")
    assert state == "success"


def test_the_form_asks_for_all_that_can_be_asked(drive):
    from daskperf_tasks.airflow.forms import KEYS

    recorder, _, _ = drive(dag_id="on_demand", conf={"matrix": "smoke", "n": [64]})
    asked = recorder.asked[0]
    assert isinstance(asked, Ask)
    assert {f.name for f in fields(Ask)} - {"trigger", "matrix_text"} == set(KEYS)


@pytest.mark.parametrize("dag_id", ["nightly", "on_demand"])
def test_a_misspelt_key_is_refused_before_anything_is_done(drive, dag_id):
    recorder, state, states = drive(dag_id=dag_id, conf={"repeat": 3})
    assert recorder.calls == []
    assert (states["start"], state) == ("failed", "failed")


def test_the_link_and_the_boxes_are_named_after_the_run(drive):
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    from daskperf_tasks.airflow.links import RunLink

    drive()
    with create_session() as session:
        (last,) = session.execute(
            select(TaskInstance.dag_id, TaskInstance.run_id)
            .where(TaskInstance.task_id == "start", TaskInstance.state == "success")
            .order_by(TaskInstance.start_date.desc())
            .limit(1)
        ).all()
        names = session.scalars(
            select(TaskInstance.rendered_map_index)
            .where(TaskInstance.task_id == "measure", TaskInstance.run_id == last.run_id)
            .order_by(TaskInstance.map_index)
        ).all()
    assert names == [f"round {i} of 3, subject" for i in (1, 2, 3)]
    assert RunLink().get_link(None, ti_key=last).endswith(f"/daskperf/runs/{RUN_ID}")


def test_the_form_of_the_report_becomes_a_matrix_of_one_experiment(drive):
    conf = {"total_steps": 4096, "tasks": 4, "workers": 2, "rounds": 1, "repeats": 2}
    recorder, state, states = drive(dag_id="optimization_report", conf=conf)
    assert (state, set(states.values())) == ("success", {"success"})
    ask = recorder.asked[0]
    assert (ask.trigger, ask.against, ask.matrix) == (
        "optimization_report", "none", "experiment-optimization",
    )  # fmt: skip
    matrix = load_matrix(ask.matrix_text, where="x", registry=load_registry({}))
    assert (matrix.rounds, matrix.repeats, matrix.workloads) == (1, 2, ())
    (experiment,) = matrix.experiments
    assert dict(experiment.options) == {"total_steps": (4096,), "tasks": (4,), "workers": (2,)}


def test_an_option_that_cannot_be_measured_stops_before_anything(drive):
    recorder, state, _ = drive(dag_id="optimization_report", conf={"workers": 10_000})
    assert (recorder.calls, state) == ([], "failed")
    recorder, state, _ = drive(dag_id="optimization_report", conf={"matrix": "nightly"})
    assert (recorder.calls, state) == ([], "failed")
