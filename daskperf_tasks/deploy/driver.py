"""The driver's own host: the wheel's bytes, its files, and those of the others against them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.unpack import install_wheel
from daskperf_tasks.errors import DeployError, InfraError, WheelError
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.subject import Install, Subject


def check_bytes(subject: Subject, data: bytes) -> None:
    """Raise WheelError unless the bytes are those of the wheel."""
    found = hashlib.sha256(data).hexdigest()
    if found != subject.sha256:
        raise WheelError(
            "the wheel's bytes are not those that were promised",
            where=f"{subject.source}: {subject.file}",
            expected=f"sha256 {subject.sha256}, {subject.size_bytes} bytes",
            found=f"sha256 {found}, {len(data)} bytes",
            todo="fetch it again; if it stays so, the source holds a damaged wheel",
        )


def install_here(subject: Subject, data: bytes, local_root: Path) -> dict[str, Any]:
    """Install a wheel on this host, for the local environments; see ``unpack.install_wheel``."""
    try:
        local_root.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=local_root, prefix=".part-") as part:
            part.write(data)
            part.flush()
            base = str(local_root.resolve())
            return install_wheel(part.name, subject.file, subject.sha256, base)
    except ValueError as err:
        raise DeployError(
            f"the wheel {subject.file} cannot be installed",
            where="this host, for the local environments",
            expected=f"a sound wheel of {subject.name} {subject.version} for this host",
            found=str(err),
            todo="build the wheel for this host's platform and Python as well",
        ) from err
    except OSError as err:
        raise InfraError(
            "a wheel cannot be stored on this host",
            where=str(local_root),
            found=str(err),
            todo="check disk space and permissions of that folder",
        ) from err


def compare_files(
    installs: tuple[Install, ...], local: Mapping[Arm, Any], subjects: Mapping[str, Subject]
) -> None:
    """Raise DeployError when a host holds other files for a wheel than this one."""
    promised = {subjects[arm].sha256: answer["files_sha256"] for arm, answer in local.items()}
    for one in installs:
        if one.files_sha256 != promised[one.sha256]:
            raise DeployError(
                "a host holds other files than this one for the same wheel",
                where=f"worker {one.worker} on {one.host}, {one.folder}",
                expected=f"sha256 over the files {promised[one.sha256]}",
                found=one.files_sha256,
                todo="remove that folder and its receipt (.json beside it) and deploy again",
            )
