"""The application below Airflow's web server, for those whom Airflow lets look at plugins."""

from collections.abc import Callable

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import requires_access_view
from fastapi import Depends, FastAPI, Request

from daskperf_tasks.browse.app import make_app
from daskperf_tasks.store.protocol import ArtifactStore


def airflow_app(open_ledger: Callable[[], ArtifactStore]) -> FastAPI:
    """Make the application with Airflow's sign-in in front of every route.

    A plugin's application is open to everybody unless it asks itself.

    Parameters
    ----------
    open_ledger
        Gives the store; called for each request that needs it.
    """
    return make_app(
        open_ledger,
        dependencies=[Depends(requires_access_view(AccessView.PLUGINS))],
        sign_in=_sign_in,
    )


def _sign_in(request: Request) -> str:
    return str(get_auth_manager().get_url_login(next_url=str(request.url)))
