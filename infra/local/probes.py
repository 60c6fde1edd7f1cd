"""Is a service fit for use? Each probe gives None, or what is still wanting."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from .ports import LOOPBACK

#: From the start of the service (seconds since the epoch) to what is wanting.
Probe = Callable[[float], str | None]

_TIMEOUT_S = 3.0
#: rclone takes an unsigned request for a malformed one (400).
_REFUSALS = (400, 401, 403)
#: Loopback is never reached through a proxy, whatever the environment says.
_OPENER = build_opener(ProxyHandler({}))


def fetch(url: str, *, timeout_s: float = _TIMEOUT_S) -> tuple[int, bytes]:
    """Status and body of a GET request.

    Raises
    ------
    OSError
        Nobody answered.
    """
    try:
        with _OPENER.open(Request(url), timeout=timeout_s) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


def _fetch_json(url: str) -> tuple[Any, str | None]:
    try:
        status, body = fetch(url)
    except (URLError, OSError) as error:
        return None, f"{url}: {getattr(error, 'reason', error)}"
    if status != 200:
        return None, f"{url} answers {status}"
    try:
        return json.loads(body), None
    except ValueError:
        return None, f"{url} does not answer with JSON"


def object_server(url: str) -> Probe:
    """It answers, and refuses those who bring no key."""

    def probe(_: float) -> str | None:
        try:
            status, body = fetch(url)
        except (URLError, OSError) as error:
            return f"{url}: {getattr(error, 'reason', error)}"
        if status in _REFUSALS and b"<Error>" in body:
            return None
        return f"{url} answers {status} where it should refuse"

    return probe


def listens(port: int) -> Probe:
    """Somebody accepts connections on the port."""

    def probe(_: float) -> str | None:
        try:
            with socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_S):
                return None
        except OSError as error:
            return f"port {port}: {error}"

    return probe


def dask_scheduler(port: int, dashboard: str) -> Probe:
    """The dashboard answers for the scheduler that listens on the port."""

    def probe(_: float) -> str | None:
        identity, wanting = _fetch_json(f"{dashboard}/json/identity.json")
        if wanting:
            return wanting
        if not str(identity.get("address", "")).endswith(f":{port}"):
            return f"{dashboard} belongs to the scheduler at {identity.get('address')}"
        return None

    return probe


def dask_worker(name: str, dashboard: str) -> Probe:
    """The scheduler has a running worker of this name."""

    def probe(_: float) -> str | None:
        identity, wanting = _fetch_json(f"{dashboard}/json/identity.json")
        if wanting:
            return wanting
        for worker in identity["workers"].values():
            if worker["name"] == name:
                status = worker["status"]
                return None if status == "running" else f"worker {name} is {status}"
        return f"the scheduler has no worker {name}"

    return probe


def airflow_web(url: str) -> Probe:
    """The web server answers and reaches its database."""

    def probe(_: float) -> str | None:
        health, wanting = _fetch_json(f"{url}/api/v2/monitor/health")
        if wanting:
            return wanting
        status = health["metadatabase"]["status"]
        return None if status == "healthy" else f"the metadata database is {status}"

    return probe


def airflow_component(url: str, component: str) -> Probe:
    """The component's heartbeat is in the database, and not from an earlier life."""

    def probe(started_s: float) -> str | None:
        health, wanting = _fetch_json(f"{url}/api/v2/monitor/health")
        if wanting:
            return wanting
        report = health.get(component) or {}
        beat = report.get(f"latest_{component}_heartbeat")
        if not beat:
            return f"no heartbeat of the {component} yet"
        if datetime.fromisoformat(beat).timestamp() < started_s:
            return f"no heartbeat of the {component} since it was started"
        status = report.get("status")
        return None if status == "healthy" else f"the {component} is {status}"

    return probe
