"""What every artifact store can do, and how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from daskperf_tasks.errors import StoreError


class NoSuchKey(StoreError):
    """Nothing is stored under this key."""


class StoreUnreachable(StoreError):
    """The store does not answer; what was to be stored is where it was before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object as a listing shows it."""

    key: str
    size_bytes: int
    #: Unix time of the last write.
    modified: float


class ArtifactStore(Protocol):
    """Bytes under keys.

    Keys are relative, ``/`` separates their segments, and
    :func:`daskperf_tasks.store.keys.check_key` says which are allowed.
    All methods raise :class:`~daskperf_tasks.errors.StoreError` when the store
    fails and :class:`StoreUnreachable` when it does not answer.
    """

    @property
    def url(self) -> str:
        """Where it is, without secrets."""

    def put(self, key: str, data: bytes, *, replace: bool = False) -> None:
        """Store ``data``; returns only after the same bytes were read back.

        Never leaves a partial object visible. Without ``replace``, a key that
        already holds the same bytes is fine.

        Raises
        ------
        StoreError
            When the key holds other bytes and ``replace`` is false, or when
            other bytes come back than were stored.
        """

    def get(self, key: str) -> bytes:
        """Return the bytes.

        Raises
        ------
        NoSuchKey
            When nothing is stored under ``key``.
        """

    def exists(self, key: str) -> bool:
        """Whether an object is stored under exactly this key."""

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, sorted by key."""

    def folders(self, prefix: str) -> tuple[str, ...]:
        """Return the sorted names of the folders directly below ``prefix``.

        ``prefix`` is empty or ends with ``/``; costs less than a listing.
        """

    def delete(self, key: str) -> None:
        """Remove the object; no error when there is none."""
