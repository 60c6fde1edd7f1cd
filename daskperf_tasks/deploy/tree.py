"""Where wheels stand on a host, and the hash over their files (sent by source).

One host keeps its wheels side by side::

    <base>/daskperf-wheels/
        <sha256 of the wheel>/      the unpacked wheel, an import path
        <sha256 of the wheel>.json  its receipt: hash over the files, seconds, time

``base`` is ``DASKPERF_WHEEL_DIR`` in the environment of the nanny, else the
parent of the nanny's scratch folder (``--local-directory``), else the folder for
temporary files. Where another user owns ``daskperf-wheels`` already, the folder
is called ``daskperf-wheels-<uid>``.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path

MARK = "daskperf-wheels"


def base_folder(scratch: str | None = None) -> str:
    """Return the folder of a host's wheels, made when missing, owned by this user.

    Raises
    ------
    OSError
        When no such folder can be made.
    """
    given = os.environ.get("DASKPERF_WHEEL_DIR")
    parent = Path(given or scratch or tempfile.gettempdir())
    if not given and parent.name.startswith("dask-scratch-space"):
        parent = parent.parent
    tried = []
    for name in (MARK, f"{MARK}-{os.getuid()}"):
        folder = parent.resolve() / name
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            seen = folder.lstat()
        except OSError as err:
            tried.append(str(err))
            continue
        if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and os.access(folder, os.W_OK):
            return str(folder)
        tried.append(f"{folder} belongs to another user or cannot be written")
    raise OSError("no folder for wheels: " + "; ".join(tried))


def is_wheel_folder(path: str) -> bool:
    """Whether an import path is a wheel's folder of ours."""
    folder = Path(path)
    return (
        len(folder.name) == 64
        and not set(folder.name) - set("0123456789abcdef")
        and folder.parent.name.startswith(MARK)
    )


def sha256_of_file(path: str | Path) -> str:
    """Return the sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def files_sha256(folder: str) -> str:
    """Return one sha256 over names and contents of all files; caches of bytecode do not count."""
    lines = []
    for root, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f != "__pycache__"]
        for name in files:
            path = Path(root) / name
            shown = path.relative_to(folder).as_posix()
            lines.append(f"{shown}\0{sha256_of_file(path)}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def standing(base: str, sha256: str) -> str | None:
    """Return the hash over a wheel's files when it stands there unharmed, else None."""
    folder = Path(base) / sha256
    try:
        receipt = folder.with_name(f"{sha256}.json").read_text(encoding="utf-8")
        promised = json.loads(receipt)["files_sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not folder.is_dir():
        return None
    return str(promised) if files_sha256(str(folder)) == promised else None
