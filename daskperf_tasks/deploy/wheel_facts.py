"""What a wheel's bytes say about it; nothing is unpacked or run.

A wheel is a zip file whose ``<name>-<version>.dist-info`` folder describes it
(https://packaging.python.org/specifications/binary-distribution-format/).
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from email.parser import BytesParser
from typing import Any

from daskperf_tasks.errors import WheelError

#: Larger ones are no wheels that anybody measures, but may be zip bombs.
_MAX_UNPACKED_BYTES = 4 * 2**30
_MODULE_ENDINGS = (".py", ".so", ".pyd")
#: What zipfile raises for one or the other kind of damage.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    IndexError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileName:
    """The parts of a wheel's file name."""

    #: Normalised: lower case with single hyphens.
    name: str
    version: str
    #: ``packaging.tags.Tag`` of each Python and platform that it is for.
    tags: frozenset[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFacts:
    """What a wheel is."""

    name: str
    version: str
    import_name: str
    sha256: str


def split_file_name(file: str) -> FileName:
    """Read a wheel's file name (WheelError when it is none).

    Examples
    --------
    >>> name = split_file_name("Daskperf_Kernels-1.0-py3-none-any.whl")
    >>> name.name, name.version
    ('daskperf-kernels', '1.0')
    """
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        name, version, _build, tags = parse_wheel_filename(file)
    except InvalidWheelFilename as err:
        raise WheelError(
            "not the file name of a wheel",
            where=file,
            expected="name-version-python-abi-platform.whl",
            found=str(err),
        ) from err
    return FileName(name=name, version=str(version), tags=tags)


def read_wheel(file: str, data: bytes) -> WheelFacts:
    """Check a wheel and return its facts.

    Parameters
    ----------
    file
        File name, which has to agree with the content.
    data
        The whole file.

    Raises
    ------
    WheelError
        When it is no zip file, is damaged, disagrees with its file name, or
        holds paths that would leave the folder it is unpacked into.
    """
    parsed = split_file_name(file)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [m for m in archive.infolist() if not m.is_dir()]
            _require_safe(file, archive.infolist())
            info = _info_folder(file, members)
            metadata = BytesParser().parsebytes(
                _member(file, archive, f"{info}/METADATA"), headersonly=True
            )
            record = _record(file, _member(file, archive, f"{info}/RECORD"))
            _require_recorded(file, archive, record)
            top_level = _optional(archive, f"{info}/top_level.txt")
    except _DAMAGED as err:
        raise WheelError(
            "not a wheel: it is no zip file, or a damaged one",
            where=file,
            found=str(err) or type(err).__name__,
            todo="build or copy it again",
        ) from err
    name, version = str(metadata["Name"] or ""), str(metadata["Version"] or "")
    _require_agrees(file, parsed, name, version)
    return WheelFacts(
        name=name,
        version=version,
        import_name=_import_name(file, parsed.name, top_level, [m.filename for m in members]),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _require_safe(file: str, members: Iterable[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    total = 0
    for member in members:
        # filename is what zipfile makes of it; orig_filename is what stands in the file.
        path = member.orig_filename
        parts = path.rstrip("/").split("/")
        outside = path.startswith("/") or "\\" in path or ":" in parts[0] or "\0" in path
        if outside or any(p in ("", ".", "..") for p in parts):
            raise _unsafe(file, f"the path {path!r}")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise _unsafe(file, f"the symbolic link {path!r}")
        if path in seen:
            raise _unsafe(file, f"two files {path!r}")
        seen.add(path)
        total += member.file_size
    if total > _MAX_UNPACKED_BYTES:
        raise _unsafe(file, f"{total} bytes when unpacked")


def _unsafe(file: str, what: str) -> WheelError:
    return WheelError(
        f"a wheel that must not be unpacked: it holds {what}",
        where=file,
        todo="do not use it; find out who made it",
    )


def _info_folder(file: str, members: Iterable[zipfile.ZipInfo]) -> str:
    heads = {m.filename.split("/")[0] for m in members if "/" in m.filename}
    found = sorted(f for f in heads if f.endswith(".dist-info"))
    if len(found) != 1:
        raise WheelError(
            "not a wheel: it must hold one .dist-info folder",
            where=file,
            found=", ".join(found) or "none",
        )
    return found[0]


def _member(file: str, archive: zipfile.ZipFile, path: str) -> bytes:
    data = _optional(archive, path)
    if data is None:
        raise WheelError("not a wheel: a part is missing", where=file, expected=path)
    return data


def _optional(archive: zipfile.ZipFile, path: str) -> bytes | None:
    try:
        return archive.read(path)
    except KeyError:
        return None


def _record(file: str, data: bytes) -> dict[str, str]:
    """Return path -> ``sha256=...`` of the RECORD; an entry may have no hash."""
    try:
        rows = [r for r in csv.reader(io.StringIO(data.decode())) if r]
    except (UnicodeDecodeError, csv.Error) as err:
        raise WheelError("the wheel's RECORD cannot be read", where=file, found=str(err)) from err
    return {r[0]: r[1] if len(r) > 1 else "" for r in rows}


def _require_recorded(file: str, archive: zipfile.ZipFile, record: dict[str, str]) -> None:
    """Read every file (which checks its CRC) and compare it with the RECORD."""
    for member in archive.infolist():
        if member.is_dir():
            continue
        data = archive.read(member)
        method, _, expected = record.get(member.filename, "").partition("=")
        if method != "sha256":
            continue
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if found != expected:
            raise WheelError(
                f"a file in the wheel is not what its RECORD says: {member.filename}",
                where=file,
                expected=f"sha256 {expected}",
                found=f"sha256 {found}",
                todo="build or copy it again",
            )


def _require_agrees(file: str, parsed: FileName, name: str, version: str) -> None:
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    try:
        agrees = canonicalize_name(name) == parsed.name and Version(version) == Version(
            parsed.version
        )
    except InvalidVersion:
        agrees = False
    if not agrees:
        raise WheelError(
            "the wheel's file name and its METADATA disagree",
            where=file,
            expected=f"{parsed.name} {parsed.version}",
            found=f"{name or 'no name'} {version or 'no version'}",
            todo="give the file the name it was built with",
        )


def _import_name(
    file: str, distribution: str, top_level: bytes | None, members: Iterable[str]
) -> str:
    """Return the module to import: the one like the distribution, else the first public one."""
    if top_level is not None:
        listed = [n.strip() for n in top_level.decode("utf-8", "replace").splitlines()]
    else:
        listed = sorted({_top_module(m) for m in members})
    modules = [n for n in listed if n.isidentifier()]
    usual = distribution.replace("-", "_")
    if usual in modules:
        return usual
    public = [m for m in modules if not m.startswith("_")] or modules
    if not public:
        raise WheelError(
            "the wheel has no module that could be imported",
            where=file,
            expected="a package or module",
            found=", ".join(listed) or "nothing",
        )
    return public[0]


def _top_module(path: str) -> str:
    """Return the top-level module that a file belongs to, or an empty string."""
    head, _, rest = path.partition("/")
    if head.endswith(".data"):
        scheme, _, inner = rest.partition("/")
        return _top_module(inner) if scheme in ("purelib", "platlib") else ""
    if rest:
        return "" if head.endswith(".dist-info") else head
    return head.split(".")[0] if head.endswith(_MODULE_ENDINGS) else ""
