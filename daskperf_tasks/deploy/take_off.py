"""Taking the wheels of ours off a lane, so that workers serve their own environment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.address import address_host
from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import LiveWorker, ask, live_workers
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.deploy import imports, install, paths
from daskperf_tasks.deploy.restart import restart
from daskperf_tasks.deploy.ship import Crew, checked
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.facts import Lane
from daskperf_tasks.model.subject import Deployment

if TYPE_CHECKING:
    from distributed import Client

#: Limit for a nanny whose worker is gone: mostly it is gone as well.
_NANNY_S = 3.0


def take_off(client: Client, record: Deployment, lane: Lane) -> dict[str, Any]:
    """Take every wheel of ours off all workers and nannies; see ``switch.restore``.

    Also those that the record does not know: whoever holds the lane is alone on
    it, so they are left from a run that died.
    """
    started = time.monotonic()
    crew = live_workers(client, timeout_s=lane.timeout_s)
    subject = record.subjects.get("subject")
    names = (subject.import_name, subject.name) if subject else ("", "")
    before = ask(client, Sent(imports.serving), crew, *names, timeout_s=lane.timeout_s)

    def clean(worker: LiveWorker, answers: Mapping[str, Any]) -> bool:
        answer = answers.get(worker.label)
        return isinstance(answer, dict) and answer["paths"] == []

    watched = tuple(w for w in crew if w.nanny)
    nannies = ask(client, Sent(install.survey), watched, [], timeout_s=lane.timeout_s, nanny=True)
    checked(nannies, watched, "asking the nanny what it serves")
    stale = tuple(w for w in watched if not (clean(w, nannies) and clean(w, before)))
    lost = _lost(client, record, crew, lane)
    set_paths(client, {w: [] for w in (*stale, *lost)}, lane)
    fresh = restart(client, stale, lost=lost, timeout_s=lane.timeout_s)
    after = before | ask(client, Sent(imports.serving), fresh, *names, timeout_s=lane.timeout_s)
    wrong = [w for w in (*crew, *lost) if not clean(w, after)]
    if wrong:
        raise ClusterError(
            "workers still have a wheel of daskperf on their import path, or do not answer",
            where=", ".join(f"worker {w.label} on {w.host}" for w in wrong),
            expected="the workers' own environment and nothing before it",
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


def set_paths(client: Client, folders: Mapping[LiveWorker, list[str]], lane: Lane) -> None:
    """Give each nanny the wheel folders that its next worker process is to have first."""
    for group in {tuple(f) for f in folders.values()}:
        crew = tuple(w for w, f in folders.items() if tuple(f) == group)
        function = Sent(paths.set_wheel_paths)
        answers = ask(client, function, crew, list(group), timeout_s=lane.timeout_s, nanny=True)
        checked(answers, crew, "setting the import path of the nanny")


def _found(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(answer["paths"])
    return describe(answer) if answer is not None else "no answer"
