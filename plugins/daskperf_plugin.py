"""Registers the browser and the links. Airflow imports this in every process: nothing heavy."""

import threading

from airflow.plugins_manager import AirflowPlugin

from daskperf_tasks.airflow.links import PREFIX, RunLink


class LazyApp:
    """The browser's ASGI application, made at the first request: only the web server has one."""

    def __init__(self) -> None:
        self._app = None
        self._lock = threading.Lock()

    async def __call__(self, scope, receive, send) -> None:
        """Hand a request on."""
        await self.app()(scope, receive, send)

    def app(self):
        """Return the application behind."""
        with self._lock:
            if self._app is None:
                from daskperf_tasks.airflow.web import web_app

                self._app = web_app()
        return self._app


class DaskperfPlugin(AirflowPlugin):
    """The daskperf browser below Airflow's web server."""

    name = "daskperf"
    fastapi_apps = [{"app": LazyApp(), "url_prefix": PREFIX, "name": "daskperf"}]  # noqa: RUF012
    # Relative, with the slash at the end: right below a base URL with a path, too.
    external_views = [  # noqa: RUF012
        {"name": "daskperf", "href": f"{PREFIX.lstrip('/')}/", "destination": "nav"}
    ]
    global_operator_extra_links = [RunLink()]  # noqa: RUF012
