"""The application: three kinds of pages, rendered on the server, nothing to click but links."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from daskperf_tasks.browse.content import COMMON_HEADERS, PAGE_POLICY, artifact_headers
from daskperf_tasks.browse.pages import render
from daskperf_tasks.browse.run_view import read_artifact, read_run
from daskperf_tasks.errors import DaskperfError, InfraError, UnknownRunError
from daskperf_tasks.store.protocol import ArtifactStore, NoSuchKey
from daskperf_tasks.store.runs import list_runs

_STYLE = Path(__file__).with_name("style.css")


def make_app(
    open_ledger: Callable[[], ArtifactStore],
    *,
    dependencies: Sequence[Any] = (),
    sign_in: Callable[[Request], str] | None = None,
) -> FastAPI:
    """Make the application.

    Parameters
    ----------
    open_ledger
        Gives the store; called for each request that needs it.
    dependencies
        FastAPI dependencies of every route (who may look).
    sign_in
        Gives the address of the sign-in page, where a browser is sent that
        has not signed in.
    """
    app = FastAPI(
        title="daskperf",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=list(dependencies),
    )

    @app.get("/")
    def runs(request: Request) -> Response:
        store = open_ledger()
        return _page(request, "runs.html.j2", runs=list_runs(store), store=store.url)

    @app.get("/style.css")
    def style() -> Response:
        return Response(_STYLE.read_bytes(), media_type="text/css", headers=COMMON_HEADERS)

    @app.get("/runs/{run_id}")
    def run(request: Request, run_id: str) -> Response:
        return _page(request, "run.html.j2", run=read_run(open_ledger(), run_id))

    @app.get("/runs/{run_id}/files/{name:path}")
    def artifact(run_id: str, name: str) -> Response:
        data = read_artifact(open_ledger(), run_id, name)
        return Response(data, headers=artifact_headers(name))

    @app.exception_handler(DaskperfError)
    def failed(request: Request, err: DaskperfError) -> Response:
        return _page(request, "error.html.j2", status=_status_of(err), text=str(err))

    @app.exception_handler(StarletteHTTPException)
    def refused(request: Request, err: HTTPException) -> Response:
        wants_page = "text/html" in request.headers.get("accept", "")
        if err.status_code == 401 and sign_in is not None and wants_page:
            return Response(status_code=307, headers={"Location": sign_in(request)})
        return _page(
            request, "error.html.j2", status=err.status_code, text=str(err.detail), keep=err.headers
        )

    return app


def _status_of(err: DaskperfError) -> int:
    if isinstance(err, UnknownRunError | NoSuchKey):
        return 404
    return 503 if isinstance(err, InfraError) else 500


def _page(
    request: Request, template: str, *, status: int = 200, keep: Any = None, **values: Any
) -> Response:
    root = request.scope.get("root_path", "").rstrip("/")
    return Response(
        render(template, root=root, status=status, **values),
        status_code=status,
        media_type="text/html",
        headers={**(keep or {}), **COMMON_HEADERS, "Content-Security-Policy": PAGE_POLICY},
    )
