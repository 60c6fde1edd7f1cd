"""A real Airflow on a database of its own, set up before the first import of Airflow."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="daskperf-airflow-"))
os.environ.update(
    {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,viewer:viewer",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(HOME / "passwords.json"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME / 'airflow.db'}",
        "AIRFLOW__API_AUTH__JWT_SECRET": "for-these-tests-only-" * 4,
        "AIRFLOW__API__SECRET_KEY": "for-these-tests-only-too",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }
)
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session", autouse=True)
def airflow_home() -> Iterator[Path]:
    from airflow.utils.db import initdb

    initdb()
    yield HOME
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(autouse=True)
def state_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("DASKPERF_HOME", str(tmp_path / "daskperf"))
    for name in ("DASKPERF_STORE", "DASKPERF_WHEELS", "DASKPERF_LANE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def dag_bag(airflow_home):
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(str(ROOT / "dags"))
