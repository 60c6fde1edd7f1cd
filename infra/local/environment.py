"""Environment variables: for those who use the stack, and for its own processes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from daskperf_tasks.errors import StackError

from .ports import LOOPBACK
from .secret_files import ADMIN, VIEWER, Secrets, load_secrets
from .state import BUCKET, HOME_VARIABLE, Layout, find_layout, load_state

REGION = "us-east-1"

#: Settings of other installations, which would change what the stack does.
_FOREIGN = ("AIRFLOW", "AWS_", "DASK_", "RCLONE_", "DASKPERF_STACK", "DASKPERF_SERVICE")
_KEPT_FOR_AIRFLOW = ("AIRFLOW_CONN_", "AIRFLOW_VAR_")
#: What a person sets for the chain, for instance where to notify.
_OWN = (*_KEPT_FOR_AIRFLOW, "DASKPERF_")


def stack_env(home: Path | str | None = None) -> dict[str, str]:
    """Variables with which the command line and tests reach a stack.

    Contains the object store's keys and Airflow's admin password file: never
    print it.

    Raises
    ------
    StackError
        The stack was never started.
    """
    layout = find_layout(home)
    if not layout.stack_file.exists():
        raise StackError(
            "there is no stack yet",
            where=str(layout.home),
            todo="run `daskperf lane up` (or `make up`)",
        )
    return store_environment(layout, load_state(layout).ports, load_secrets(layout))


def store_environment(layout: Layout, ports: Mapping[str, int], secrets: Secrets) -> dict[str, str]:
    """Where store, lane, wheels and Airflow are, for a given set of ports."""
    return {
        HOME_VARIABLE: str(layout.home),
        "DASKPERF_STORE": f"s3://{BUCKET}/ledger",
        "DASKPERF_LANE": str(layout.lane_file),
        "DASKPERF_WHEELS": str(layout.wheels),
        "DASKPERF_SPOOL": str(layout.home / "spool"),
        "DASKPERF_AIRFLOW_URL": f"http://{LOOPBACK}:{ports['airflow-web']}",
        "DASKPERF_AIRFLOW_USER": ADMIN,
        "DASKPERF_AIRFLOW_PASSWORDS": str(layout.passwords_file),
        "AWS_ENDPOINT_URL_S3": object_server_url(ports),
        "AWS_ACCESS_KEY_ID": secrets.s3_access_key,
        "AWS_SECRET_ACCESS_KEY": secrets.s3_secret_key,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        # The object server mishandles botocore's newer default checksums.
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
    }


def object_server_url(ports: Mapping[str, int]) -> str:
    """Address of the object server."""
    return f"http://{LOOPBACK}:{ports['object-server']}"


def inherited(*, airflow: bool) -> dict[str, str]:
    """What services take over from this process: its environment less foreign settings.

    Airflow keeps ``AIRFLOW_CONN_*`` and ``AIRFLOW_VAR_*``, which is how a person
    gives it a notification channel.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN) or (airflow and name.startswith(_KEPT_FOR_AIRFLOW))
    }
    # Without compiled files each of Airflow's processes spends 5 CPU-s more on imports.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    kept["PYTHONUNBUFFERED"] = "1"
    # Process titles must not overwrite the environment, which holds our marker.
    kept["SPT_NOENV"] = "1"
    for name in ("no_proxy", "NO_PROXY"):
        hosts = [kept[name]] if kept.get(name) else []
        kept[name] = ",".join([*hosts, LOOPBACK, "localhost"])
    return kept


def digests_of_own(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Digests of what a person set for the chain, by name; the values may be secret.

    Parameters
    ----------
    environment
        The whole environment of a service.
    settings
        The part of it that the stack sets.
    """
    return {
        name: hashlib.sha256(value.encode()).hexdigest()
        for name, value in environment.items()
        if name.startswith(_OWN) and name not in settings
    }


#: Libraries that bring threads of their own leave them off: threads are Dask's to give.
SINGLE_THREADED = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)


def airflow_environment(
    layout: Layout, ports: Mapping[str, int], secrets: Secrets
) -> dict[str, str]:
    """Settings of all Airflow processes; the same for each, secrets included."""
    home = layout.airflow
    web = f"http://{LOOPBACK}:{ports['airflow-web']}"
    connection = {
        "conn_type": "aws",
        "login": secrets.s3_access_key,
        "password": secrets.s3_secret_key,
        "extra": {
            "endpoint_url": object_server_url(ports),
            "region_name": REGION,
            "config_kwargs": {
                "signature_version": "s3v4",
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
                "s3": {"addressing_style": "path"},
            },
        },
    }
    sections: dict[str, dict[str, str]] = {
        "CORE": {
            "DAGS_FOLDER": str(layout.checkout / "dags"),
            "PLUGINS_FOLDER": str(layout.checkout / "plugins"),
            "LOAD_EXAMPLES": "False",
            "EXECUTOR": "LocalExecutor",
            "PARALLELISM": "2",
            "FERNET_KEY": secrets.fernet_key,
            "EXECUTION_API_SERVER_URL": f"{web}/execution/",
            "SIMPLE_AUTH_MANAGER_USERS": f"{ADMIN}:admin,{VIEWER}:viewer",
            "SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(layout.passwords_file),
            "HOSTNAME_CALLABLE": "daskperf_infra.local.task_log_answers.host",
        },
        "DATABASE": {"SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}"},
        "API": {
            "HOST": LOOPBACK,
            "PORT": str(ports["airflow-web"]),
            "BASE_URL": web,
            "WORKERS": "1",
            "SECRET_KEY": secrets.api_secret_key,
        },
        "API_AUTH": {"JWT_SECRET": secrets.jwt_secret},
        "DAG_PROCESSOR": {"REFRESH_INTERVAL": "10", "PARSING_PROCESSES": "1"},
        "LOGGING": {
            "BASE_LOG_FOLDER": str(home / "logs"),
            "DAG_PROCESSOR_CHILD_PROCESS_LOG_DIRECTORY": str(home / "logs" / "dag_processor"),
            "WORKER_LOG_SERVER_PORT": str(ports["airflow-task-logs"]),
            "TRIGGER_LOG_SERVER_PORT": str(ports["airflow-task-logs"]),
        },
        "SCHEDULER": {"ENABLE_HEALTH_CHECK": "False"},
        "USAGE_DATA_COLLECTION": {"ENABLED": "False"},
    }
    settings = {
        f"AIRFLOW__{section}__{key}": value
        for section, entries in sections.items()
        for key, value in entries.items()
    }
    return {
        "AIRFLOW_HOME": str(home),
        **settings,
        "AIRFLOW_CONN_DASKPERF_STORE": json.dumps(connection),
        **store_environment(layout, ports, secrets),
    }
