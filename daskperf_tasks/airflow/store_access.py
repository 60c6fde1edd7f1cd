"""Credentials of the artifact store, from the Airflow connection ``daskperf_store``.

The connection is of type ``aws``: login and password are the keys, the extra
may hold ``endpoint_url``, ``region_name`` and boto3's ``config_kwargs``.
Without the connection boto3 finds its credentials as it always does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from daskperf_tasks.settings import Settings

CONNECTION_ID = "daskperf_store"

log = logging.getLogger(__name__)

_CONFIG_VARIABLES = {
    "request_checksum_calculation": "AWS_REQUEST_CHECKSUM_CALCULATION",
    "response_checksum_validation": "AWS_RESPONSE_CHECKSUM_VALIDATION",
}


class AwsConnection(Protocol):
    """What is read of an Airflow connection."""

    login: str | None
    password: str | None

    @property
    def extra_dejson(self) -> Mapping[str, Any]:
        """The extra as a mapping."""


def aws_environment(connection: AwsConnection) -> dict[str, str]:
    """Return the ``AWS_*`` variables that say the same as a connection.

    Never log the result: it holds the secret key.
    """
    extra = connection.extra_dejson
    config = extra.get("config_kwargs") or {}
    found = {
        "AWS_ACCESS_KEY_ID": connection.login,
        "AWS_SECRET_ACCESS_KEY": connection.password,
        "AWS_SESSION_TOKEN": extra.get("aws_session_token"),
        "AWS_ENDPOINT_URL_S3": extra.get("endpoint_url"),
        "AWS_DEFAULT_REGION": extra.get("region_name"),
        **{variable: config.get(name) for name, variable in _CONFIG_VARIABLES.items()},
    }
    return {name: str(value) for name, value in found.items() if value}


def client_options(connection: AwsConnection) -> dict[str, Any]:
    """Return the arguments of a boto3 client that say the same as a connection."""
    extra = connection.extra_dejson
    found = {
        "aws_access_key_id": connection.login,
        "aws_secret_access_key": connection.password,
        "aws_session_token": extra.get("aws_session_token"),
        "endpoint_url": extra.get("endpoint_url"),
        "region_name": extra.get("region_name"),
    }
    return {name: value for name, value in found.items() if value}


def server_client_options(settings: Settings) -> dict[str, Any]:
    """Return the client's arguments for Airflow's web server, whose environment is shared."""
    from airflow.exceptions import AirflowNotFoundException
    from airflow.models.connection import Connection

    if not needs_credentials(settings):
        return {}
    try:
        return client_options(Connection.get_connection_from_secrets(CONNECTION_ID))
    except AirflowNotFoundException:
        return {}


def needs_credentials(settings: Settings) -> bool:
    """Whether the store or the wheel source is an object store."""
    return any(url.startswith("s3://") for url in (settings.store, settings.wheels))


@contextmanager
def store_environment(settings: Settings) -> Iterator[None]:
    """Give this process the store's credentials for the time of a stage."""
    added = _connection_environment() if needs_credentials(settings) else {}
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _connection_environment() -> dict[str, str]:
    from airflow.exceptions import AirflowNotFoundException
    from airflow.sdk import Connection

    try:
        connection = Connection.get(CONNECTION_ID)
    except AirflowNotFoundException:
        log.info(
            "no Airflow connection %s: the store's credentials come from the environment",
            CONNECTION_ID,
        )
        return {}
    return aws_environment(connection)
