from __future__ import annotations

from pathlib import Path

import pytest

from daskperf_tasks.errors import InputError
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.s3 import S3Store


@pytest.mark.parametrize(
    "url", ["file:///srv/my%20runs", "/srv/my runs", "file://localhost/srv/my%20runs"]
)
def test_a_folder_by_url_or_path(url: str) -> None:
    store = open_store(url)
    assert isinstance(store, FilesystemStore)
    assert store.root == Path("/srv/my runs")
    assert store.url == "file:///srv/my%20runs"


def test_a_path_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert open_store("~/runs").url == "file:///home/somebody/runs"


@pytest.mark.parametrize(
    ("url", "prefix"),
    [("s3://perf", ""), ("s3://perf/", ""), ("s3://perf/a/b/", "a/b/"), ("s3://perf/a", "a/")],
)
def test_a_bucket_with_and_without_a_prefix(url: str, prefix: str) -> None:
    store = open_store(url)
    assert isinstance(store, S3Store)
    assert (store.bucket, store.prefix) == ("perf", prefix)
    assert store.url == url.rstrip("/")


@pytest.mark.parametrize("url", ["", "  ", "s3://", "http://host/x", "file://host/x", "gs://b/x"])
def test_what_is_no_store_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="not the URL of an artifact store") as caught:
        open_store(url)
    assert "s3://bucket/prefix" in str(caught.value)


def test_credentials_in_a_url_are_refused_and_not_shown() -> None:
    with pytest.raises(InputError, match="must not carry credentials") as caught:
        open_store("s3://AKIDEXAMPLE:wJalrXUtnFEMI@perf/ledger")
    assert "wJalrXUtnFEMI" not in str(caught.value)
    assert "AKIDEXAMPLE" not in str(caught.value)
    assert "perf/ledger" in str(caught.value)
