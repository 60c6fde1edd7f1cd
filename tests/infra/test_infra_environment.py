from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_infra.local import ports
from daskperf_infra.local.environment import inherited, stack_env
from daskperf_infra.local.lane_file import WorkerSize
from daskperf_infra.local.secret_files import load_secrets
from daskperf_infra.local.services import AIRFLOW, NAMES, declare
from daskperf_infra.local.state import Layout
from daskperf_tasks.errors import StackError

SIZE = WorkerSize(nthreads=2, memory_gib=1.0)


def test_foreign_settings_are_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://production")
    monkeypatch.setenv("AIRFLOW_CONN_APPRISE_DEFAULT", "channel")
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://production:8786")
    monkeypatch.setenv("RCLONE_CONFIG", "/production")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("no_proxy", "example.org")
    for_dask, for_airflow = inherited(airflow=False), inherited(airflow=True)
    assert not [v for v in for_dask.values() if "production" in v]
    assert not [v for v in for_airflow.values() if "production" in v]
    assert "PYTHONDONTWRITEBYTECODE" not in for_dask
    assert "AIRFLOW_CONN_APPRISE_DEFAULT" not in for_dask
    assert for_airflow["AIRFLOW_CONN_APPRISE_DEFAULT"] == "channel"
    assert for_dask["no_proxy"] == "example.org,127.0.0.1,localhost"
    assert for_dask["NO_PROXY"].endswith("127.0.0.1,localhost")


def test_a_stack_that_was_never_started_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="lane up"):
        stack_env(tmp_path / "none")


def test_secrets_stay_out_of_commands_and_reach_only_those_who_need_them(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "state", checkout=tmp_path)
    layout.make()
    secrets = load_secrets(layout)
    specs = declare(layout, ports.PREFERRED, secrets, SIZE)
    assert tuple(specs) == NAMES
    hidden = [secrets.jwt_secret, secrets.s3_secret_key, *secrets.airflow_passwords.values()]
    for spec in specs.values():
        shown = " ".join([*spec.command, spec.url, repr(spec)])
        assert not [s for s in hidden if s in shown], spec.name
    for name in ("dask-scheduler", "lane-a", "lane-b"):
        values = " ".join(specs[name].environment().values())
        assert not [s for s in hidden if s in values], name
        assert not [k for k in specs[name].environment() if k.startswith("AIRFLOW")]


def test_a_moved_port_changes_those_who_know_it(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "state", checkout=tmp_path)
    layout.make()
    secrets = load_secrets(layout)

    def prints(**moved: int) -> dict[str, str]:
        changed = {**ports.PREFERRED, **{k.replace("_", "-"): v for k, v in moved.items()}}
        return {n: s.fingerprint for n, s in declare(layout, changed, secrets, SIZE).items()}

    before = prints()
    assert prints() == before

    def changed_by(**moved: int) -> set[str]:
        return {n for n, f in prints(**moved).items() if f != before[n]}

    with_airflow_settings = set(AIRFLOW) - {"airflow-task-logs"}
    assert changed_by(object_server=1) == {"object-server", *with_airflow_settings}
    assert changed_by(dask_scheduler=1) == {"dask-scheduler", "lane-a", "lane-b"}
    assert changed_by(airflow_web=1) == with_airflow_settings


def test_a_notification_channel_is_noticed_without_being_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = Layout(home=tmp_path / "state", checkout=tmp_path)
    layout.make()
    specs = declare(layout, ports.PREFERRED, load_secrets(layout), SIZE)
    before = specs["airflow-scheduler"].own_digests()
    monkeypatch.setenv("DASKPERF_NOTIFY", "json://token@host")
    monkeypatch.setenv("DASKPERF_STORE", "s3://elsewhere")
    after = specs["airflow-scheduler"].own_digests()
    assert {n for n, _ in after.items() - before.items()} == {"DASKPERF_NOTIFY"}
    assert "token" not in str(after)
    assert specs["lane-a"].own_digests() == {}
