"""Bringing wheels to every host of a lane, once a host."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import LiveWorker, ask
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.deploy import install
from daskperf_tasks.errors import ClusterError, DeployError
from daskperf_tasks.model.subject import Install, Subject

if TYPE_CHECKING:
    from distributed import Client

#: A nanny's event loop is held for the writing of one chunk at a time.
CHUNK_BYTES = 8 * 2**20
#: The slowest link that is still waited for, in bytes per second.
_SLOWEST = 2**20

Crew = tuple[LiveWorker, ...]


def ship(
    client: Client, crew: Crew, wheels: Mapping[str, tuple[Subject, bytes]], *, timeout_s: float
) -> tuple[Install, ...]:
    """Install wheels on the hosts of all workers.

    Nannies that share a host and a folder share the installation: the bytes go
    to one of them. A wheel that stands there unharmed is not sent again.

    Parameters
    ----------
    wheels
        sha256 -> the wheel and its bytes.

    Returns
    -------
    tuple of Install
        One for each worker and wheel.

    Raises
    ------
    DeployError
        When a host refuses the wheel: wrong hash, broken archive, other platform.
    ClusterError
        When a nanny does not answer or its host cannot store the wheel.
    """
    before = _survey(client, crew, wheels, timeout_s)
    made: dict[tuple[str, str], dict[str, Any]] = {}
    for sha256, (subject, data) in wheels.items():
        heads = {
            before[w.label]["place"]: w
            for w in reversed(crew)
            if before[w.label]["standing"][sha256] is None
        }
        if heads:
            done = _send(client, tuple(heads.values()), subject, data, timeout_s)
            made |= {(label, sha256): answer for label, answer in done.items()}
    after = _survey(client, crew, wheels, timeout_s)
    return tuple(_install(w, sha256, after[w.label], made) for w in crew for sha256 in wheels)


def checked(
    answers: dict[str, Any], crew: Crew, doing: str, subject: Subject | None = None
) -> dict[str, Any]:
    """Return the answers of nannies or workers, or raise for the first that failed.

    A ``ValueError`` from there is the wheel's fault, everything else the cluster's.
    """
    for worker in crew:
        answer = answers[worker.label]
        if not isinstance(answer, BaseException):
            continue
        where = f"worker {worker.label} on {worker.host}"
        if isinstance(answer, ValueError) and subject is not None:
            raise DeployError(
                f"the wheel {subject.file} cannot be installed",
                where=where,
                expected=f"a sound wheel of {subject.name} {subject.version} for that host",
                found=str(answer),
                todo="build the wheel for the hosts' platform and Python, and publish it again",
            ) from answer
        raise ClusterError(
            f"{doing} failed",
            where=where,
            found=describe(answer),
            todo="look into that nanny's log; check disk space and permissions of its scratch "
            "folder (or name another in DASKPERF_WHEEL_DIR), and that the host answers",
        ) from answer
    return answers


def _survey(
    client: Client, crew: Crew, wheels: Mapping[str, tuple[Subject, bytes]], timeout_s: float
) -> dict[str, Any]:
    answers = ask(client, Sent(install.survey), crew, list(wheels), timeout_s=timeout_s, nanny=True)
    return checked(answers, crew, "looking for wheels on the host")


def _send(
    client: Client, heads: Crew, subject: Subject, data: bytes, timeout_s: float
) -> dict[str, Any]:
    token = secrets.token_hex(8)
    for offset in range(0, max(1, len(data)), CHUNK_BYTES):
        chunk = data[offset : offset + CHUNK_BYTES]
        answers = ask(
            client,
            Sent(install.receive),
            heads,
            subject.sha256,
            token,
            offset,
            chunk,
            timeout_s=timeout_s + len(heads) * len(chunk) / _SLOWEST,
            nanny=True,
        )
        checked(answers, heads, "sending the wheel to the host")
    answers = ask(
        client,
        Sent(install.install),
        heads,
        subject.sha256,
        token,
        subject.file,
        timeout_s=timeout_s + len(data) / _SLOWEST,
        nanny=True,
    )
    return checked(answers, heads, "installing the wheel on the host", subject)


def _install(
    worker: LiveWorker, sha256: str, survey: dict[str, Any], made: dict[tuple[str, str], Any]
) -> Install:
    files = survey["standing"][sha256]
    if files is None:
        raise ClusterError(
            "an installed wheel does not stand where it was put",
            where=f"worker {worker.label} on {worker.host}, {survey['base']}",
            expected=f"the folder {sha256} with the files that were installed",
            found="no such folder, or other files",
            todo="check what else writes into that folder, and that its disk is sound",
        )
    mine = made.get((worker.label, sha256))
    return Install(
        host=survey["host"],
        worker=worker.label,
        folder=f"{survey['base']}/{sha256}",
        sha256=sha256,
        files_sha256=files,
        seconds=float(mine["seconds"]) if mine else 0.0,
        reused=bool(mine["reused"]) if mine else True,
    )
