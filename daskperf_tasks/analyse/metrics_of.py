"""One repeat's metrics of the registry, each a number or the reason for its absence."""

from __future__ import annotations

from daskperf_tasks.model.block import Sample
from daskperf_tasks.model.measured import Measured, Missing, known

MIB = float(2**20)


def metrics_of(sample: Sample, *, threads: int, effective_threads: Measured) -> dict[str, Measured]:
    """Compute every metric of the registry for one repeat.

    Parameters
    ----------
    sample
        The repeat.
    threads
        Threads that could run tasks at once.
    effective_threads
        The same, weighted by calibration, or why there is no weight.

    Returns
    -------
    dict
        Keys in the order of :data:`daskperf_tasks.model.metrics.METRICS`, whose
        ``formula`` says what is computed.
    """
    makespan: Measured = (
        sample.makespan_s
        if sample.makespan_s > 0
        else Missing(missing="the makespan is not above 0")
    )
    throughput = over(float(sample.units), makespan)
    capacity = times(float(threads), makespan)
    tasks: Measured = (
        float(sample.tasks) if sample.tasks > 0 else Missing(missing="the graph had no tasks")
    )
    return {
        "makespan_s": makespan,
        "throughput_per_s": throughput,
        "throughput_per_thread": over(throughput, float(threads)),
        "throughput_per_effective_thread": over(throughput, effective_threads),
        "aot_us": times(over(makespan, tasks), 1e6),
        "task_wall_ms": times(over(sample.task_wall_s, tasks), 1e3),
        "task_cpu_ms": times(over(sample.task_cpu_s, tasks), 1e3),
        "cpu_per_wall": over(sample.task_cpu_s, sample.task_wall_s),
        "busy_fraction": over(sample.task_wall_s, capacity),
        "transfer_mib": over(sample.transfer_bytes, MIB),
        "transfer_fraction": over(sample.transfer_s, capacity),
        "scheduler_cpu_us_per_task": times(over(sample.scheduler_cpu_s, tasks), 1e6),
        "client_cpu_s": sample.client_cpu_s,
        "worker_cpu_s": sample.worker_cpu_s,
        "peak_rss_mib": sample.peak_rss_mib,
        "success_rate": float(sample.success_rate),
    }


def over(numerator: Measured, denominator: Measured) -> Measured:
    """Divide; a missing part or a zero denominator gives its reason.

    Examples
    --------
    >>> over(6.0, 3.0)
    2.0
    >>> over(1.0, Missing(missing="not calibrated")).missing
    'not calibrated'
    >>> over(1.0, 0.0).missing
    'the denominator is zero'
    """
    if isinstance(numerator, Missing):
        return numerator
    if isinstance(denominator, Missing):
        return denominator
    if denominator == 0:
        return Missing(missing="the denominator is zero")
    return numerator / denominator


def times(left: Measured, right: Measured) -> Measured:
    """Multiply; a missing part gives its reason.

    Examples
    --------
    >>> times(2.0, 3.0)
    6.0
    """
    if isinstance(left, Missing):
        return left
    return right if isinstance(right, Missing) else left * right


def plus(left: Measured, right: Measured) -> Measured:
    """Add; a missing part gives its reason.

    Examples
    --------
    >>> plus(2.0, 3.0)
    5.0
    """
    if isinstance(left, Missing):
        return left
    return right if isinstance(right, Missing) else left + right


def first_reason(values: list[Measured], default: str) -> str:
    """Return the first reason among values, or ``default`` when all are numbers."""
    return next((v.missing for v in values if isinstance(v, Missing)), default)


def numbers(values: list[Measured]) -> list[float]:
    """Return the values that are numbers."""
    return [x for v in values if (x := known(v)) is not None]
