import asyncio
from urllib.parse import unquote

import pytest
from fastapi import Depends, HTTPException
from fastapi.testclient import TestClient

from daskperf_tasks.browse.app import make_app
from daskperf_tasks.errors import StoreError
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.results import FileEntry
from daskperf_tasks.store.keys import run_key
from tests.browse.ledger import BROKEN, GOING, GOOD, HOSTILE, RED, filled, manifest


@pytest.fixture
def store(tmp_path):
    return filled(tmp_path / "store")


@pytest.fixture
def client(store):
    return TestClient(make_app(lambda: store), raise_server_exceptions=False)


def raw_status(app, raw_path: str) -> int:
    """Ask with a path as it is: clients tidy paths up before they send them."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(raw_path),
        "raw_path": raw_path.encode(),
        "query_string": b"",
        "headers": [],
        "root_path": "",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"]


def test_the_list_shows_every_run_newest_first(client):
    page = client.get("/")
    assert page.status_code == 200
    places = [page.text.index(run) for run in (GOING, GOOD, RED, BROKEN)]
    assert places == sorted(places)
    for text in ("complete, green", "failed, red", "in progress", "loopback", "nightly"):
        assert text in page.text


def test_an_empty_store_says_so(tmp_path):
    from daskperf_tasks.store.filesystem import FilesystemStore

    app = make_app(lambda: FilesystemStore(tmp_path / "none"))
    assert "No run has been published" in TestClient(app).get("/").text


def test_a_run_shows_its_report_in_a_sandbox_and_its_artifacts(client):
    page = client.get(f"/runs/{GOOD}")
    assert page.status_code == 200
    src = f'src="/runs/{GOOD}/files/report.html"'
    assert f'<iframe sandbox="allow-scripts" {src}' in page.text
    assert f'href="/runs/{GOOD}/files/local/samples.parquet"' in page.text
    assert "12 measured, 0 failed, 0 missing" in page.text
    assert client.get(f"/runs/{GOOD}/files/local/samples.parquet").content == b"PAR1"


def test_a_run_in_progress_and_a_broken_one_can_be_looked_at(client):
    assert "no manifest yet" in client.get(f"/runs/{GOING}").text
    assert client.get(f"/runs/{GOING}/files/notes.md").content == b"# so far"
    broken = client.get(f"/runs/{BROKEN}").text
    assert "the manifest cannot be read" in broken
    assert "failed, red" in broken


def test_links_follow_the_place_where_it_is_mounted(store):
    client = TestClient(make_app(lambda: store), root_path="/base/daskperf")
    page = client.get("/").text
    assert f'href="/base/daskperf/runs/{GOOD}"' in page
    assert 'href="/base/daskperf/style.css"' in page
    run = client.get(f"/runs/{GOOD}").text
    assert f'src="/base/daskperf/runs/{GOOD}/files/report.html"' in run


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("report.html", "text/html; charset=utf-8", "inline"),
        ("local/summary.json", "application/json", "inline"),
        ("local/samples.parquet", "application/vnd.apache.parquet", "attachment"),
        ("manifest.json", "application/json", "inline"),
    ],
)
def test_artifacts_are_served_inert(client, name, kind, shown):
    answer = client.get(f"/runs/{GOOD}/files/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-security-policy"] == "sandbox allow-scripts"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith(shown)


@pytest.mark.parametrize("path", ["/", f"/runs/{GOOD}", "/runs/none", "/nothing"])
def test_pages_run_no_scripts(client, path):
    answer = client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_style_sheet_is_one(client):
    answer = client.get("/style.css")
    assert answer.headers["content-type"].startswith("text/css")
    assert "prefers-color-scheme" in answer.text or "light-dark(" in answer.text


def test_hostile_names_stay_text(client):
    pages = (client.get("/"), client.get(f"/runs/{RED}"))
    for page in pages:
        assert HOSTILE not in page.text
        assert "&lt;script&gt;" in page.text
    name = HOSTILE.replace("/", "-").replace("<", "%3C").replace(">", "%3E") + ".txt"
    assert f"/runs/{RED}/files/{name}" in pages[1].text.replace("%28", "(").replace("%29", ")")
    answer = client.get(f"/runs/{RED}/files/{name}")
    assert answer.content == b"x"
    assert "<" not in answer.headers["content-disposition"]


@pytest.mark.parametrize("run_id", ["none", "<b>x</b>", "20261130T010203Z-aaaaaa", "%00"])
def test_unknown_runs_are_not_found(client, run_id):
    answer = client.get(f"/runs/{run_id}")
    assert answer.status_code == 404
    assert "<b>" not in answer.text


@pytest.mark.parametrize(
    "name",
    [
        "../../wheels/secret.whl",
        "..%2f..%2fwheels%2fsecret.whl",
        "%2e%2e/%2e%2e/wheels/secret.whl",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "local//summary.json",
        "local/./summary.json",
        "local\\summary.json",
        "%5c..%5csecret",
        "report.html%00.txt",
        ".hidden",
        "unlisted.txt",
        "nothing.html",
        "local",
        "",
        "a" * 5000,
    ],
)
def test_only_the_runs_own_artifacts_can_be_had(store, name):
    assert raw_status(make_app(lambda: store), f"/runs/{GOOD}/files/{name}") == 404


@pytest.mark.parametrize(
    "path", [f"/runs/..%2f..%2fwheels/files/{GOOD}", "/runs/../wheels", f"/runs//{GOOD}"]
)
def test_run_ids_are_no_paths(store, path):
    assert raw_status(make_app(lambda: store), path) == 404


def test_a_manifest_cannot_lead_out_of_its_run(store):
    outside = "../../wheels/secret.whl"
    entry = FileEntry(key=outside, size_bytes=1, sha256="0" * 64)
    forged = manifest("20261127T010203Z-616263", [entry])
    store.put(run_key(forged.run_id, "manifest.json"), dumps(forged).encode())
    path = f"/runs/{forged.run_id}/files/{outside}"
    assert raw_status(make_app(lambda: store), path) == 404


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_it_only_reads(client, method):
    for path in ("/", f"/runs/{GOOD}", f"/runs/{GOOD}/files/report.html"):
        assert getattr(client, method)(path).status_code == 405


def test_a_store_that_does_not_answer_is_said_in_words():
    def unreachable():
        raise StoreError("the store does not answer", where="http://127.0.0.1:1", todo="wait")

    answer = TestClient(make_app(unreachable), raise_server_exceptions=False).get("/")
    assert answer.status_code == 503
    assert "the store does not answer" in answer.text


def test_a_browser_that_has_not_signed_in_is_sent_to_the_sign_in(store):
    def nobody():
        raise HTTPException(401, "sign in first")

    app = make_app(
        lambda: store,
        dependencies=[Depends(nobody)],
        sign_in=lambda request: f"/login?next={request.url.path}",
    )
    client = TestClient(app, follow_redirects=False)
    answer = client.get(f"/runs/{GOOD}", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (307, f"/login?next=/runs/{GOOD}")
    assert client.get("/", headers={"accept": "application/json"}).status_code == 401
    assert client.get("/style.css").status_code == 401
    assert client.get(f"/runs/{GOOD}/files/report.html").status_code == 401


def test_raw_artifacts_are_folded_below_the_important_ones(store, client):
    run_id = "20261126T010203Z-616263"
    names = [f"blocks/c{i}/subject-r0-a1.json" for i in range(3)]
    names += ["logs/round-0.log", "plan.json", "local/timeline.html", "notes.md", "report.html"]
    for name in names:
        store.put(run_key(run_id, *name.split("/")), b"x" * 1024)
    entries = [FileEntry(key=n, size_bytes=1024, sha256=f"{i:064x}") for i, n in enumerate(names)]
    store.put(run_key(run_id, "manifest.json"), dumps(manifest(run_id, entries)).encode())
    text = client.get(f"/runs/{run_id}").text
    table = text[text.index('id="artifacts"') :]
    order = ["report.html", "notes.md", "local/timeline.html", "manifest.json", "plan.json"]
    places = [table.index(f">{name}</a>") for name in order]
    assert places == sorted(places)
    assert places[-1] < table.index("<details>") < table.index(f">{names[0]}</a>")
    assert "<details open" not in table
    assert "<code>blocks/</code> 3 raw files, 3.0 KiB" in table
    assert "<code>logs/</code> 1 raw file, 1.0 KiB" in table
    # Shown cut by the style sheet; whole for those who copy it.
    assert f'title="{1:064x}">{1:064x}</code>' in table
    assert f'<a class="main" href="/runs/{run_id}/files/report.html">' in text
    for name in names:
        assert client.get(f"/runs/{run_id}/files/{name}").content == b"x" * 1024


def test_a_run_in_progress_folds_its_raw_files_too(store, client):
    store.put(run_key(GOING, "streams", "a.parquet"), b"PAR1")
    text = client.get(f"/runs/{GOING}").text
    assert "<code>streams/</code> 1 raw file, 4 B" in text
    assert "There is no report yet" in text
