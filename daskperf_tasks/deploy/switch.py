"""Deploying wheels on a lane, switching between them, and restoring what was there.

::

    deploy ── hash ── ship once a host ── trial import ──┬── switch to "subject" ── verify
                                                         │          │ anything fails
                                    nothing was touched ─┘          └── restore, DeployError

A switch puts the wheel's folder first on the import path of every nanny,
restarts the worker processes, and asks each fresh one what it imports. A
wheel's dependencies are not installed: they belong to the workers' environment,
and an import that misses one says which.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import (
    LiveWorker,
    address_host,
    ask,
    describe,
    live_workers,
    open_client,
)
from daskperf_tasks.deploy import imports, install, paths
from daskperf_tasks.deploy.restart import restart
from daskperf_tasks.deploy.ship import Crew, checked, ship
from daskperf_tasks.deploy.unpack import install_wheel
from daskperf_tasks.deploy.verify import try_all, verify
from daskperf_tasks.errors import ClusterError, DaskperfError, DeployError, InfraError, WheelError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.subject import Deployment, Install, Subject, WorkerCheck

if TYPE_CHECKING:
    from distributed import Client

#: Limit for a nanny whose worker is gone: mostly it is gone as well.
_NANNY_S = 3.0

Wheels = Mapping[Arm, tuple[Subject, bytes]]


def deploy(scheduler: str, subjects: Wheels, *, lane: Lane, local_root: Path) -> Deployment:
    """Install the wheels on every host and make all workers serve the arm ``subject``.

    Parameters
    ----------
    scheduler
        Its address.
    subjects
        Each arm's wheel and the wheel's bytes.
    lane
        Gives the time limit.
    local_root
        Folder of the wheels on this host, for the local environments.

    Raises
    ------
    WheelError
        When the bytes are not those that were promised.
    DeployError
        When a wheel cannot be installed or imported, or a worker does not come
        back with it. What was served before is served again; the record is
        attached as ``deployment``.
    ClusterError
        When the cluster cannot be worked with; ``deployment`` is attached once
        there is one.
    """
    for subject, data in subjects.values():
        _check_bytes(subject, data)
    local = {
        arm: _install_here(subject, data, local_root) for arm, (subject, data) in subjects.items()
    }
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        crew = _crew(client, lane)
        seen = ask(client, Sent(install.survey), crew, [], timeout_s=lane.timeout_s, nanny=True)
        checked(seen, crew, "asking the nanny what it serves")
        record = Deployment(
            scheduler=scheduler,
            state="deployed",
            previous={w.label: tuple(seen[w.label]["paths"]) for w in crew},
            installs=(),
            checks=(),
            local_folders={arm: answer["folder"] for arm, answer in local.items()},
            switch_s=0.0,
            subjects={arm: subject for arm, (subject, _) in subjects.items()},
            nannies={w.label: str(w.nanny) for w in crew},
        )
        with _attached(record):
            by_hash = {subject.sha256: (subject, data) for subject, data in subjects.values()}
            installs = ship(client, crew, by_hash, timeout_s=lane.timeout_s)
            record = dataclasses.replace(record, installs=installs)
            _compare_files(installs, local, record.subjects)
            try_all(client, crew, record, lane)
        started = time.monotonic()
        with _attached(record), _restoring(client, record, lane):
            checks = _serve(client, crew, record, "subject", lane)
    return dataclasses.replace(record, checks=checks, switch_s=time.monotonic() - started)


def switch(
    scheduler: str, deployment: Deployment, arm: Arm, *, lane: Lane
) -> tuple[WorkerCheck, ...]:
    """Make all workers serve the wheel of an arm, in fresh processes.

    Raises
    ------
    DeployError
        When a worker imports another wheel, or none.
    ClusterError
        When a worker is gone, new, or does not come back.
    """
    if arm not in deployment.subjects:
        raise DeployError(
            "no wheel was deployed for this arm",
            expected=" or ".join(deployment.subjects) or "a deployment with wheels",
            found=arm,
        )
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        return _serve(client, _crew(client, lane), deployment, arm, lane)


def restore(scheduler: str, deployment: Deployment, *, lane: Lane) -> dict[str, Any]:
    """Make all workers serve what they served before the deployment.

    Needs nothing but the record, and may be called again: workers that serve
    it already are left alone.

    Returns
    -------
    dict
        ``scheduler``, ``state``, ``seconds``, ``restarted`` and ``missing``
        (labels), ``workers``: label -> what an import of the subject gives now.

    Raises
    ------
    ClusterError
        When the scheduler does not answer, or a worker does not come back or
        still has a wheel of the deployment on its path.
    """
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        return _restore(client, deployment, lane)


def _serve(
    client: Client, crew: Crew, record: Deployment, arm: Arm, lane: Lane
) -> tuple[WorkerCheck, ...]:
    subject = record.subjects[arm]
    here = {i.worker: i for i in record.installs if i.sha256 == subject.sha256}
    strangers = [w for w in crew if w.label not in here]
    lost = sorted(set(here) - {w.label for w in crew})
    if strangers or lost:
        raise ClusterError(
            "the lane's workers are not those that the wheel was installed for",
            where=", ".join([*(f"worker {w.label} on {w.host}" for w in strangers), *lost]),
            expected=f"the {len(here)} workers of the deployment",
            found=f"{len(strangers)} new and {len(lost)} lost",
            todo="let the lane settle, then deploy again",
        )
    _set_paths(client, {w: [here[w.label].folder] for w in crew}, lane)
    fresh = restart(client, crew, timeout_s=lane.timeout_s)
    return verify(client, fresh, subject, here, lane)


def _restore(client: Client, record: Deployment, lane: Lane) -> dict[str, Any]:
    started = time.monotonic()
    crew = live_workers(client, timeout_s=lane.timeout_s)
    subject = record.subjects.get("subject")
    names = (subject.import_name, subject.name) if subject else ("", "")
    before = ask(client, Sent(imports.serving), crew, *names, timeout_s=lane.timeout_s)

    def wanted(worker: LiveWorker) -> list[str]:
        return list(record.previous.get(worker.label, ()))

    def serves(worker: LiveWorker, answers: Mapping[str, Any]) -> bool:
        answer = answers.get(worker.label)
        return isinstance(answer, dict) and answer["paths"] == wanted(worker)

    watched = tuple(w for w in crew if w.nanny)
    nannies = ask(client, Sent(install.survey), watched, [], timeout_s=lane.timeout_s, nanny=True)
    checked(nannies, watched, "asking the nanny what it serves")
    stale = tuple(
        w for w in watched if nannies[w.label]["paths"] != wanted(w) or not serves(w, before)
    )
    lost = _lost(client, record, crew, lane)
    _set_paths(client, {w: wanted(w) for w in (*stale, *lost)}, lane)
    fresh = restart(client, stale, lost=lost, timeout_s=lane.timeout_s)
    after = before | ask(client, Sent(imports.serving), fresh, *names, timeout_s=lane.timeout_s)
    wrong = [w for w in (*crew, *lost) if not serves(w, after)]
    if wrong:
        raise ClusterError(
            "workers do not serve again what they served before the deployment",
            where=", ".join(f"worker {w.label} on {w.host}" for w in wrong),
            expected="; ".join(f"{w.label}: {_shown(wanted(w))}" for w in wrong),
            found="; ".join(f"{w.label}: {_found(after.get(w.label))}" for w in wrong),
            todo="restart those workers and their nannies by hand",
        )
    return {
        "scheduler": record.scheduler,
        "state": "restored",
        "seconds": time.monotonic() - started,
        "restarted": [w.label for w in fresh],
        "missing": sorted(set(record.previous) - set(after)),
        "workers": after,
    }


def _lost(client: Client, record: Deployment, crew: Crew, lane: Lane) -> Crew:
    """Return the workers of the deployment that are gone while their nannies answer."""
    here = {w.nanny for w in crew}
    gone = tuple(
        LiveWorker(
            label=label,
            name=label,
            address="",
            host=address_host(nanny),
            nanny=nanny,
            nthreads=0,
            memory_limit_bytes=0,
            status="lost",
        )
        for label, nanny in record.nannies.items()
        if nanny not in here
    )
    limit = min(_NANNY_S, lane.timeout_s)
    answers = ask(client, Sent(install.survey), gone, [], timeout_s=limit, nanny=True)
    return tuple(w for w in gone if isinstance(answers[w.label], dict))


def _set_paths(client: Client, folders: Mapping[LiveWorker, list[str]], lane: Lane) -> None:
    for group in {tuple(f) for f in folders.values()}:
        crew = tuple(w for w, f in folders.items() if tuple(f) == group)
        function = Sent(paths.set_wheel_paths)
        answers = ask(client, function, crew, list(group), timeout_s=lane.timeout_s, nanny=True)
        checked(answers, crew, "setting the import path of the nanny")


def _crew(client: Client, lane: Lane) -> Crew:
    crew = live_workers(client, timeout_s=lane.timeout_s)
    if not crew:
        raise ClusterError(
            "the cluster has no workers",
            where=f"scheduler {lane.scheduler}",
            expected="at least one worker with a nanny",
            found="none",
            todo="start workers (`dask worker ADDR --nanny`) or `daskperf lane up`",
        )
    alone = [w for w in crew if not w.nanny]
    if alone:
        raise ClusterError(
            "workers without a nanny cannot be given another wheel",
            where=", ".join(f"worker {w.label} on {w.host}" for w in alone),
            expected="a nanny for each worker, which restarts its process",
            found=f"{len(alone)} of {len(crew)} without",
            todo="start them with `dask worker --nanny` (the default)",
        )
    return crew


def _check_bytes(subject: Subject, data: bytes) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != subject.sha256:
        raise WheelError(
            "the wheel's bytes are not those that were promised",
            where=f"{subject.source}: {subject.file}",
            expected=f"sha256 {subject.sha256}, {subject.size_bytes} bytes",
            found=f"sha256 {found}, {len(data)} bytes",
            todo="fetch it again; if it stays so, the source holds a damaged wheel",
        )


def _install_here(subject: Subject, data: bytes, local_root: Path) -> dict[str, Any]:
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


def _compare_files(
    installs: tuple[Install, ...], local: Mapping[Arm, Any], subjects: Mapping[str, Subject]
) -> None:
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


@contextlib.contextmanager
def _attached(record: Deployment) -> Iterator[None]:
    """Attach the failed deployment to an error on its way out."""
    try:
        yield
    except DaskperfError as err:
        failed = dataclasses.replace(record, state="failed", error=str(err))
        err.deployment = failed  # type: ignore[attr-defined]
        raise


@contextlib.contextmanager
def _restoring(client: Client, record: Deployment, lane: Lane) -> Iterator[None]:
    """Restore when the body fails, and say so when that fails too."""
    try:
        yield
    except BaseException as err:
        try:
            _restore(client, record, lane)
        except DaskperfError as second:
            kind = ClusterError if isinstance(err, ClusterError) else DeployError
            raise kind(
                f"{describe(err)}; and what was there before could not be restored",
                where=second.where,
                expected=second.expected,
                found=f"{second.message}: {second.found}",
                todo=second.todo,
            ) from err
        if isinstance(err, ClusterError):
            raise DeployError(
                err.message,
                where=err.where,
                expected=err.expected,
                found=err.found,
                todo=f"{err.todo}; the workers serve what they served before",
            ) from err
        raise


def _shown(folders: list[str]) -> str:
    return ", ".join(folders) or "no wheel of daskperf"


def _found(answer: Any) -> str:
    if isinstance(answer, dict):
        return _shown(answer["paths"])
    return describe(answer) if answer is not None else "no answer"
