"""From a URL to a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from daskperf_tasks.errors import InputError
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.protocol import ArtifactStore


def open_store(url: str, *, client_options: Mapping[str, Any] | None = None) -> ArtifactStore:
    """Return the store at ``url``; nothing is touched before its first use.

    Parameters
    ----------
    url
        ``file:///folder``, the path of a folder, or ``s3://bucket/prefix``.
    client_options
        For S3: endpoint, region and keys, where they are not to come from the
        environment.

    Raises
    ------
    InputError
        When it is none of these, or carries a password.

    Examples
    --------
    >>> open_store("s3://perf/ledger").url
    's3://perf/ledger'
    >>> open_store("/srv/ledger").url
    'file:///srv/ledger'
    """
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise InputError(
            "the URL of an artifact store must not carry credentials",
            where=f"{parts.scheme}://...@{parts.netloc.rpartition('@')[2]}{parts.path}",
            todo="put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or an "
            "Airflow connection",
        )
    if parts.scheme == "s3":
        if not parts.netloc:
            raise _unknown(url)
        from daskperf_tasks.store.s3 import S3Store

        return S3Store(parts.netloc, unquote(parts.path), client_options=client_options)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise _unknown(url)
        return FilesystemStore(unquote(parts.path))
    if "://" in url or not url.strip():
        raise _unknown(url)
    return FilesystemStore(Path(url).expanduser())


def _unknown(url: str) -> InputError:
    return InputError(
        "not the URL of an artifact store",
        expected="file:///folder, the path of a folder, or s3://bucket/prefix",
        found=repr(url[:200]),
    )
