from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from infra_helpers import listening_addresses, stack_members

from daskperf_infra.local import stack
from daskperf_infra.local.airflow_client import AirflowClient, TaskState
from daskperf_infra.local.environment import stack_env
from daskperf_infra.local.secret_files import load_secrets
from daskperf_infra.local.services import NAMES
from daskperf_infra.local.state import find_layout, load_state
from daskperf_tasks.errors import StackError

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]

_DAG = """
from airflow.sdk import dag, task

@dag(schedule=None, is_paused_upon_creation=False)
def probe():
    @task
    def start():
        import os
        assert "s3://daskperf" in os.environ["DASKPERF_STORE"]
        return {"run_id": "r1"}

    @task(pool="lane")
    def measure(n):
        print(f"measuring {n}")
        if n == 2:
            raise ValueError("the second one fails")

    start() >> measure.expand(n=[1, 2])

probe()
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "plugins").mkdir()
    (folder / "dags").mkdir()
    (folder / "dags" / "probe.py").write_text(_DAG)
    return folder


@pytest.fixture(scope="module")
def home(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("whole") / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASKPERF_CHECKOUT", str(checkout))
        try:
            stack.up(folder, progress=print)
            yield folder
        finally:
            stack.down(folder)


@pytest.fixture
def airflow(home: Path) -> AirflowClient:
    return AirflowClient.from_environment(stack_env(home))


def test_everything_runs_and_a_second_up_finds_it(home: Path) -> None:
    before = stack.status(home)
    assert before.running == NAMES
    told: list[str] = []
    after = stack.up(home, progress=told.append)
    assert [s.pid for s in after.services] == [s.pid for s in before.services]
    assert told == [f"found running: {', '.join(NAMES)}"]


def test_airflow_is_healthy_and_has_the_pool(airflow: AirflowClient) -> None:
    health = airflow.health()
    assert {name: part["status"] for name, part in health.items()} == {
        "metadatabase": "healthy",
        "scheduler": "healthy",
        "triggerer": "healthy",
        "dag_processor": "healthy",
    }
    pool = airflow._call("GET", "/api/v2/pools/lane")
    assert (pool["slots"], pool["include_deferred"]) == (1, True)


def test_a_run_is_followed_to_its_end(airflow: AirflowClient) -> None:
    airflow.wait_for_dag("probe")
    airflow.unpause("probe")
    run = airflow.trigger("probe", {"key": "value"})
    seen: list[TaskState] = []
    assert airflow.wait("probe", run, progress=seen.append, deadline_s=90) == "failed"
    last = {task.label: task.state for task in seen}
    assert last == {"start": "success", "measure[0]": "success", "measure[1]": "failed"}
    logs = airflow.failed_task_logs("probe", run)
    assert list(logs) == ["measure[1]"]
    assert "measuring 2" in logs["measure[1]"]
    assert "ValueError: the second one fails" in logs["measure[1]"]
    value = airflow.xcom("probe", run, "start")
    assert (json.loads(value) if isinstance(value, str) else value) == {"run_id": "r1"}
    assert airflow.xcom("probe", run, "measure") is None


def test_a_dag_that_is_not_there_is_said_so(airflow: AirflowClient) -> None:
    with pytest.raises(StackError, match="does not know the DAG nothing"):
        airflow.wait_for_dag("nothing", deadline_s=0.1)


def test_a_wrong_password_is_refused(airflow: AirflowClient) -> None:
    intruder = AirflowClient(url=airflow.url, user="admin", password="guess-4711")
    with pytest.raises(StackError, match="401") as caught:
        intruder.ensure_pool("x", slots=1, description="")
    assert "guess-4711" not in str(caught.value)


def test_nothing_listens_beyond_loopback(home: Path) -> None:
    assert listening_addresses(stack_members(home)) == {"127.0.0.1"}


def test_secrets_are_in_no_other_file(home: Path) -> None:
    layout = find_layout(home)
    secrets = load_secrets(layout)
    hidden = [
        *secrets.airflow_passwords.values(),
        secrets.jwt_secret,
        secrets.api_secret_key,
        secrets.fernet_key,
        secrets.s3_secret_key,
    ]
    for path in home.rglob("*"):
        if path.is_file() and path.parent != layout.secrets:
            content = path.read_bytes()
            assert not [s for s in hidden if s.encode() in content], path


def test_a_killed_airflow_scheduler_is_healed_and_down_ends_its_orphans(home: Path) -> None:
    before = {s.name: s.pid for s in stack.status(home).services}
    os.kill(before["airflow-scheduler"] or 0, signal.SIGKILL)
    after = stack.up(home, progress=print)
    assert after.running == NAMES
    assert {s.name for s in after.services if s.pid != before[s.name]} == {"airflow-scheduler"}

    os.kill(after.service("airflow-scheduler").pid or 0, signal.SIGKILL)
    begun = time.monotonic()
    stack.down(home)
    assert time.monotonic() - begun < 30
    assert stack_members(home) == ()
    assert load_state(find_layout(home)).services == {}
