"""Task bodies on their own: credentials, errors, words."""

import json
import os
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowFailException

from daskperf_tasks import errors
from daskperf_tasks.airflow import bodies
from daskperf_tasks.airflow.store_access import (
    aws_environment,
    client_options,
    server_client_options,
    store_environment,
)
from daskperf_tasks.settings import read_settings

CONNECTION = {
    "conn_type": "aws",
    "login": "AK",
    "password": "S3CR3T",
    "extra": {
        "endpoint_url": "http://127.0.0.1:9000",
        "region_name": "us-east-1",
        "config_kwargs": {"request_checksum_calculation": "when_required"},
    },
}
EXPECTED = {
    "AWS_ACCESS_KEY_ID": "AK",
    "AWS_SECRET_ACCESS_KEY": "S3CR3T",
    "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9000",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
}


@pytest.fixture
def connection():
    return SimpleNamespace(login="AK", password="S3CR3T", extra_dejson=CONNECTION["extra"])


@pytest.fixture
def object_store(monkeypatch):
    monkeypatch.setenv("DASKPERF_STORE", "s3://perf/ledger")
    for name in EXPECTED:
        monkeypatch.delenv(name, raising=False)


def test_a_connection_becomes_variables_and_client_options(connection):
    assert aws_environment(connection) == EXPECTED
    assert client_options(connection) == {
        "aws_access_key_id": "AK",
        "aws_secret_access_key": "S3CR3T",
        "endpoint_url": "http://127.0.0.1:9000",
        "region_name": "us-east-1",
    }


def test_a_stage_sees_the_credentials_and_nothing_after_it_does(object_store, monkeypatch, caplog):
    monkeypatch.setenv("AIRFLOW_CONN_DASKPERF_STORE", json.dumps(CONNECTION))
    seen = {}
    caplog.set_level("DEBUG")

    def stage(settings):
        seen.update({name: os.environ.get(name) for name in EXPECTED})
        return {}

    bodies.run_stage("publish", stage)
    assert seen == EXPECTED
    assert not set(EXPECTED) & set(os.environ)
    assert "S3CR3T" not in caplog.text


def test_what_was_set_before_comes_back(object_store, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_DASKPERF_STORE", json.dumps(CONNECTION))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    with pytest.raises(RuntimeError), store_environment(read_settings()):
        assert os.environ["AWS_ACCESS_KEY_ID"] == "AK"
        raise RuntimeError
    assert os.environ["AWS_ACCESS_KEY_ID"] == "mine"


def test_without_a_connection_the_environment_is_left_alone(object_store, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_DASKPERF_STORE", raising=False)
    before = dict(os.environ)
    with store_environment(read_settings()):
        assert dict(os.environ) == before
    assert server_client_options(read_settings()) == {}


def test_the_web_server_takes_the_same_connection(object_store, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_DASKPERF_STORE", json.dumps(CONNECTION))
    assert server_client_options(read_settings())["aws_access_key_id"] == "AK"
    monkeypatch.setenv("DASKPERF_STORE", "file:///srv/ledger")
    monkeypatch.setenv("DASKPERF_WHEELS", "/srv/wheels")
    assert server_client_options(read_settings()) == {}


@pytest.mark.parametrize(
    "error",
    [
        errors.MatrixError("m"),
        errors.WheelError("m"),
        errors.DeployError("m"),
        errors.CorrectnessError("m"),
        errors.PreflightBlocked("m"),
        errors.ValidationFailed("m"),
        errors.GateRed("m"),
        errors.HarnessError("m"),
    ],
)
def test_what_waiting_does_not_mend_is_not_tried_again(error):
    def stage(settings):
        raise error

    with pytest.raises(AirflowFailException, match="m") as caught:
        bodies.run_stage("deploy", stage)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [errors.ClusterError("m"), errors.StoreError("m"), errors.LaneBusyError("m")]
)
def test_what_may_pass_is_left_to_retries(error):
    def stage(settings):
        raise error

    with pytest.raises(type(error)):
        bodies.run_stage("deploy", stage)


def test_the_log_tells_the_facts(caplog):
    caplog.set_level("INFO")
    bodies.run_stage("measure", lambda settings: {"valid": 4, "hosts": ["a", "b"]})
    assert "measure: valid = 4" in caplog.text
    assert "measure: hosts = a, b" in caplog.text


def test_troubles_say_what_happened():
    states = {
        "start": "success",
        "preflight": "failed",
        "measure": "upstream_failed",
        "restore": "skipped",
        "notify": None,
        "publish": "running",
        "gate": "running",
    }
    assert bodies.troubles(states) == [
        "preflight failed; its log says why",
        "measure did not run, because an earlier task failed",
        "restore was left out",
        "notify did not run",
        "publish is running",
    ]
