"""Small real wheels for tests."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from daskperf_tasks.model.subject import Subject


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes],
    *,
    tag: str = "py3-none-any",
    broken_record: bool = False,
    links: Mapping[str, str] | None = None,
    unlisted: Mapping[str, str] | None = None,
    wheel_version: str = "1.0",
) -> Path:
    """Write a wheel.

    Parameters
    ----------
    files
        Name in the archive -> content.
    broken_record
        RECORD gives a wrong hash for the first file.
    links
        Name -> target of symbolic links in the archive.
    unlisted
        Files that RECORD does not list.
    """
    spelled = name.replace("-", "_")
    info = f"{spelled}-{version}.dist-info"
    content: dict[str, bytes] = {
        k: v.encode() if isinstance(v, str) else v for k, v in files.items()
    }
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    )
    content[f"{info}/WHEEL"] = (
        f"Wheel-Version: {wheel_version}\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n"
    ).encode()
    rows = []
    for i, (member, data) in enumerate(content.items()):
        wrong = broken_record and i == 0
        digest = hashlib.sha256(data + b"x" if wrong else data).digest()
        spelled_hash = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        rows.append(f"{member},sha256={spelled_hash},{len(data)}")
    for member, target in (links or {}).items():
        digest = hashlib.sha256(target.encode()).digest()
        rows.append(f"{member},sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')},")
    rows.append(f"{info}/RECORD,,")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{spelled}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in content.items():
            archive.writestr(_entry(member), data)
        for member, target in (links or {}).items():
            entry = _entry(member)
            entry.create_system = 3
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)
        for member, text in (unlisted or {}).items():
            archive.writestr(_entry(member), text)
        archive.writestr(_entry(f"{info}/RECORD"), "\n".join(rows) + "\n")
    return path


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry of a fixed time: the same content gives the same wheel."""
    entry = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100644 << 16
    return entry


def subject_and_bytes(path: Path, import_name: str) -> tuple[Subject, bytes]:
    """What deploy wants to know of a wheel."""
    data = path.read_bytes()
    name, version = path.name.split("-")[:2]
    subject = Subject(
        name=name.replace("_", "-"),
        version=version,
        sha256=hashlib.sha256(data).hexdigest(),
        file=path.name,
        size_bytes=len(data),
        import_name=import_name,
        source=str(path.parent),
        chosen_by="made for a test",
    )
    return subject, data
