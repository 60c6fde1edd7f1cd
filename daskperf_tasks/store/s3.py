"""Any S3 as artifact store, through boto3."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from daskperf_tasks.errors import StoreError
from daskperf_tasks.store.keys import check_key, check_prefix
from daskperf_tasks.store.protocol import NoSuchKey, StoredObject, StoreUnreachable
from daskperf_tasks.store.s3_client import make_client, meaning_of, no_answer, without_secrets

T = TypeVar("T")

#: Two tries of 3 s to connect or 4 s to answer, with a pause of at most 1 s.
_FIRST_CONTACT = {"connect_timeout": 3, "read_timeout": 4, "attempts": 2}
#: Once it has answered, a busy store gets more time.
_AFTERWARDS = {"connect_timeout": 2, "read_timeout": 30, "attempts": 3}
_CONDITION_FAILED = {"412", "PreconditionFailed", "409", "ConditionalRequestConflict"}
_CONDITION_UNKNOWN = {"501", "NotImplemented"}


#: Pauses before a read-back is done again: while another publisher replaces an object by
#: the same bytes, some servers give out half of it.
_LOOK_AGAIN_S = (0.1, 0.3, 0.8)


class S3Store:
    """Objects below a prefix of a bucket.

    Parameters
    ----------
    bucket, prefix
        Where the keys are put; the prefix may be empty.
    client_options
        Passed to ``boto3``'s client: ``endpoint_url``, ``region_name``,
        ``aws_access_key_id`` and the like. What is not given comes from the
        environment and the profile, as boto3 does it.

    Notes
    -----
    Checksums are asked for and checked ``when_required`` only: servers that
    are not Amazon's answer ranged reads with a checksum of the whole. The
    ``sha256`` of what is read back is compared instead. ``IfNoneMatch`` is sent
    for the stores that honour it, and nothing relies on it.
    """

    def __init__(
        self, bucket: str, prefix: str = "", *, client_options: Mapping[str, Any] | None = None
    ) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._options = dict(client_options or {})
        self._lock = threading.Lock()
        self._client: Any = None

    def __repr__(self) -> str:
        return f"S3Store({self.url!r})"

    @property
    def url(self) -> str:
        """``s3://bucket/prefix``."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def put(self, key: str, data: bytes, *, replace: bool = False) -> None:
        """Store ``data`` (see :class:`~daskperf_tasks.store.protocol.ArtifactStore`)."""
        name = self._name(key)
        if not replace and self._already(key, data):
            return

        def upload(client: Any, **condition: str) -> None:
            client.put_object(Bucket=self.bucket, Key=name, Body=data, **condition)

        condition = {} if replace else {"IfNoneMatch": "*"}
        try:
            self._call("write", key, lambda c: upload(c, **condition))
        except _Refused as refused:
            if refused.codes & _CONDITION_FAILED and self._already(key, data):
                return
            if not condition or not refused.codes & _CONDITION_UNKNOWN:
                raise refused.error from refused
            self._call("write", key, upload, refuse=False)
        back = self.get(key)
        for pause_s in _LOOK_AGAIN_S:
            if back == data:
                return
            time.sleep(pause_s)
            back = self.get(key)
        if back != data:
            raise StoreError(
                "other bytes came back than were stored",
                where=self._place(key),
                expected=f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}",
                found=f"{len(back)} bytes, sha256 {hashlib.sha256(back).hexdigest()}",
                todo="something else writes there, or the store is broken; publish again",
            )

    def get(self, key: str) -> bytes:
        """Return the bytes (NoSuchKey when there are none)."""
        name = self._name(key)

        def read(client: Any) -> bytes:
            body: bytes = client.get_object(Bucket=self.bucket, Key=name)["Body"].read()
            return body

        return self._call("read", key, read, refuse=False)

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        name = self._name(key)
        try:
            self._call(
                "look up",
                key,
                lambda c: c.head_object(Bucket=self.bucket, Key=name),
                refuse=False,
            )
        except NoSuchKey:
            return False
        return True

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, sorted by key."""
        check_prefix(prefix)
        found: dict[str, StoredObject] = {}
        for page in self._pages(prefix):
            for entry in page.get("Contents", ()):
                key = entry["Key"].removeprefix(self.prefix)
                # A key that ends in / is how some tools mark a folder.
                if not key or key.endswith("/"):
                    continue
                # By key: some servers list an object twice while it is being replaced.
                found[key] = StoredObject(
                    key=key,
                    size_bytes=int(entry["Size"]),
                    modified=entry["LastModified"].timestamp(),
                )
        yield from sorted(found.values(), key=lambda o: o.key)

    def folders(self, prefix: str) -> tuple[str, ...]:
        """Return the sorted names of the folders directly below ``prefix``."""
        check_prefix(prefix)
        start = len(self.prefix + prefix)
        return tuple(
            sorted(
                entry["Prefix"][start:].rstrip("/")
                for page in self._pages(prefix, Delimiter="/")
                for entry in page.get("CommonPrefixes", ())
            )
        )

    def delete(self, key: str) -> None:
        """Remove the object; no error when there is none."""
        name = self._name(key)
        try:
            self._call(
                "delete",
                key,
                lambda c: c.delete_object(Bucket=self.bucket, Key=name),
                refuse=False,
            )
        except StoreUnreachable:
            raise
        except StoreError:
            # Some servers fail on a key that is only a folder of other keys.
            if self.exists(key):
                raise

    def create_bucket(self) -> None:
        """Make the bucket when there is none (for stores of one's own)."""
        try:
            self._call("make a bucket", "", lambda c: c.create_bucket(Bucket=self.bucket))
        except _Refused as refused:
            if not refused.codes & {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}:
                raise refused.error from refused

    @property
    def endpoint(self) -> str:
        """The server's address, without secrets."""
        configured = (
            self._options.get("endpoint_url")
            or os.environ.get("AWS_ENDPOINT_URL_S3")
            or os.environ.get("AWS_ENDPOINT_URL")
        )
        client = self._client
        if client is not None:
            configured = client.meta.endpoint_url
        return without_secrets(configured or "Amazon S3")

    def _name(self, key: str) -> str:
        return self.prefix + check_key(key)

    def _place(self, key: str) -> str:
        return f"s3://{self.bucket}/{self.prefix}{key} at {self.endpoint}"

    def _already(self, key: str, data: bytes) -> bool:
        """Whether the same bytes are there; StoreError when others are."""
        try:
            stored = self.get(key)
        except NoSuchKey:
            return False
        if stored == data:
            return True
        raise StoreError(
            "already written with other content; a raw artifact is never changed",
            where=self._place(key),
            expected=f"sha256 {hashlib.sha256(data).hexdigest()}",
            found=f"sha256 {hashlib.sha256(stored).hexdigest()}",
        )

    def _pages(self, prefix: str, **options: str) -> tuple[dict[str, Any], ...]:
        def read(client: Any) -> tuple[dict[str, Any], ...]:
            pages = client.get_paginator("list_objects_v2")
            return tuple(pages.paginate(Bucket=self.bucket, Prefix=self.prefix + prefix, **options))

        return self._call("list", prefix, read, refuse=False)

    def _call(self, what: str, key: str, action: Callable[[Any], T], *, refuse: bool = True) -> T:
        """Run ``action`` with the client and translate its errors.

        With ``refuse``, an answer that is an error comes as :class:`_Refused`
        for the caller to look at.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return action(self._connected())
        except ClientError as err:
            error, codes = meaning_of(
                err,
                what=what,
                place=self._place(key),
                bucket=self.bucket,
                endpoint=self.endpoint,
            )
            if refuse:
                raise _Refused(codes, error) from err
            raise error from err
        except BotoCoreError as err:
            error = no_answer(err, what=what, place=self._place(key))
            # The next call knocks again with little patience.
            self._client = None
            raise error from err

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                from botocore.exceptions import ClientError

                probe = make_client(self._options, **_FIRST_CONTACT)
                # It answers: what it thinks of the request shows with the real one.
                with contextlib.suppress(ClientError):
                    probe.head_bucket(Bucket=self.bucket)
                self._client = make_client(self._options, **_AFTERWARDS)
            return self._client


class _Refused(Exception):
    """An error that the store answered with, before it is known what it means."""

    def __init__(self, codes: frozenset[str], error: StoreError) -> None:
        super().__init__(error.message)
        self.codes = codes
        self.error = error
