"""Calibrating a lane: how fast each worker is while all are busy."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING

from daskperf_tasks.analyse.normalise import MAX_RELATIVE_MAD, RULE, calibrate_index, index_of, mad
from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import LiveWorker, ask, live_workers, open_client
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.facts import Calibration, Lane, WorkerCalibration
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.preflight.kernel import KERNEL, calibrate_worker
from daskperf_tasks.preflight.local_host import calibrate_here

if TYPE_CHECKING:
    from distributed import Client

Runs = Mapping[str, tuple[float, ...]]
#: Seconds that one kernel run may take at the very most, on a slow and busy host.
_SLOWEST_RUN_S = 2.0
#: Times the runs of a second try after an unstable first one.
_MORE = 2


def calibrate(scheduler: str, *, lane: Lane, runs: int = 7) -> Calibration:
    """Measure every worker's speed with all threads of all workers busy at once.

    When the runs of a worker spread too much, all is done again once with twice
    the runs; the second outcome counts.

    Parameters
    ----------
    scheduler
        Its address.
    lane
        Gives the time limit of answers.
    runs
        Kernel runs of each thread, after one that warms up.

    Raises
    ------
    ClusterError
        When the scheduler or a worker does not answer, or there is no worker.
    """
    with open_client(scheduler, timeout_s=lane.timeout_s) as client:
        crew = live_workers(client, timeout_s=lane.timeout_s)
        if not crew:
            raise ClusterError(
                "there is no worker to calibrate",
                where=f"scheduler {scheduler}",
                expected="at least one worker",
                found="none",
                todo="start workers, or run `daskperf lane up`",
            )
        times = _run(client, crew, runs, lane)
        done = runs
        if any(mad(t) > MAX_RELATIVE_MAD * statistics.median(t) for t in times.values()):
            done = _MORE * runs
            times = _run(client, crew, done, lane)
    here = calibrate_here([w.nthreads for w in crew], runs=done, timeout_s=_limit(done, lane))
    return summarise(crew, times, here, repeated=done != runs)


def summarise(
    crew: tuple[LiveWorker, ...],
    times: Runs,
    here: tuple[tuple[float, ...], ...] | Missing,
    *,
    repeated: bool,
) -> Calibration:
    """Turn run times into the calibration of a lane (pure).

    Parameters
    ----------
    crew
        The workers.
    times
        Worker's label -> seconds of its runs.
    here
        The same of the processes on the driver's host, one for each worker.
    repeated
        Whether these are the runs of a second try.
    """
    medians = {w.label: statistics.median(times[w.label]) for w in crew}
    mads = {w.label: mad(times[w.label]) for w in crew}
    found = calibrate_index(medians, mads, {w.label: w.nthreads for w in crew})
    workers = tuple(
        WorkerCalibration(
            worker=w.label,
            host=w.host,
            nthreads=w.nthreads,
            runs_s=times[w.label],
            median_s=medians[w.label],
            mad_s=mads[w.label],
            raw_index=found.workers[w.label].raw,
            index=found.workers[w.label].index,
            clipped=found.workers[w.label].clipped,
            stable=found.workers[w.label].stable,
        )
        for w in crew
    )
    notes = []
    if repeated:
        notes.append("the first runs spread too much and were repeated with more")
    if found.unstable:
        notes.append(
            f"unstable: {', '.join(found.unstable)} (MAD above {MAX_RELATIVE_MAD:.0%} of the "
            "median); calibrate again with more repeats on a quiet lane before reading "
            "throughput per effective thread"
        )
    if found.clipped:
        notes.append(f"clipped: {', '.join(found.clipped)}")
    return Calibration(
        kernel=KERNEL,
        rule=RULE,
        workers=workers,
        total_threads=found.total_threads,
        effective_threads=found.effective_threads,
        local_effective_threads=_local(crew, medians, here),
        stable=not found.unstable,
        note="; ".join(notes) or "stable, nothing clipped",
    )


def _local(
    crew: tuple[LiveWorker, ...],
    medians: Mapping[str, float],
    here: tuple[tuple[float, ...], ...] | Missing,
) -> Measured:
    """Threads of the local layout, weighed against the lane's median worker by the same rule."""
    if isinstance(here, Missing):
        return here
    typical = statistics.median(1.0 / m for m in medians.values())
    total = 0.0
    for worker, runs in zip(crew, here, strict=True):
        median = statistics.median(runs)
        total += worker.nthreads * index_of(1.0 / median / typical, mad(runs) / median).index
    return total


def _run(client: Client, crew: tuple[LiveWorker, ...], runs: int, lane: Lane) -> Runs:
    limit = _limit(runs, lane)
    answers = ask(client, Sent(calibrate_worker), crew, runs, timeout_s=limit)
    for worker in crew:
        answer = answers[worker.label]
        if isinstance(answer, BaseException):
            raise ClusterError(
                "a worker could not be calibrated",
                where=f"worker {worker.label} on {worker.host}",
                expected=f"{runs} kernel runs within {limit:g} s",
                found=describe(answer),
                todo="look into the log of that worker, and what else runs on its host",
            ) from answer
    return {w.label: tuple(float(v) for v in answers[w.label]) for w in crew}


def _limit(runs: int, lane: Lane) -> float:
    return lane.timeout_s + (runs + 1) * _SLOWEST_RUN_S
