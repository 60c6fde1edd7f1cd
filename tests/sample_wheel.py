"""Small wheels, good and bad."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping

_THEN = (2026, 1, 1, 0, 0, 0)


def wheel_bytes(
    name: str,
    version: str,
    *,
    extra: str = "",
    files: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    metadata: str | None = None,
) -> bytes:
    """The same arguments give the same bytes."""
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    members = {
        f"{stem}/__init__.py": f"__version__ = {version!r}\nEXTRA = {extra!r}\n",
        f"{info}/METADATA": metadata
        or f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nWords: not a header\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/top_level.txt": f"{stem}\n",
        **(files or {}),
    }
    members = {path: text for path, text in members.items() if path not in without}
    record = "".join(
        f"{path},{_hash(text.encode())},{len(text)}\n" for path, text in members.items()
    )
    if f"{info}/RECORD" not in without:
        members.setdefault(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return zip_bytes(members)


def zip_bytes(members: Mapping[str, str]) -> bytes:
    """A zip file with exactly these paths, however strange."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in members.items():
            archive.writestr(zipfile.ZipInfo(path, _THEN), text)
    return buffer.getvalue()


def _hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
