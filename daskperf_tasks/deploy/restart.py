"""Fresh worker processes: restart through the nannies and wait for every one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import LiveWorker, ask, call, live_workers
from daskperf_tasks.deploy.imports import process_id
from daskperf_tasks.deploy.install import kick
from daskperf_tasks.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

#: Limit of one question to a worker that may just be gone.
_ASK_S = 3.0


def restart(
    client: Client,
    crew: tuple[LiveWorker, ...],
    *,
    lost: tuple[LiveWorker, ...] = (),
    timeout_s: float,
) -> tuple[LiveWorker, ...]:
    """Restart the workers' processes and return them as they came back.

    The scheduler itself only counts workers, and may count one that is about to
    go: here each nanny has to bring a process that was not there before.

    Parameters
    ----------
    crew
        Workers that the scheduler knows.
    lost
        Workers that it does not know, but whose nannies answer.

    Raises
    ------
    ClusterError
        Naming the workers that are not back within ``timeout_s`` seconds.
    """
    wanted = {w.nanny: w for w in (*crew, *lost)}
    if not wanted:
        return ()
    old = ask(client, Sent(process_id), crew, timeout_s=_ASK_S) if crew else {}
    if crew:
        call(
            client,
            client.scheduler.restart_workers,
            workers=[w.address for w in crew],
            timeout=timeout_s,
            wait_for_workers=False,
            on_error="return",
            stimulus_id=f"daskperf-restart-{time.time()}",
            timeout_s=timeout_s + 5.0,
        )
    if lost:
        ask(client, Sent(kick), lost, timeout_s=_ASK_S, nanny=True)
    deadline = time.monotonic() + timeout_s
    fresh: dict[str | None, LiveWorker] = {}
    while True:
        seen = live_workers(client, timeout_s=timeout_s)
        waiting = tuple(
            w for w in seen if w.nanny in wanted and w.nanny not in fresh and w.status == "running"
        )
        answers = ask(client, Sent(process_id), waiting, timeout_s=_ASK_S) if waiting else {}
        for worker in waiting:
            answer = answers[worker.label]
            if isinstance(answer, list) and answer != old.get(wanted[worker.nanny].label):
                fresh[worker.nanny] = worker
        if len(fresh) == len(wanted):
            return tuple(sorted(fresh.values(), key=lambda w: w.label))
        if time.monotonic() > deadline:
            late = [w for nanny, w in wanted.items() if nanny not in fresh]
            raise ClusterError(
                "workers did not come back after their restart",
                where=", ".join(f"worker {w.label} on {w.host}" for w in late),
                expected=f"{len(wanted)} fresh worker processes within {timeout_s:g} s",
                found=f"{len(fresh)}",
                todo="look into the log of the nanny there; timeout_s in the lane file "
                "gives slow hosts more time",
            )
        time.sleep(0.1)
