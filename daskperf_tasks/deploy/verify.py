"""Whether a wheel can be imported on a host, and whether workers really import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import LiveWorker, ask
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.deploy import imports, install
from daskperf_tasks.deploy.ship import Crew, checked
from daskperf_tasks.errors import DeployError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.subject import Deployment, Install, Subject, WorkerCheck

if TYPE_CHECKING:
    from distributed import Client


def try_all(client: Client, crew: Crew, record: Deployment, lane: Lane) -> None:
    """Import each wheel once a host in a process of its own.

    Raises
    ------
    DeployError
        With the end of the traceback. No worker was touched yet.
    """
    for subject in record.subjects.values():
        here = {i.worker: i for i in record.installs if i.sha256 == subject.sha256}
        heads = {(here[w.label].host, here[w.label].folder): w for w in reversed(crew)}
        for (host, folder), worker in heads.items():
            answers = ask(
                client,
                Sent(install.try_import),
                (worker,),
                folder,
                subject.import_name,
                lane.timeout_s,
                timeout_s=lane.timeout_s + 5.0,
                nanny=True,
            )
            checked(answers, (worker,), "trying the wheel on the host")
            if answers[worker.label]:
                where = f"worker {worker.label} on {worker.host} ({host}), before any was touched"
                raise _no_import(subject, where, folder, answers[worker.label])


def _no_import(subject: Subject, where: str, folder: str, tail: str) -> DeployError:
    last = tail.strip().splitlines()[-1]
    todo = "mend the wheel; the workers serve their own environment"
    if last.startswith("ModuleNotFoundError") and subject.import_name not in last.split("'")[1:2]:
        todo = (
            "install the missing module in the workers' environment (a wheel's dependencies "
            "are not deployed with it); the workers serve their own environment"
        )
    return DeployError(
        f"the wheel {subject.file} fails to import: {last}",
        where=where,
        expected=f"import {subject.import_name} of {subject.name} {subject.version} from {folder}",
        found=f"\n{tail}",
        todo=todo,
    )


def verify(
    client: Client, crew: Crew, subject: Subject, here: Mapping[str, Install], lane: Lane
) -> tuple[WorkerCheck, ...]:
    """Import the subject in each fresh worker and compare what came with what was installed.

    Parameters
    ----------
    here
        Worker's label -> its installation of the subject.

    Raises
    ------
    DeployError
        Naming the first worker that serves something else, or nothing.
    """
    checks = []
    for folder in sorted({i.folder for i in here.values()}):
        group = tuple(w for w in crew if here[w.label].folder == folder)
        answers = ask(
            client,
            Sent(imports.check_import),
            group,
            subject.import_name,
            subject.name,
            folder,
            lane.timeout_s,
            timeout_s=lane.timeout_s + 2.0,
        )
        for worker in group:
            checks.append(_check(worker, subject, here[worker.label], answers[worker.label]))
    return tuple(sorted(checks, key=lambda c: c.worker))


def _check(worker: LiveWorker, subject: Subject, here: Install, answer: Any) -> WorkerCheck:
    where = f"worker {worker.label} on {worker.host} ({here.host})"
    if isinstance(answer, BaseException):
        raise DeployError(
            f"worker {worker.label} died or fell silent while it imported {subject.import_name}",
            where=where,
            expected=f"{subject.name} {subject.version} from {here.folder}",
            found=describe(answer),
            todo="look into the log of that worker; the wheel may crash the interpreter",
        ) from answer
    if answer["error"]:
        raise _no_import(subject, where, here.folder, answer["error"])
    wanted = (subject.version, here.folder, here.files_sha256)
    inside = answer["location"].startswith(here.folder.rstrip("/") + "/")
    found = (
        answer["version"] or "no version",
        here.folder if inside else answer["location"],
        answer["files_sha256"],
    )
    if found != wanted:
        names = ("version", "folder", "sha256 over the files")
        wrong = [k for k, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
        raise DeployError(
            f"worker {worker.label} serves another {subject.import_name} than the deployed one",
            where=where,
            expected="; ".join(f"{names[k]} {wanted[k]}" for k in wrong),
            found="; ".join(f"{names[k]} {found[k]}" for k in wrong),
            todo="look for what comes first on that worker's import path (an editable install, "
            "a preload that imports the package before)",
        )
    return WorkerCheck(
        worker=worker.label,
        host=here.host,
        pid=int(answer["pid"]),
        version=answer["version"],
        location=answer["location"],
        files_sha256=answer["files_sha256"],
    )
