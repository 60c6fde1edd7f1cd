"""The preflight of a lane: facts collected and judged."""

from __future__ import annotations

from datetime import UTC, datetime

from daskperf_tasks.model.facts import Lane, Preflight
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.preflight.facts import collect
from daskperf_tasks.preflight.libraries import Needs
from daskperf_tasks.preflight.rules import DISTRIBUTIONS, findings


def preflight(
    scheduler: str, *, lane: Lane, subject: Subject | None, needs: Needs | None = None
) -> Preflight:
    """Look at a lane before anything is measured on it.

    Parameters
    ----------
    scheduler
        Its address.
    lane
        The expected layout, and the time limit.
    subject
        The wheel that was deployed, or None.
    needs
        Library -> workloads of the plan that need it
        (:func:`daskperf_tasks.preflight.libraries.needs_of`); None: nothing is planned.

    Raises
    ------
    ClusterError
        When the scheduler or a worker does not answer within ``lane.timeout_s``.
    """
    names = list(DISTRIBUTIONS)
    located = []
    if subject is not None:
        located = [subject.name]
        if subject.name not in names:
            names.append(subject.name)
    wanted = needs or {}
    facts = collect(
        scheduler, lane=lane, distributions=names, located=located, libraries=sorted(wanted)
    )
    return Preflight(
        scheduler=scheduler,
        checked_at=datetime.now(UTC).isoformat(timespec="seconds"),
        facts=facts,
        findings=findings(facts, lane=lane, subject=subject, needs=wanted),
    )
