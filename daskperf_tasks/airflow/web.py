"""The browser as Airflow's web server runs it: over the store that the settings name."""

from __future__ import annotations

import functools

from fastapi import FastAPI

from daskperf_tasks.airflow.store_access import server_client_options
from daskperf_tasks.browse.airflow_app import airflow_app
from daskperf_tasks.settings import read_settings
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore


def web_app() -> FastAPI:
    """Make the application."""
    return airflow_app(ledger)


@functools.lru_cache(maxsize=1)
def ledger() -> ArtifactStore:
    """Return the store, opened once for the life of the server."""
    settings = read_settings()
    return open_store(settings.store, client_options=server_client_options(settings) or None)
