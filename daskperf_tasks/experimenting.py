"""``daskperf experiment``: the chain for one experiment, on a lane of its own if need be."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from daskperf_tasks.asking_experiment import ask_experiment
from daskperf_tasks.chain import ChainOutcome, run_chain
from daskperf_tasks.cluster.reach import greet
from daskperf_tasks.errors import DaskperfError
from daskperf_tasks.model.codec import encode
from daskperf_tasks.model.experiment import Experiments, Kind, PlannedExperiment
from daskperf_tasks.own_lane import own_allocation, own_lane
from daskperf_tasks.settings import Settings
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.runs import load_or_none

log = logging.getLogger("daskperf")

#: Seconds for the scheduler of an embedded stack to answer, if it runs.
_ANSWER_S = 5.0


def run_experiment(
    settings: Settings,
    kind: Kind,
    given: Mapping[str, object],
    *,
    rounds: int | None = None,
    repeats: int | None = None,
    wheel: str | None = None,
    scheduler: str | None = None,
) -> ChainOutcome:
    """Measure one experiment and tell its answer.

    Without a scheduler, and without a lane file or with that of an embedded
    stack that does not run, a lane of this machine is started for the time of
    the run.

    Parameters
    ----------
    given
        Option -> value or values.
    rounds, repeats, wheel, scheduler
        As for :func:`daskperf_tasks.asking_experiment.ask_experiment`.

    Raises
    ------
    InputError
        Naming each option that is wrong, before anything is started.
    ClusterError
        When a lane of its own does not come up.
    """
    alone = scheduler is None and _no_lane(settings.lane)
    ask, experiment = ask_experiment(
        settings,
        kind,
        given,
        trigger="cli",
        rounds=rounds,
        repeats=repeats,
        wheel=wheel,
        scheduler=scheduler,
        allocation=own_allocation() if alone else None,
    )
    log.info("%s", expected_text(experiment))
    if alone:
        log.info("there is no lane: one is started on this machine for this command")
    with own_lane() if alone else nullcontext(scheduler) as address:
        done = run_chain(settings, replace(ask, scheduler=address))
    return _answered(settings, done, experiment)


def _no_lane(path: Path) -> bool:
    """Whether there is no lane file, or one that the embedded stack wrote and left behind."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False  # whoever reads it next says what is wrong with it
    if document.get("managed") is not True:
        return False
    try:
        greet(str(document.get("scheduler", "")), timeout_s=_ANSWER_S)
    except DaskperfError:
        return True
    return False


def expected_text(experiment: PlannedExperiment) -> str:
    """Return the question, and the prediction that the plan holds, in words."""
    lines = [experiment.question]
    if experiment.prediction is not None:
        lines += [f"prediction: {' < '.join(experiment.prediction.order)} (fastest first)"]
        lines += [f"because: {experiment.prediction.text}"]
    return "\n".join(lines)


def _answered(
    settings: Settings, done: ChainOutcome, experiment: PlannedExperiment
) -> ChainOutcome:
    """Return a chain's outcome with the experiment's answer, as far as there is one."""
    from daskperf_tasks.report.experiments import experiment_text

    run_id = str(done.facts["run_id"])
    answers = load_or_none(FilesystemStore(settings.spool), run_id, "experiments.json", Experiments)
    results = answers.results if answers is not None else ()
    parts = [experiment_text(experiment, r) for r in results if r.name == experiment.name]
    if not parts:
        parts = [done.text]
    report = settings.spool / keys.run_key(run_id, "report.html")
    there: str | None = None
    if report.is_file():
        there = str(report)
        parts.append(f"plot and whole report: {report}")
    state = "green" if done.facts.get("green") else "red"
    parts.append(f"run {run_id} is {state}" + "".join(f"\n  - {r}" for r in _reasons(done)))
    facts: dict[str, Any] = done.facts | {
        "experiment": encode(experiment),
        "results": [encode(r) for r in results],
        "report": there,
    }
    return ChainOutcome(facts=facts, text="\n\n".join(parts), exit_code=done.exit_code)


def _reasons(done: ChainOutcome) -> list[str]:
    return [str(reason) for reason in done.facts.get("reasons", ())]
