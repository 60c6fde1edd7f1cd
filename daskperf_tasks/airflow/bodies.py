"""What each task does: call its stage, tell a reader what came out, map errors to Airflow's.

A body gets the run's id by XCom from ``start`` (as ``daskperf_run``: ``run_id``
is Airflow's own name for its own id) and gives back the stage's small facts;
all data stays in the ledger.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException

from daskperf_tasks.airflow.forms import KEYS, check_conf, experiment_params
from daskperf_tasks.airflow.store_access import store_environment
from daskperf_tasks.errors import DaskperfError, InfraError, LaneBusyError
from daskperf_tasks.settings import Settings, read_settings

if TYPE_CHECKING:
    from daskperf_tasks.asking import Ask

log = logging.getLogger(__name__)

Facts = dict[str, Any]
#: States of a task instance that leave nothing to say at the gate.
_FINE = frozenset({"success"})
_IN_WORDS = {
    "failed": "failed; its log says why",
    "upstream_failed": "did not run, because an earlier task failed",
    "skipped": "was left out",
    "removed": "was left out",
    None: "did not run",
}


def run_stage(name: str, call: Callable[[Settings], Facts]) -> Facts:
    """Run a stage with the store's credentials and log its facts.

    Parameters
    ----------
    name
        The stage, for the log.
    call
        Takes the settings, gives the facts.

    Raises
    ------
    InfraError
        As it came: Airflow may try again.
    AirflowFailException
        For every other error of ours: neither a wrong request nor a broken
        wheel gets better by trying again.
    """
    settings = read_settings()
    log.info("%s: begins (state folder %s)", name, settings.home)
    with store_environment(settings):
        try:
            facts = call(settings)
        except DaskperfError as err:
            log.error("%s: %s error: %s", name, err.kind, err)
            if isinstance(err, InfraError):
                raise
            raise AirflowFailException(str(err)) from err
    for line in fact_lines(facts):
        log.info("%s: %s", name, line)
    return facts


def fact_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return facts as lines for the log.

    Examples
    --------
    >>> fact_lines({"valid": 4, "cells": ["a", "b"], "note": None})
    ['valid = 4', 'cells = a, b']
    """
    lines = []
    for key, value in facts.items():
        if value is None:
            continue
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        lines.append(f"{key} = {shown}")
    return lines


def round_requests(facts: Mapping[str, Any]) -> list[Facts]:
    """Return what each mapped measuring task gets.

    Examples
    --------
    >>> round_requests({"run_id": "R", "rounds": [0], "round_names": ["round 1 of 1, subject"]})
    [{'daskperf_run': 'R', 'round_index': 0, 'label': 'round 1 of 1, subject'}]
    """
    return [
        {"daskperf_run": facts["run_id"], "round_index": index, "label": label}
        for index, label in zip(facts["rounds"], facts["round_names"], strict=True)
    ]


def start(
    *,
    trigger: str,
    experiment: str | None = None,
    params: Any = None,
    dag_run: Any = None,
    ti: Any = None,
) -> list[Facts]:
    """Check the request, build and choose the wheel, write the plan."""
    try:
        check_conf(dag_run.conf, KEYS if experiment is None else experiment_params(experiment))
    except DaskperfError as err:
        raise AirflowFailException(str(err)) from err
    asked = dict(params)

    def call(settings: Settings) -> Facts:
        from daskperf_tasks import stages

        if experiment is None:
            return stages.start(settings, _asked_matrix(asked, trigger))
        return stages.start(settings, _asked_experiment(settings, asked, trigger, experiment))

    facts = run_stage("start", call)
    ti.xcom_push(key="run_id", value=facts["run_id"])
    return round_requests(facts)


def _asked_matrix(asked: Facts, trigger: str) -> Ask:
    from daskperf_tasks.asking import Ask

    return Ask(
        matrix=asked["matrix"],
        trigger=trigger,
        wheel=asked["wheel"],
        against=asked["against"],
        scheduler=asked["scheduler"],
        n=tuple(asked["n"]) if asked["n"] else None,
        repeats=asked["repeats"],
    )


def _asked_experiment(settings: Settings, asked: Facts, trigger: str, kind: str) -> Ask:
    from daskperf_tasks.asking_experiment import ask_experiment
    from daskperf_tasks.plan.experiments.kinds import KINDS

    spec = KINDS[kind]
    ask, planned = ask_experiment(
        settings,
        spec.kind,
        {option.name: asked[option.name] for option in spec.options},
        trigger=trigger,
        rounds=asked["rounds"],
        repeats=asked["repeats"],
        wheel=asked["wheel"],
        scheduler=asked["scheduler"],
    )
    log.info("%s", planned.question)
    return ask


def deploy(daskperf_run: str) -> Facts:
    """Take the lane and put the wheel on every worker.

    Airflow runs no teardown for a setup that failed, so a deploy that fails
    or is stopped gives the lane back itself.
    """
    from daskperf_tasks import stages

    try:
        return run_stage("deploy", lambda s: stages.deploy(s, daskperf_run))
    except LaneBusyError:
        raise  # nothing was taken
    except BaseException:
        log.info("deploy: did not end well; the lane is given back")
        with contextlib.suppress(DaskperfError, AirflowFailException):
            restore(daskperf_run)
        raise


def preflight(daskperf_run: str) -> Facts:
    """Compare what is there with what should be there."""
    from daskperf_tasks import stages

    return run_stage("preflight", lambda s: stages.preflight(s, daskperf_run))


def calibrate(daskperf_run: str) -> Facts:
    """Measure how fast each worker is."""
    from daskperf_tasks import stages

    return run_stage("calibrate", lambda s: stages.calibrate(s, daskperf_run))


def measure(daskperf_run: str, round_index: int, label: str) -> Facts:
    """Measure one round; blocks that are valid already are not measured again."""
    from daskperf_tasks import stages

    return run_stage(label, lambda s: stages.measure(s, daskperf_run, round_index))


def restore(daskperf_run: str) -> Facts:
    """Give the lane back as it was found."""
    from daskperf_tasks import stages

    return run_stage("restore", lambda s: stages.restore(s, daskperf_run))


def analyse(daskperf_run: str) -> Facts:
    """Make summaries, comparison, diagnosis and verdicts of the raw results."""
    from daskperf_tasks import stages

    return run_stage("analyse", lambda s: stages.analyse(s, daskperf_run))


def validate(daskperf_run: str) -> Facts:
    """Check the run's tables."""
    from daskperf_tasks import stages

    return run_stage("validate", lambda s: stages.validate(s, daskperf_run))


def report(daskperf_run: str) -> Facts:
    """Write notes and report."""
    from daskperf_tasks import stages

    return run_stage("report", lambda s: stages.report(s, daskperf_run))


def publish(daskperf_run: str) -> Facts:
    """Upload the run, read it back, write the manifest."""
    from daskperf_tasks import stages

    return run_stage("publish", lambda s: stages.publish(s, daskperf_run))


def notify(daskperf_run: str) -> Facts:
    """Tell the channels, if there are any."""
    from daskperf_tasks import stages

    return run_stage("notify", lambda s: stages.notify(s, daskperf_run))


def troubles(states: Mapping[str, str | None], *, without: str = "gate") -> list[str]:
    """Say in words which tasks of a run did not succeed.

    Parameters
    ----------
    states
        Task (mapped ones with ``_<index>``) -> state.
    without
        The task that asks.

    Examples
    --------
    >>> troubles({"deploy": "success", "measure_1": "failed", "gate": "running"})
    ['measure_1 failed; its log says why']
    """
    return [
        f"{name} {_IN_WORDS.get(state, f'is {state}')}"
        for name, state in states.items()
        if name != without and state not in _FINE
    ]


def gate(daskperf_run: str, *, ti: Any = None, dag_run: Any = None) -> Facts:
    """Turn the run red when a task or anything required failed."""
    from daskperf_tasks import stages

    states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[dag_run.run_id])
    reasons = troubles(states.get(dag_run.run_id, {}))
    facts: Facts = {}
    try:
        facts = run_stage("gate", lambda s: stages.gate(s, daskperf_run))
    except (DaskperfError, AirflowFailException) as err:
        reasons.append(str(err))
    if reasons:
        text = f"run {daskperf_run} is red:\n" + "\n".join(f"- {reason}" for reason in reasons)
        raise AirflowFailException(text)
    log.info("run %s is green", daskperf_run)
    return facts
