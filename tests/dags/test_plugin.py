"""The browser below a real Airflow web server, behind its real sign-in."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.browse.ledger import GOOD, filled

PATHS = ("/", "/style.css", f"/runs/{GOOD}", f"/runs/{GOOD}/files/report.html", "/runs/none")


@pytest.fixture(scope="module")
def web(airflow_home):
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    return TestClient(create_app(apps="core"), base_url="http://localhost", follow_redirects=False)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    from daskperf_tasks.airflow import web

    monkeypatch.setenv("DASKPERF_STORE", (tmp_path / "store").as_uri())
    web.ledger.cache_clear()
    yield filled(tmp_path / "store")
    web.ledger.cache_clear()


def bearer(name: str) -> dict[str, str]:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username=name, role=name)
    return {"authorization": f"Bearer {get_auth_manager().generate_jwt(user)}"}


@pytest.mark.parametrize("path", PATHS)
def test_nobody_looks_without_signing_in(web, ledger, path):
    assert web.get(f"/daskperf{path}").status_code == 401


@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_token_is_refused(web, ledger, path):
    wrong = {"authorization": "Bearer not.a.token"}
    assert web.get(f"/daskperf{path}", headers=wrong).status_code == 403


@pytest.mark.parametrize("name", ["viewer", "admin"])
def test_who_has_signed_in_may_look(web, ledger, name):
    runs = web.get("/daskperf/", headers=bearer(name))
    assert runs.status_code == 200
    assert f'href="/daskperf/runs/{GOOD}"' in runs.text
    report = web.get(f"/daskperf/runs/{GOOD}/files/report.html", headers=bearer(name))
    assert report.status_code == 200
    assert report.headers["content-security-policy"] == "sandbox allow-scripts"


def test_a_browser_is_sent_to_airflows_sign_in(web, ledger):
    answer = web.get(f"/daskperf/runs/{GOOD}", headers={"accept": "text/html"})
    assert answer.status_code == 307
    assert "/auth/login?next=" in answer.headers["location"]
    assert GOOD in answer.headers["location"]


def test_every_route_asks_who_is_there(airflow_home):
    from fastapi.routing import APIRoute

    from daskperf_tasks.airflow.web import web_app

    app = web_app()
    assert len(app.routes) == 4
    for route in app.routes:
        # Neither mounts nor plain routes: dependencies do not reach them.
        assert isinstance(route, APIRoute), route
        asked = {d.call.__qualname__ for d in route.dependant.dependencies}
        assert "requires_access_view.<locals>.inner" in asked, route.path


def test_the_nav_entry_leads_to_the_browser():
    from airflow import plugins_manager

    views = [v for v in plugins_manager.get_plugin_info() if v["name"] == "daskperf"]
    (plugin,) = views
    (view,) = plugin["external_views"]
    assert (view["name"], view["href"], view["destination"]) == ("daskperf", "daskperf/", "nav")


def test_the_link_leads_to_the_page_of_the_run(dag_bag, monkeypatch):
    from daskperf_tasks.airflow import links

    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://localhost:8080/base")
    monkeypatch.setattr(links, "_run_id_of", lambda dag, run: GOOD if run == "made" else None)
    link = links.RunLink()

    def to(dag_id, run_id):
        return link.get_link(None, ti_key=SimpleNamespace(dag_id=dag_id, run_id=run_id))

    assert to("nightly", "made") == f"http://localhost:8080/base/daskperf/runs/{GOOD}"
    assert to("nightly", "not yet") == ""
    assert to("somebody_elses", "made") == ""


def test_the_link_knows_every_dag(dag_bag):
    from daskperf_tasks.airflow.links import DAG_IDS

    assert set(dag_bag.dags) == DAG_IDS


def test_the_plugin_file_imports_nothing_heavy():
    code = (
        "import sys, daskperf_plugin;"
        "heavy = {'fastapi', 'pandas', 'dask', 'distributed', 'great_expectations', 'boto3',"
        " 'daskperf_tasks.stages', 'daskperf_tasks.airflow.web'};"
        "import airflow.plugins_manager;"
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    before = "import sys, airflow.plugins_manager, airflow.sdk; before = set(sys.modules);"
    plugins = Path(__file__).resolve().parents[2] / "plugins"
    out = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(plugins)!r}); {before}{code}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=plugins.parent,
    )
    assert out.stdout.splitlines()[-1] == "[]"
