"""Unpacking a wheel into its own folder, atomically (sent by source).

Follows the binary distribution format of the Python packaging specifications:
every file has to be listed in RECORD with a right sha256, ``.data`` folders go
where an import path wants them, and no name may leave the folder. Whatever is
wrong with the wheel is a ``ValueError``; whatever is wrong with the host is an
``OSError``.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import platform
import shutil
import stat
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.tree import files_sha256, sha256_of_file, standing

#: Where the parts of a ``.data`` folder go below the import path.
_DATA = {"purelib": "", "platlib": "", "scripts": "bin", "data": "", "headers": "include"}
_UNLISTED = ("RECORD", "RECORD.jws", "RECORD.p7s")


def install_wheel(wheel: str, file_name: str, sha256: str, base: str) -> dict[str, Any]:
    """Install a wheel file into ``<base>/<sha256>``.

    Parameters
    ----------
    wheel
        Path of the wheel's bytes on this host.
    file_name
        The wheel's own file name, which carries its tags.
    sha256
        What its bytes have to hash to.
    base
        Folder of the host's wheels.

    Returns
    -------
    dict
        ``folder``, ``files_sha256``, ``reused``, ``seconds``.

    Raises
    ------
    ValueError
        When the wheel is not what it promises, or not for this interpreter.
    OSError
        When the host cannot take it.
    """
    started = time.monotonic()
    folder = Path(base) / sha256
    have = standing(base, sha256)
    if have is not None:
        return _result(folder, have, True, started)
    found = sha256_of_file(wheel)
    if found != sha256:
        raise ValueError(f"the wheel's sha256: expected {sha256}, found {found}")
    check_tags(file_name)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=base))
    try:
        with zipfile.ZipFile(wheel) as archive:
            _unpack(archive, fresh)
        fresh.chmod(0o755)
        files = files_sha256(str(fresh))
        reused = _move_in(fresh, folder, files, base, sha256)
    except zipfile.BadZipFile as err:
        raise ValueError(f"the wheel is no zip archive: {err}") from err
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return _result(folder, files, reused, started)


def check_tags(file_name: str) -> None:
    """Raise ValueError unless a wheel of this name suits this interpreter and host."""
    parts = file_name.removesuffix(".whl").split("-")
    if not file_name.endswith(".whl") or len(parts) not in (5, 6):
        raise ValueError(f"{file_name} is no wheel's file name")
    pythons, abis, platforms = (p.split(".") for p in parts[-3:])
    try:
        from packaging.tags import Tag, sys_tags
    except ImportError:
        fits = _fits(pythons, abis, platforms)
    else:
        wanted = {Tag(p, a, s) for p in pythons for a in abis for s in platforms}
        fits = any(tag in wanted for tag in sys_tags())
    if not fits:
        here = (
            f"{sys.implementation.name} {platform.python_version()}, {sysconfig.get_platform()}, "
            f"{' '.join(platform.libc_ver()) or 'libc unknown'}"
        )
        raise ValueError(f"{file_name} is not for this interpreter or platform ({here})")


def _fits(pythons: list[str], abis: list[str], platforms: list[str]) -> bool:
    """Rough twin of packaging.tags for hosts that lack it."""
    major, minor = sys.version_info[:2]
    own = f"cp{major}{minor}"
    python = own in pythons or f"py{major}" in pythons or f"py{major}{minor}" in pythons
    if "abi3" in abis:
        older = [p.removeprefix("cp3") for p in pythons if p.startswith("cp3")]
        python = python or any(p.isdigit() and int(p) <= minor for p in older)
    abi = "none" in abis or "abi3" in abis or any(a.startswith(own) for a in abis)
    system, machine = sys.platform, platform.machine().lower()
    host = "any" in platforms or any(
        p.lower().endswith(machine) and ("linux" in p if system == "linux" else p[:3] == system[:3])
        for p in platforms
    )
    return python and abi and host


def _unpack(archive: zipfile.ZipFile, target: Path) -> None:
    members = [m for m in archive.infolist() if not m.is_dir()]
    names = [m.filename for m in members]
    if len(set(names)) != len(names):
        raise ValueError("the wheel holds two files of one name")
    info = {n.split("/")[0] for n in names if n.split("/")[0].endswith(".dist-info")}
    if len(info) != 1:
        raise ValueError(f"expected one .dist-info folder in the wheel, found {len(info)}")
    info_name = info.pop()
    for needed in ("WHEEL", "METADATA", "RECORD"):
        if f"{info_name}/{needed}" not in names:
            raise ValueError(f"the wheel lacks {info_name}/{needed}")
    _check_version(archive.read(f"{info_name}/WHEEL").decode("utf-8", "replace"))
    record = _read_record(archive.read(f"{info_name}/RECORD").decode("utf-8"))
    unlisted = {f"{info_name}/{name}" for name in _UNLISTED}
    lost = sorted(set(record) - set(names))
    if lost:
        raise ValueError(f"RECORD lists files that the wheel lacks: {', '.join(lost[:5])}")
    written: set[str] = set()
    for member in members:
        data = archive.read(member)
        if member.filename not in unlisted:
            _check_hash(member.filename, data, record)
        place = _place(member, info_name)
        if place in written:
            raise ValueError(f"two files of the wheel belong at {place}")
        written.add(place)
        path = target / place
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
        if (member.external_attr >> 16) & 0o111:
            path.chmod(0o755)


def _check_version(text: str) -> None:
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "wheel-version":
            if value.strip().split(".")[0] != "1":
                raise ValueError(f"the wheel's format: expected 1.x, found {value.strip()}")
            return
    raise ValueError("the wheel's WHEEL file names no Wheel-Version")


def _read_record(text: str) -> dict[str, str]:
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    return {row[0]: row[1] if len(row) > 1 else "" for row in rows}


def _check_hash(name: str, data: bytes, record: dict[str, str]) -> None:
    if name not in record:
        raise ValueError(f"{name} is in the wheel but not in its RECORD")
    kind, _, promised = record[name].partition("=")
    if kind not in ("sha256", "sha384", "sha512"):
        raise ValueError(f"RECORD gives no sha256 (or stronger) hash for {name}")
    digest = base64.urlsafe_b64encode(hashlib.new(kind, data).digest()).decode().rstrip("=")
    if digest != promised.rstrip("="):
        raise ValueError(f"{kind} of {name}: expected {promised} (RECORD), found {digest}")


def _place(member: zipfile.ZipInfo, info_name: str) -> str:
    """Return where a member goes, relative to the import path."""
    # ZipInfo itself replaces os.sep and cuts at NUL; the original is what was signed.
    name = member.filename
    parts = name.split("/")
    if (
        "\\" in member.orig_filename
        or "\0" in member.orig_filename
        or ":" in parts[0]
        or any(p in ("", ".", "..") for p in parts)
    ):
        raise ValueError(f"a name in the wheel leaves its folder: {member.orig_filename!r}")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ValueError(f"{name} is a symbolic link; a wheel holds files only")
    if parts[0].endswith(".data"):
        distribution = info_name.removesuffix(".dist-info").split("-")[0]
        if len(parts) < 3 or parts[1] not in _DATA:
            raise ValueError(f"{name}: expected one of {', '.join(_DATA)} below {parts[0]}")
        head = _DATA[parts[1]]
        middle = [distribution] if parts[1] == "headers" else []
        return "/".join([*([head] if head else []), *middle, *parts[2:]])
    return name


def _move_in(fresh: Path, folder: Path, files: str, base: str, sha256: str) -> bool:
    """Put the finished folder and its receipt in place; True when another was quicker."""
    receipt = {"files_sha256": files, "installed_at": time.time()}
    for _ in range(3):
        if standing(base, sha256) == files:
            return True
        with tempfile.NamedTemporaryFile("w", prefix=".receipt-", dir=base, delete=False) as file:
            json.dump(receipt, file)
        Path(file.name).replace(folder.with_name(f"{sha256}.json"))
        try:
            fresh.rename(folder)
            return False
        except OSError:
            if not folder.is_dir():
                raise
            if files_sha256(str(folder)) == files:
                return True
            # What stands there is harmed: out of the way with it.
            aside = Path(tempfile.mkdtemp(prefix=".harmed-", dir=base))
            folder.rename(aside / "folder")
            shutil.rmtree(aside, ignore_errors=True)
    raise OSError(f"{folder} keeps changing while it is installed")


def _result(folder: Path, files: str, reused: bool, started: float) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "files_sha256": files,
        "reused": reused,
        "seconds": time.monotonic() - started,
    }
