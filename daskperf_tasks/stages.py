"""One function a stage: load, decide in pure code, act, save.

Both drivers call these and nothing else: Airflow's tasks one by one, the
command line in one go (:func:`run_chain`). Stages meet only in the artifacts
of the run's spool, so each can be repeated by its key without doing anything
twice, and everything after ``measure`` can be rebuilt.

Every function takes the settings and a run id and returns small facts that
may be shown or passed on; data stays in the ledger.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from daskperf_tasks.asking import Ask, matrix_source, plan_of
from daskperf_tasks.derive import (
    close_run,
    derive,
    later_troubles,
    previous_run,
    report_inputs,
    report_into,
    validate_into,
)
from daskperf_tasks.errors import (
    DaskperfError,
    GateRed,
    PreflightBlocked,
    ValidationFailed,
)
from daskperf_tasks.model.codec import Stored, dumps
from daskperf_tasks.model.facts import Lane, LaneWorker, Preflight
from daskperf_tasks.model.ids import Arm, new_run_id
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import (
    Manifest,
)
from daskperf_tasks.model.subject import Deployment, Subject, SubjectSet
from daskperf_tasks.settings import Settings
from daskperf_tasks.stage_clock import stage_clock
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.runs import load, load_blocks, load_or_none

if TYPE_CHECKING:
    from daskperf_tasks.run.spec import Layout

log = logging.getLogger("daskperf")

T = TypeVar("T", bound=Stored)
Facts = dict[str, Any]

#: A lease is renewed after every block; a run that is silent for longer than this
#: (seconds), or than three blocks may take, has lost its lane.
LEASE_S = 900.0


def start(settings: Settings, ask: Ask) -> Facts:
    """Choose the wheels and plan the run.

    Returns
    -------
    dict
        ``run_id``, ``rounds`` (indices to measure), ``cells``, ``subject``,
        ``reference``, ``estimate_s``.

    Raises
    ------
    MatrixError, WheelError
        Before anything is written.
    """
    from daskperf_tasks.deploy import choice
    from daskperf_tasks.deploy.lane_file import load_lane
    from daskperf_tasks.deploy.wheel_workloads import workloads_with

    begun, now = time.perf_counter(), datetime.now(UTC)
    run_id = new_run_id(now, secrets.token_bytes(3))
    matrix_source(settings, ask)  # a wrong name is told before a wheel is built
    lane = load_lane(settings.lane, scheduler=ask.scheduler)

    # The wheel comes before the plan: it may bring the workloads that the matrix names.
    subject, data = choice.choose_subject(settings, ask.wheel)
    wheels = settings.cache / "wheels"
    with workloads_with(subject, data, local_root=wheels) as known:
        arms: tuple[Arm, ...] = ("subject",)
        plan = plan_of(settings, ask, run_id=run_id, created_at=now, arms=arms, known=known)
        choice.check_fits(subject, plan, known.registry, known.own)
        chosen = choice.choose_reference(
            settings, ask.against, subject, before=run_id, lane=lane.name, matrix=plan.matrix_name
        )
        reference, reference_data, reason = choice.keep_comparable(
            chosen, plan=plan, subject=subject, own=known.own, local_root=wheels
        )
        if reference is not None:
            arms = ("subject", "reference")
            plan = plan_of(settings, ask, run_id=run_id, created_at=now, arms=arms, known=known)

    spool = _spool(settings)
    for wheel, payload in ((subject, data), (reference, reference_data)):
        if wheel is not None and payload is not None:
            spool.put(keys.wheel_file(wheel.sha256, wheel.file), payload)
    subjects = SubjectSet(subject=subject, reference=reference, reference_reason=reason)
    _save(spool, run_id, "subject.json", subjects)
    _save(spool, run_id, "lane.json", lane)
    with stage_clock(spool, run_id, "start", since=begun):
        _save(spool, run_id, "plan.json", plan)
    log.info("run %s: %d cells, %d rounds", run_id, len(plan.cells), len(plan.rounds))
    log.info("wheel under test: %s (%s)", subject.file, subject.chosen_by)
    log.info("reference: %s", reference.file if reference else reason)
    return {
        "run_id": run_id,
        "rounds": [r.index for r in plan.rounds],
        "round_names": [f"round {r.index + 1} of {len(plan.rounds)}, {r.arm}" for r in plan.rounds],
        "cells": len(plan.cells),
        "subject": f"{subject.name} {subject.version}",
        "reference": f"{reference.name} {reference.version}" if reference else None,
        "estimate_s": round(plan.estimate_s, 1),
    }


def deploy(settings: Settings, run_id: str) -> Facts:
    """Take the lane, ship the wheels to every host, switch to the subject, verify.

    Raises
    ------
    LaneBusyError
        When another run holds the lane.
    ClusterError
        When the scheduler or a worker does not answer.
    DeployError
        When the wheel cannot be installed or imported; the workers serve their
        own environment again.
    """
    from daskperf_tasks.deploy import switch

    spool = _spool(settings)
    subjects = load(spool, run_id, "subject.json", SubjectSet)
    lane = _lane(spool, run_id)
    plan = load(spool, run_id, "plan.json", Plan)
    wheels: dict[Arm, tuple[Subject, bytes]] = {
        arm: (wheel, spool.get(keys.wheel_file(wheel.sha256, wheel.file)))
        for arm, wheel in _arms(subjects)
    }
    with stage_clock(spool, run_id, "deploy"):
        _hold(lane, plan)
        try:
            deployment = switch.deploy(
                lane.scheduler, wheels, lane=lane, local_root=settings.cache / "wheels"
            )
        except DaskperfError as err:
            failed = getattr(err, "deployment", None)
            if failed is not None:
                _save(spool, run_id, "deployment.json", failed, replace=True)
            raise
        _save(spool, run_id, "deployment.json", deployment, replace=True)
    hosts = sorted({i.host for i in deployment.installs})
    return {"workers": len(deployment.checks), "hosts": hosts, "switch_s": deployment.switch_s}


def preflight(settings: Settings, run_id: str) -> Facts:
    """Compare versions, layout and hosts before anything is measured.

    Raises
    ------
    PreflightBlocked
        When a finding forbids measuring; ``preflight.json`` has all of them.
    """
    from daskperf_tasks.preflight.check import preflight as check
    from daskperf_tasks.preflight.libraries import needs_with

    spool = _spool(settings)
    plan = load(spool, run_id, "plan.json", Plan)
    subject = load(spool, run_id, "subject.json", SubjectSet).subject
    data = spool.get(keys.wheel_file(subject.sha256, subject.file))
    lane = _lane(spool, run_id)
    with stage_clock(spool, run_id, "preflight"):
        needs = needs_with(plan, subject, data, local_root=settings.cache / "wheels")
        seen = check(lane.scheduler, lane=lane, subject=subject, needs=needs)
        _save(spool, run_id, "preflight.json", seen, replace=True)
        for finding in seen.findings:
            log.log(logging.INFO if finding.level == "note" else logging.WARNING, "%s", finding)
        blocking = [f for f in seen.findings if f.level == "block"]
        if blocking:
            raise PreflightBlocked(
                f"{blocking[0]}" + (f" (and {len(blocking) - 1} more)" if blocking[1:] else ""),
                where=f"lane {lane.name} at {lane.scheduler}",
                found="\n".join(f"  {f}" for f in blocking),
                todo="repair the lane and start the run again; nothing was measured",
            )
    return {
        "workers": len(seen.workers),
        "warnings": sum(f.level == "warn" for f in seen.findings),
        "notes": sum(f.level == "note" for f in seen.findings),
    }


def calibrate(settings: Settings, run_id: str) -> Facts:
    """Measure how fast each worker is, for throughput per effective thread."""
    from daskperf_tasks.preflight.calibrate import calibrate as measure_speed

    spool = _spool(settings)
    lane = _lane(spool, run_id)
    with stage_clock(spool, run_id, "calibrate"):
        seen = measure_speed(lane.scheduler, lane=lane)
        _save(spool, run_id, "calibration.json", seen, replace=True)
    for worker in seen.workers:
        log.info(
            "%s on %s: median %.1f ms, index %.2f%s",
            worker.worker,
            worker.host,
            worker.median_s * 1e3,
            worker.index,
            " (clipped)" if worker.clipped else "",
        )
    if seen.note:
        log.info("%s", seen.note)
    return {"workers": len(seen.workers), "stable": seen.stable}


def measure(settings: Settings, run_id: str, round_index: int) -> Facts:
    """Measure what is still missing of one round, in fresh worker processes.

    A block that is valid already is not measured again, so a retry never
    duplicates a sample. A failed cell is data, not an exception.

    Raises
    ------
    ClusterError
        When the lane does not answer.
    LaneBusyError
        When the lease ran out and another run took the lane.
    """
    from daskperf_tasks.deploy import lease, switch
    from daskperf_tasks.run.done import unprofiled
    from daskperf_tasks.run.spec import round_spec
    from daskperf_tasks.run.supervise import run_round

    spool = _spool(settings)
    plan = load(spool, run_id, "plan.json", Plan)
    subjects = load(spool, run_id, "subject.json", SubjectSet)
    deployment = load(spool, run_id, "deployment.json", Deployment)
    lane = _lane(spool, run_id)
    round_ = plan.rounds[round_index]

    seen = load(spool, run_id, "preflight.json", Preflight)
    renew = lease.renewer(lane, run_id, _lease_s(plan))

    def tell(line: str) -> None:
        log.info("%s", line)
        renew()

    spec = round_spec(
        plan,
        round_,
        subject=subjects.of(round_.arm),
        wheel_folder=deployment.local_folders[round_.arm],
        scheduler=lane.scheduler,
        layout=_layout(seen),
        workers=tuple(LaneWorker(name=w.name, nthreads=w.nthreads) for w in seen.workers),
        ledger=str(settings.spool),
        blocks=load_blocks(spool, run_id),
        open_timeout_s=max(60.0, lane.timeout_s),
    )
    if not spec.turns and not unprofiled(spec, spool):
        log.info("round %d: nothing is left to measure", round_index + 1)
        return {"round": round_index, "valid": 0, "invalid": 0, "failed": 0}
    with stage_clock(spool, run_id, f"measure-{round_index}"):
        _hold(lane, plan)
        switch.switch(lane.scheduler, deployment, round_.arm, lane=lane)
        report = run_round(spec, store=spool, log=tell)
    return {
        "round": round_index,
        "valid": report.valid,
        "invalid": report.invalid,
        "failed": report.failed,
        "seconds": round(report.seconds, 1),
    }


def restore(settings: Settings, run_id: str) -> Facts:
    """Take the wheels off the lane and give it back; harmless when nothing was deployed.

    Raises
    ------
    ClusterError
        When the scheduler of a deployed lane does not answer, or a worker does
        not come back or is gone; the lease is given back all the same.
    """
    from daskperf_tasks.deploy.give_back import give_back

    spool = _spool(settings)
    deployment = load_or_none(spool, run_id, "deployment.json", Deployment)

    def save(done: Facts) -> None:
        document = {"schema": "daskperf.restore", "version": 1} | done
        _put_json(spool, run_id, "restore.json", document)

    with stage_clock(spool, run_id, "restore"):
        why = give_back(_lane(spool, run_id), run_id, deployment, save=save)
    return {"restored": False, "why": why} if why else {"restored": True}


def analyse(settings: Settings, run_id: str) -> Facts:
    """Make summaries, comparisons, diagnosis and verdicts from the raw results."""
    spool = _spool(settings)
    with stage_clock(spool, run_id, "analyse"):
        derived = derive(
            spool, run_id, previous_of=lambda: previous_run(settings.store, spool, run_id)
        )
    cells = [c for s in derived.summaries.values() for c in s.cells]
    return {
        "measured": sum(c.state == "measured" for c in cells),
        "failed": sum(c.state == "failed" for c in cells),
        "missing": sum(c.state == "missing" for c in cells),
        "bottleneck": derived.diagnosis.primary,
    }


def validate(settings: Settings, run_id: str) -> Facts:
    """Check the run's tables; the results are kept whatever they are.

    Raises
    ------
    ValidationFailed
        Naming each check that failed.
    """
    spool = _spool(settings)
    with stage_clock(spool, run_id, "validate"):
        seen = validate_into(spool, run_id)
        failed = [c for c in seen.checks if not c.success]
        for check in failed:
            log.error(
                "%s / %s: expected %s, found %s",
                check.suite,
                check.name,
                check.expected,
                check.found,
            )
        if failed:
            raise ValidationFailed(
                f"{len(failed)} of {len(seen.checks)} checks failed",
                where=run_id,
                found="; ".join(c.name for c in failed),
                todo="validation/results.json has what was expected and found; the run is "
                "published as failed",
            )
    return {"checks": len(seen.checks), "failed": 0}


def report(settings: Settings, run_id: str) -> Facts:
    """Write ``notes.md`` and ``report.html``."""
    spool = _spool(settings)
    with stage_clock(spool, run_id, "report"):
        written = report_into(spool, run_id, store_url=settings.store)
    return {"written": written}


def publish(settings: Settings, run_id: str) -> Facts:
    """Close the run with its manifest and publish it, after what waits from earlier nights.

    The manifest is written into the spool first, so that a store that is away
    delays the run and loses nothing.

    Raises
    ------
    StoreError
        When the store does not answer; the run waits in the spool.
    """
    from daskperf_tasks.publish.publish import drain
    from daskperf_tasks.publish.publish import publish as upload
    from daskperf_tasks.store.open import open_store

    spool = _spool(settings)
    manifest = close_run(spool, run_id)
    with stage_clock(spool, run_id, "publish"):
        store = open_store(settings.store)
        done = upload(run_id, spool, store)
        earlier = drain(spool, store)
    for late in earlier.published:
        log.info("published run %s, which had waited in the spool", late)
    for late, why in earlier.failed.items():
        log.warning("run %s still waits in the spool: %s", late, why)
    return {
        "state": manifest.state,
        "store": store.url,
        "files": done.files,
        "size_mib": round(done.size_bytes / 2**20, 2),
        "earlier_runs": list(earlier.published),
    }


def close(settings: Settings, run_id: str) -> Facts:
    """Close a run with its manifest and leave it in the spool."""
    return {"state": close_run(_spool(settings), run_id).state}


def forget(settings: Settings, run_id: str) -> None:
    """Remove a run that never began: no lane, no blocks."""
    spool = _spool(settings)
    if load_blocks(spool, run_id):
        return
    for stored in list(spool.list(keys.run_prefix(run_id))):
        spool.delete(stored.key)


def notify(settings: Settings, run_id: str) -> Facts:
    """Tell the configured channels, or say that there are none."""
    from daskperf_tasks.publish.notify import notify as tell
    from daskperf_tasks.report.message import message

    spool = _spool(settings)
    with stage_clock(spool, run_id, "notify"):
        text = message(report_inputs(spool, run_id, store_url=settings.store))
        title, _, body = text.partition("\n")
        said = tell(title, body or title, settings.notify)
    log.info("%s", said)
    return {"said": said}


def gate(settings: Settings, run_id: str) -> Facts:
    """Pass when the night is green.

    Raises
    ------
    GateRed
        With every reason in plain words.
    """
    spool = _spool(settings)
    manifest = load_or_none(spool, run_id, keys.MANIFEST, Manifest)
    reasons = list(manifest.reasons) if manifest else ["the run was never closed with a manifest"]
    later = later_troubles(spool, run_id)
    if manifest is None or not manifest.green or later:
        raise GateRed(
            f"run {run_id} is red\n" + "\n".join(f"  - {r}" for r in (*reasons, *later)),
            todo=f"`daskperf show {run_id}` has the whole summary",
        )
    return {"green": True, "state": manifest.state}


# --- what the stages share ---------------------------------------------------


def _spool(settings: Settings) -> FilesystemStore:
    return FilesystemStore(settings.spool)


def _lane(spool: ArtifactStore, run_id: str) -> Lane:
    return load(spool, run_id, "lane.json", Lane)


def _lease_s(plan: Plan) -> float:
    return max(LEASE_S, 3 * max((c.request.timeout_s for c in plan.cells), default=0.0))


def _hold(lane: Lane, plan: Plan) -> None:
    """Take the lane, or go on holding it."""
    from daskperf_tasks.deploy import lease

    lease.acquire(lane, plan.run_id, _lease_s(plan), while_alive=plan.trigger == "cli")


def _layout(seen: Preflight) -> Layout:
    """Return the layout that the local environments copy from the lane's workers."""
    from daskperf_tasks.run.spec import Layout

    return Layout(
        workers=max(1, len(seen.workers)),
        threads=max(1, min((w.nthreads for w in seen.workers), default=1)),
    )


def _arms(subjects: SubjectSet) -> Iterator[tuple[Arm, Subject]]:
    yield "subject", subjects.subject
    if subjects.reference is not None:
        yield "reference", subjects.reference


def _save(
    spool: ArtifactStore, run_id: str, name: str, document: Stored, *, replace: bool = False
) -> None:
    spool.put(keys.run_key(run_id, *name.split("/")), dumps(document).encode(), replace=replace)


def _put_json(spool: ArtifactStore, run_id: str, name: str, document: Facts) -> None:
    data = json.dumps(document, indent=1, ensure_ascii=False).encode()
    spool.put(keys.run_key(run_id, name), data, replace=True)
