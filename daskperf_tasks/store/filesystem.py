"""A folder as artifact store; standard library only, for the measuring process."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from daskperf_tasks.errors import StoreError
from daskperf_tasks.store.keys import check_key, check_prefix
from daskperf_tasks.store.protocol import NoSuchKey, StoredObject

#: Ending of what is being written; hidden, so that no listing shows it.
_PART = ".part"
#: After so many seconds nobody is writing it any more.
_STALE_S = 3600.0


class FilesystemStore:
    """Keys are paths below ``root``.

    An object appears whole or not at all: it is written beside its place,
    brought to the disk and then moved there.
    """

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).absolute()

    def __repr__(self) -> str:
        return f"FilesystemStore({str(self.root)!r})"

    @property
    def url(self) -> str:
        """The folder as a ``file://`` URL."""
        return self.root.as_uri()

    def put(self, key: str, data: bytes, *, replace: bool = False) -> None:
        """Store ``data`` (see :class:`~daskperf_tasks.store.protocol.ArtifactStore`)."""
        path = self._path(key)
        try:
            part = self._write_part(path, data)
            try:
                if not self._move(part, path, replace=replace):
                    self._require_same(key, data)
            finally:
                part.unlink(missing_ok=True)
        except OSError as err:
            raise self._failed("write", key, err) from err
        self._require_same(key, data, written=True)

    def get(self, key: str) -> bytes:
        """Return the bytes (NoSuchKey when there are none)."""
        path = self._path(key)
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as err:
            raise NoSuchKey("the artifact store has no such object", where=str(path)) from err
        except OSError as err:
            raise self._failed("read", key, err) from err

    def exists(self, key: str) -> bool:
        """Whether there is such a file."""
        return self._path(key).is_file()

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose key starts with ``prefix``, sorted by key."""
        check_prefix(prefix)
        top = self.root / prefix.rpartition("/")[0]
        found = []
        try:
            for folder, folders, files in os.walk(top, onerror=_raise_unless_gone):
                folders[:] = [f for f in folders if not f.startswith(".")]
                for name in files:
                    path = Path(folder, name)
                    key = path.relative_to(self.root).as_posix()
                    if name.startswith(".") or not key.startswith(prefix):
                        continue
                    try:
                        facts = path.stat()
                    except FileNotFoundError:
                        continue  # deleted since it was listed
                    if stat.S_ISREG(facts.st_mode):
                        found.append(
                            StoredObject(key=key, size_bytes=facts.st_size, modified=facts.st_mtime)
                        )
        except OSError as err:
            raise self._failed("list", prefix, err) from err
        yield from sorted(found, key=lambda o: o.key)

    def folders(self, prefix: str) -> tuple[str, ...]:
        """Return the sorted names of the folders directly below ``prefix``."""
        check_prefix(prefix)
        try:
            with os.scandir(self.root / prefix) as entries:
                return tuple(
                    sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))
                )
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as err:
            raise self._failed("list", prefix, err) from err

    def delete(self, key: str) -> None:
        """Remove the file, and folders above it that are empty then."""
        path = self._path(key)
        try:
            path.unlink(missing_ok=True)
        except (IsADirectoryError, NotADirectoryError):
            return
        except OSError as err:
            raise self._failed("delete", key, err) from err
        self._remove_empty(path.parent)

    def _path(self, key: str) -> Path:
        return self.root / check_key(key)

    def _write_part(self, path: Path, data: bytes) -> Path:
        part = path.with_name(f".{secrets.token_hex(8)}{_PART}")
        for attempts_left in (2, 1, 0):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                break
            except FileNotFoundError:
                # A delete took the folder away in between because it was empty.
                if not attempts_left:
                    raise
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return part

    def _move(self, part: Path, path: Path, *, replace: bool) -> bool:
        """Put the written file in its place; False when the place is taken."""
        if replace:
            part.replace(path)
        else:
            try:
                # Unlike a rename, a link fails when somebody else was first.
                path.hardlink_to(part)
            except FileExistsError:
                return False
            except OSError:
                # Not every file system has hard links.
                if path.exists():
                    return False
                part.replace(path)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return True

    def _require_same(self, key: str, data: bytes, *, written: bool = False) -> None:
        stored = self.get(key)
        if stored == data:
            return
        raise StoreError(
            "other bytes came back than were stored"
            if written
            else "already written with other content; a raw artifact is never changed",
            where=str(self._path(key)),
            expected=f"sha256 {hashlib.sha256(data).hexdigest()}",
            found=f"sha256 {hashlib.sha256(stored).hexdigest()}",
        )

    def _remove_empty(self, folder: Path) -> None:
        while folder != self.root and self.root in folder.parents:
            try:
                for left in folder.glob(f".*{_PART}"):
                    if time.time() - left.stat().st_mtime > _STALE_S:
                        left.unlink()
                folder.rmdir()
            except OSError:
                return  # something is left in it
            folder = folder.parent

    def _failed(self, what: str, key: str, err: OSError) -> StoreError:
        return StoreError(
            f"the artifact store could not {what} an object",
            where=str(self.root / key),
            found=err.strerror or str(err),
            todo="check that the folder exists, has space and belongs to you",
        )


def _raise_unless_gone(err: OSError) -> None:
    if not isinstance(err, FileNotFoundError | NotADirectoryError):
        raise err
