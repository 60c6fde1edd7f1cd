"""Deploying wheels on a lane, switching between them, and taking them off again.

::

    deploy ── clear ── ship once a host ── trial import ──┬── switch to "subject" ── verify
                                                          │          │ anything fails
                                     nothing was touched ─┘          └── restore, DeployError

The caller holds the lane's lease, so a wheel of ours that is found on the lane
was left by a run that died, and is taken off first. What workers go back to is
always their own environment.

A switch puts the wheel's folder first on the import path of every nanny,
restarts the worker processes, and asks each fresh one what it imports. A
wheel's dependencies are not installed: they belong to the workers' environment,
and an import that misses one says which.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.connect import live_workers, open_client
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.deploy.driver import check_bytes, compare_files, install_here
from daskperf_tasks.deploy.restart import restart
from daskperf_tasks.deploy.ship import Crew, ship
from daskperf_tasks.deploy.take_off import set_paths, take_off
from daskperf_tasks.deploy.verify import try_all, verify
from daskperf_tasks.errors import ClusterError, DaskperfError, DeployError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.subject import Deployment, Subject, WorkerCheck

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger("daskperf")

Wheels = Mapping[Arm, tuple[Subject, bytes]]


def deploy(scheduler: str, subjects: Wheels, *, lane: Lane, local_root: Path) -> Deployment:
    """Install the wheels on every host and make all workers serve the arm ``subject``.

    Wheels that a run before left on the lane are taken off first.

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
        back with it. The workers serve their own environment again; the record
        is attached as ``deployment``.
    ClusterError
        When the cluster cannot be worked with; ``deployment`` is attached once
        there is one.
    """
    for subject, data in subjects.values():
        check_bytes(subject, data)
    local = {
        arm: install_here(subject, data, local_root) for arm, (subject, data) in subjects.items()
    }
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        crew = _crew(client, lane, {w.name for w in lane.workers})
        left = take_off(client, nothing(scheduler), lane)["restarted"]
        if left:
            log.warning("took off what a run that died had left on %s", ", ".join(left))
            crew = _crew(client, lane, {w.label for w in crew})
        record = Deployment(
            scheduler=scheduler,
            state="deployed",
            previous={w.label: () for w in crew},
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
            compare_files(installs, local, record.subjects)
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
        crew = _crew(client, lane, {i.worker for i in deployment.installs})
        return _serve(client, crew, deployment, arm, lane)


def restore(scheduler: str, deployment: Deployment, *, lane: Lane) -> dict[str, Any]:
    """Make all workers serve their own environment and no wheel of ours.

    Needs nothing but the record, and may be called again: workers that do so
    already are left alone.

    Returns
    -------
    dict
        ``scheduler``, ``state``, ``seconds``, ``restarted`` and ``missing``
        (labels), ``workers``: label -> what an import of the subject gives now.

    Raises
    ------
    ClusterError
        When the scheduler does not answer, or a worker does not come back or
        still has a wheel of ours on its path.
    """
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        return take_off(client, deployment, lane)


def nothing(scheduler: str) -> Deployment:
    """Return the record of a run that has deployed nothing (that is known of)."""
    return Deployment(
        scheduler=scheduler,
        state="failed",
        previous={},
        installs=(),
        checks=(),
        local_folders={},
        switch_s=0.0,
    )


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
    set_paths(client, {w: [here[w.label].folder] for w in crew}, lane)
    fresh = restart(client, crew, timeout_s=lane.timeout_s)
    return verify(client, fresh, subject, here, lane)


def _crew(client: Client, lane: Lane, expected: set[str]) -> Crew:
    """Return the workers, once the expected ones are there or the time is up.

    A worker that has just died is on its way back; one that stays away is told
    by whoever compares.
    """
    deadline = time.monotonic() + lane.timeout_s
    while True:
        crew = live_workers(client, timeout_s=lane.timeout_s)
        there = {w.label for w in crew}
        if (crew and expected <= there) or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    if not crew:
        raise ClusterError(
            "the cluster has no workers",
            where=f"scheduler {lane.scheduler}",
            expected=f"at least one worker with a nanny within {lane.timeout_s:g} s",
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
            take_off(client, record, lane)
        except DaskperfError as second:
            kind = ClusterError if isinstance(err, ClusterError) else DeployError
            raise kind(
                f"{describe(err)}; and the wheel could not be taken off again",
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
                todo=f"{err.todo}; the workers serve their own environment again",
            ) from err
        raise
