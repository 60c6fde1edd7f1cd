"""What is true of the DAGs before they run."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from daskperf_tasks.airflow.forms import KEYS, check_conf, experiment_params, matrix_names
from daskperf_tasks.errors import InputError
from daskperf_tasks.plan.experiments.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
CHAIN = (
    "start",
    "deploy",
    "preflight",
    "calibrate",
    "measure",
    "restore",
    "analyse",
    "validate",
    "report",
    "publish",
    "notify",
    "gate",
)
TAIL = CHAIN[CHAIN.index("analyse") :]
both = pytest.mark.parametrize("dag_id", ["nightly", "on_demand"])
every = pytest.mark.parametrize("dag_id", ["nightly", "on_demand", "optimization_report"])


@pytest.fixture
def dag(dag_bag, dag_id):
    return dag_bag.dags[dag_id]


def test_the_folder_holds_these_dags_and_no_errors(dag_bag):
    assert dag_bag.import_errors == {}
    assert set(dag_bag.dags) == {"nightly", "on_demand", "optimization_report"}


def test_parsing_imports_nothing_heavy():
    code = (
        "import sys, airflow.sdk; before = set(sys.modules);"
        "sys.path.insert(0, 'dags'); import nightly, on_demand, optimization_report;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "heavy = {'pandas', 'numpy', 'pyarrow', 'dask', 'distributed', 'great_expectations',"
        " 'boto3', 'matplotlib', 'bokeh', 'scipy', 'fastapi'};"
        "stages = {'daskperf_tasks.stages'} & set(sys.modules);"
        "print(sorted(heavy & new | stages))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert out.stdout.splitlines()[-1] == "[]"


@every
def test_the_chain_is_this(dag):
    assert set(dag.task_dict) == set(CHAIN)
    for name, above in zip(CHAIN[1:], CHAIN, strict=False):
        wanted = {"start", above} | ({"deploy"} if name == "restore" else set())
        assert dag.get_task(name).upstream_task_ids == wanted
    assert [t.task_id for t in dag.leaves] == ["gate"]


@every
def test_the_lane_is_restored_by_a_teardown(dag):
    deploy, restore = dag.get_task("deploy"), dag.get_task("restore")
    assert deploy.is_setup
    assert restore.is_teardown
    assert not restore.on_failure_fail_dagrun


@every
def test_rounds_are_measured_one_at_a_time(dag):
    measure = dag.get_task("measure")
    assert measure.is_mapped
    assert measure.pool == "lane"
    assert measure.max_active_tis_per_dagrun == 1
    assert measure.retries == 1
    assert "label" in measure.partial_kwargs["map_index_template"]


@every
def test_what_follows_the_lane_runs_whatever_happened(dag):
    for name in CHAIN[:5]:
        assert dag.get_task(name).trigger_rule == "all_success"
    for name in TAIL:
        assert dag.get_task(name).trigger_rule == "all_done_min_one_success"


@every
def test_no_task_runs_for_ever(dag):
    for task in dag.tasks:
        assert task.execution_timeout <= timedelta(hours=6), task.task_id


@every
def test_retries_are_few_and_where_they_help(dag):
    retries = {t.task_id: t.retries for t in dag.tasks if t.retries}
    assert retries == {"deploy": 36, "measure": 1, "restore": 1, "publish": 2}


@every
def test_one_run_at_a_time_and_none_of_the_past(dag):
    assert dag.max_active_runs == 1
    assert dag.catchup is False
    assert dag.is_paused_upon_creation is False
    assert dag.doc_md


@pytest.mark.parametrize("dag_id", ["on_demand", "optimization_report"])
def test_what_is_asked_for_has_no_schedule(dag):
    assert dag.timetable.can_be_scheduled is False


def test_a_new_nightly_waits_for_the_night(dag_bag):
    """A DAG that was just made must not start a run for the night before."""
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import DagSerialization

    stored = DagSerialization.deserialize_dag(
        DagSerialization.serialize_dag(dag_bag.dags["nightly"])
    )
    assert isinstance(stored, SerializedDAG)
    info = stored.next_dagrun_info(last_automated_run_info=None)
    now = datetime.now(UTC)
    assert info.run_after.hour == 2
    assert now - timedelta(minutes=6) < info.run_after <= now + timedelta(days=1)


@both
def test_the_form_has_limits(dag):
    assert tuple(dag.params) == KEYS
    assert dag.params["matrix"] == "nightly"
    names = dag.params.get_param("matrix").schema["enum"]
    assert {"nightly", "experiments"} <= set(names)
    good = {"n": [64, 128], "repeats": 3, "scheduler": "tcp://10.0.0.5:8786", "wheel": "a.whl"}
    for key, value in good.items():
        assert dag.params.get_param(key).resolve(value) == value
        assert dag.params.get_param(key).resolve(None) is None


@both
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("matrix", "nigtly"),
        ("matrix", "../secret"),
        ("matrix", None),
        ("n", []),
        ("n", [1]),
        ("n", [65_537]),
        ("n", ["128"]),
        ("n", [64, 64]),
        ("n", 128),
        ("repeats", 0),
        ("repeats", 1001),
        ("repeats", 1.5),
        ("wheel", ""),
        ("against", 3),
        ("scheduler", "10.0.0.5:8786"),
        ("scheduler", "tcp://10.0.0.5"),
        ("scheduler", "tcp://10.0.0.5:8786; rm"),
    ],
)
def test_the_form_refuses(dag, key, value):
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError):
        dag.params.get_param(key).resolve(value)


REPORT_KEYS = ("total_steps", "tasks", "workers", "rounds", "repeats", "wheel", "scheduler")


def test_the_form_of_an_experiment_has_its_options(dag_bag):
    params = dag_bag.dags["optimization_report"].params
    assert tuple(params) == REPORT_KEYS
    good = {"total_steps": 4096, "tasks": 8, "workers": 2, "rounds": 1, "repeats": 3}
    for key in REPORT_KEYS:
        assert params.get_param(key).resolve(None) is None
        if key in good:
            assert params.get_param(key).resolve(good[key]) == good[key]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("total_steps", 63),
        ("total_steps", "4096"),
        ("tasks", 0),
        ("workers", 10_001),
        ("rounds", 0),
        ("repeats", 1001),
        ("wheel", ""),
        ("scheduler", "10.0.0.5:8786"),
    ],
)
def test_the_form_of_an_experiment_refuses(dag_bag, key, value):
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError):
        dag_bag.dags["optimization_report"].params.get_param(key).resolve(value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_experiment_has_a_form(kind):
    from airflow.sdk.exceptions import ParamValidationError

    params = experiment_params(kind)
    for option in KINDS[kind].options:
        field = params[option.name]
        assert field.resolve(None) is None
        if option.default:
            value = list(option.default) if option.many else option.default[0]
            assert field.resolve(value) == value
        with pytest.raises(ParamValidationError):
            field.resolve(-1)


def test_a_misspelt_key_is_refused_with_the_nearest():
    with pytest.raises(InputError) as caught:
        check_conf({"matrx": "nightly", "repeats": 1})
    assert "'matrx' (did you mean 'matrix'?)" in str(caught.value)
    assert "repeats'" not in str(caught.value)


def test_a_key_like_no_other_is_refused_without_a_guess():
    with pytest.raises(InputError) as caught:
        check_conf({"zzzzzz": 1})
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("conf", [None, {}, {"n": [8]}, dict.fromkeys(KEYS)])
def test_known_keys_pass(conf):
    check_conf(conf)


def test_matrix_names_are_those_of_the_folder(tmp_path):
    (tmp_path / "b.toml").write_text("")
    (tmp_path / "a.toml").write_text("")
    (tmp_path / "c.txt").write_text("")
    assert matrix_names(tmp_path) == ["a", "b"]
    assert matrix_names(tmp_path / "none") == []
