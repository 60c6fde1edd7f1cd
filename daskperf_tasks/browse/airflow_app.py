"""The application below Airflow's web server, for those whom Airflow lets look at plugins."""

import functools
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from fastapi import Depends, FastAPI, Request

from daskperf_tasks.airflow.store_access import server_client_options
from daskperf_tasks.browse.app import make_app
from daskperf_tasks.settings import read_settings
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore


def airflow_app() -> FastAPI:
    """Make the application with Airflow's sign-in in front of every route.

    A plugin's application is open to everybody unless it asks itself.
    """
    return make_app(
        _ledger,
        dependencies=[Depends(requires_access_view(AccessView.PLUGINS))],
        sign_in=_sign_in,
    )


@functools.lru_cache(maxsize=1)
def _ledger() -> ArtifactStore:
    settings = read_settings()
    options: dict[str, Any] | None = server_client_options(settings) or None
    return open_store(settings.store, client_options=options)


def _sign_in(request: Request) -> str:
    return str(get_auth_manager().get_url_login(next_url=str(request.url)))
