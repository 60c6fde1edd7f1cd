"""The registry of metrics: name, unit, direction, noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["lower", "higher", "none"]
Noise = Literal["wall", "cpu", "exact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure that daskperf reports.

    ``direction`` says which way is better; ``noise`` is ``wall`` for what the
    machine's load moves, ``cpu`` for CPU time, ``exact`` for counts.
    """

    name: str
    unit: str
    direction: Direction
    noise: Noise
    title: str
    formula: str


def _metric(
    name: str,
    unit: str,
    direction: Direction,
    noise: Noise,
    title: str,
    formula: str,
) -> Metric:
    return Metric(
        name=name, unit=unit, direction=direction, noise=noise, title=title, formula=formula
    )


METRICS: dict[str, Metric] = {
    m.name: m
    for m in (
        _metric(
            "makespan_s",
            "s",
            "lower",
            "wall",
            "makespan",
            "time around compute, graph submission to result",
        ),
        _metric(
            "throughput_per_s", "units/s", "higher", "wall", "throughput", "units / makespan_s"
        ),
        _metric(
            "throughput_per_thread",
            "units/s/thread",
            "higher",
            "wall",
            "throughput per thread",
            "throughput_per_s / total threads (seed protocol)",
        ),
        _metric(
            "throughput_per_effective_thread",
            "units/s/thread",
            "higher",
            "wall",
            "throughput per effective thread",
            "throughput_per_s / sum over workers of threads x calibration index",
        ),
        _metric(
            "aot_us", "us", "lower", "wall", "average time per task", "makespan / number of tasks"
        ),
        _metric("task_wall_ms", "ms", "lower", "wall", "task wall time", "task_wall_s / tasks"),
        _metric("task_cpu_ms", "ms", "lower", "cpu", "task CPU time", "task_cpu_s / tasks"),
        _metric(
            "cpu_per_wall", "1", "none", "cpu", "CPU / wall of tasks", "task_cpu_s / task_wall_s"
        ),
        _metric(
            "busy_fraction",
            "1",
            "none",
            "wall",
            "worker busy fraction",
            "task_wall_s / (threads x makespan_s)",
        ),
        _metric("transfer_mib", "MiB", "lower", "exact", "bytes moved", "transfer_bytes / 2**20"),
        _metric(
            "transfer_fraction",
            "1",
            "lower",
            "wall",
            "transfer share",
            "transfer_s / (threads x makespan_s)",
        ),
        _metric(
            "scheduler_cpu_us_per_task",
            "us",
            "lower",
            "cpu",
            "scheduler CPU per task",
            "scheduler_cpu_s / tasks",
        ),
        _metric("client_cpu_s", "s", "lower", "cpu", "client CPU", "CPU seconds of the client"),
        _metric(
            "worker_cpu_s", "s", "lower", "cpu", "worker CPU", "CPU seconds of all worker processes"
        ),
        _metric(
            "peak_rss_mib",
            "MiB",
            "lower",
            "exact",
            "peak memory of a worker",
            "largest resident set of a worker process",
        ),
        _metric(
            "success_rate",
            "1",
            "higher",
            "exact",
            "success rate",
            "units right and arrived / units asked for",
        ),
    )
}
