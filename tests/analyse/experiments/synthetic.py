"""Synthetic experiments: points whose makespans follow a law that is known, with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daskperf_tasks.model.block import BlockResult, Sample
from daskperf_tasks.model.experiment import Kind, PlannedExperiment, Point, Prediction
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import Environment
from tests.analyse.synthetic_run import cell, noisy_blocks, planned, sample

ENVIRONMENTS: dict[str, Any] = {
    "local": {
        "driver": {
            "python": "3.11.9",
            "cpu_model": "Example CPU",
            "cores": 8,
            "cores_allowed": 4,
            "cores_quota": None,
            "memory_bytes": 8 * 2**30,
            "settings": {"OMP_NUM_THREADS": "1"},
            "native_threads": {"libopenblas": 1},
            "distributions": {"dask": "2026.8.0", "distributed": "2026.8.0", "numpy": "2.4.0"},
        }
    }
}


@dataclass(frozen=True)
class Spot:
    """A point to make: where it is, how long it takes, on what."""

    label: str
    makespan_s: float
    x: float | None = None
    series: str = ""
    settings: tuple[tuple[str, Any], ...] = ()
    threads: int = 2
    processes: int = 1
    tasks: int = 8
    units: int = 8
    task_wall: float | None = None  # as a share of threads x makespan
    cpu: float = 1.0  # CPU / wall of the tasks
    peak_mib: float = 120.0
    env: Environment = "threads"


def experiment(
    kind: Kind,
    spots: Sequence[Spot],
    *,
    noise: float = 0.01,
    rounds: Sequence[int] = (0, 1, 2),
    repeats: int = 5,
    seed: int = 0,
    lost: Mapping[str, list[BlockResult]] | None = None,
    **more: Any,
) -> tuple[PlannedExperiment, list[BlockResult]]:
    """Plan an experiment and make the blocks of its points; ``lost`` labels get other blocks."""
    points, blocks = [], []
    for i, spot in enumerate(spots):
        p = planned(cell(spot.env, "integrate", point=i), units=spot.units)
        points.append(
            Point(
                label=spot.label, cell_id=p.cell_id, settings=spot.settings, x=spot.x,
                series=spot.series,
            )
        )  # fmt: skip
        if lost is not None and spot.label in lost:
            blocks += [replace(b, cell_id=p.cell_id) for b in lost[spot.label]]
            continue
        made = noisy_blocks(
            p, makespan_s=spot.makespan_s, rounds=rounds, repeats=repeats, noise=noise,
            seed=1000 * seed + i, threads=spot.threads, processes=spot.processes, members=(),
            make=_maker(spot),
        )  # fmt: skip
        graph = GraphFacts(form="optimized", tasks=spot.tasks, arcs=spot.tasks - 1, longest_path=1)
        blocks += [replace(b, graph=graph) for b in made]
    return (
        PlannedExperiment(
            name=more.pop("name", kind), kind=kind, question=more.pop("question", "What is best?"),
            axis=more.pop("axis", "tasks"), points=tuple(points), **more,
        ),
        blocks,
    )  # fmt: skip


def _maker(spot: Spot) -> Callable[[float], Sample]:
    def make(makespan_s: float) -> Sample:
        wall = None if spot.task_wall is None else spot.task_wall * spot.threads * makespan_s
        clocks = {} if wall is None else {"task_wall_s": wall, "task_cpu_s": spot.cpu * wall}
        made = sample(makespan_s, units=spot.units, tasks=spot.tasks, **clocks)
        return replace(made, peak_rss_mib=spot.peak_mib)

    return make


def task_size(
    *, work_s: float = 4.0, fixed_s: float = 0.05, overhead_s: float = 0.003, threads: int = 2,
    tasks: Sequence[int] = (1, 2, 8, 32, 128, 512), series: str = "", **kw: Any,
) -> tuple[PlannedExperiment, list[BlockResult]]:  # fmt: skip
    """The law of task-size: W ceil(T / P) / T + a + b T."""
    spots = [
        Spot(
            label=f"{t} tasks", x=float(t), series=series, threads=threads, tasks=t, units=t,
            makespan_s=work_s * -(-t // threads) / t + fixed_s + overhead_s * t,
            settings=(("tasks", t), ("steps", 8_000_000 // t)),
            task_wall=0.9,
        )
        for t in tasks
    ]  # fmt: skip
    kw.setdefault("baseline", spots[0].label)
    return experiment("task-size", spots, **kw)


def workers(
    serial: Mapping[str, float] | None = None, *, counts: Sequence[int] = (1, 2, 4, 8),
    first_s: float = 2.0, cores: float = 1e9, **kw: Any,
) -> tuple[PlannedExperiment, list[BlockResult]]:  # fmt: skip
    """Amdahl's law, a series for each serial fraction."""
    spots = [
        Spot(
            label=f"{name} {p} workers".strip(), x=float(p), series=name, threads=p,
            makespan_s=first_s * (s + (1 - s) / min(p, cores)), task_wall=0.8,
            settings=(("workers", p),),
        )
        for name, s in (serial or {"": 0.1}).items()
        for p in counts
    ]  # fmt: skip
    return experiment("workers", spots, axis="threads", **kw)


def granularity(
    *, overhead_s: float = 1e-3, per_iteration_s: float = 1e-5,
    grains: Sequence[int] = tuple(2**i for i in range(2, 13)),
    patterns: Mapping[str, float] | None = None, kernel: str = "compute", **kw: Any,
) -> tuple[PlannedExperiment, list[BlockResult]]:  # fmt: skip
    """Tasks of grain x iteration, each with a fixed overhead (factor by pattern)."""
    count, threads = 96, 2
    spots = [
        Spot(
            label=f"{name}, grain {g}", x=float(g), series=name, tasks=count, units=count,
            threads=threads, settings=(("pattern", name), ("grain", g)), task_wall=0.8,
            makespan_s=count / threads * (overhead_s * factor + per_iteration_s * g),
        )
        for name, factor in (patterns or {"stencil": 1.0}).items()
        for g in grains
    ]  # fmt: skip
    return experiment(
        "granularity", spots, axis="iterations a task", fixed=(("kernel", kernel),), **kw
    )


def chunks(
    *, work_s: float = 2.0, overhead_s: float = 4e-4, threads: int = 2,
    edges: Sequence[int] = (250, 500, 1000, 2000, 4000, 8000), **kw: Any,
) -> tuple[PlannedExperiment, list[BlockResult]]:  # fmt: skip
    """Column means of an (8000, 8000) array."""
    spots = []
    for e in edges:
        count = (8000 // e) ** 2
        tasks = 2 * count + 8000 // e
        spots.append(
            Spot(
                label=f"{e} x {e}", x=e * e * 8 / 2**20, tasks=tasks, units=1, threads=threads,
                makespan_s=work_s / min(threads, count) + overhead_s * tasks, task_wall=0.8,
                peak_mib=100 + threads * e * e * 16 / 2**20,
                settings=(("chunk", e), ("chunks", count), ("chunk_mib", e * e * 8 / 2**20)),
            )
        )  # fmt: skip
    return experiment("chunks", spots, axis="MiB a chunk", **kw)


PREDICTION = Prediction(
    order=("cython, threads", "cython, processes", "python, processes", "python, threads"),
    text="Cython runs without the GIL; Python holds it.",
)


def scheduler(
    times: Mapping[str, float] | None = None, **kw: Any
) -> tuple[PlannedExperiment, list[BlockResult]]:
    """Python and Cython on threads and processes."""
    spans = {
        "python, threads": 2.0, "python, processes": 1.1,
        "cython, threads": 0.02, "cython, processes": 0.1,
    } | dict(times or {})  # fmt: skip
    spots = []
    for label, span in spans.items():
        implementation, env = label.split(", ")
        spots.append(
            Spot(
                label=label, makespan_s=span, processes=2 if env == "processes" else 1,
                settings=(("implementation", implementation), ("scheduler", env)),
                cpu=0.5 if label == "python, threads" else 0.98,
                task_wall=0.3 if label == "cython, processes" else 0.95,
            )
        )  # fmt: skip
    kw.setdefault("prediction", PREDICTION)
    return experiment(
        "scheduler", spots, axis="implementation and scheduler", baseline="python, threads", **kw
    )


def optimization(
    times: Mapping[str, float] | None = None, **kw: Any
) -> tuple[PlannedExperiment, list[BlockResult]]:
    """Serial and parallel, Python and Cython."""
    spans = {
        "serial Python": 4.0, "serial Cython": 0.05,
        "parallel Python, processes": 2.2, "parallel Cython, threads": 0.028,
    } | dict(times or {})  # fmt: skip
    spots = [
        Spot(
            label=label, makespan_s=span, threads=1 if "serial" in label else 2,
            processes=2 if "processes" in label else 1, tasks=1 if "serial" in label else 8,
            settings=(("implementation", "python" if "Python" in label else "cython"),),
            task_wall=0.97, cpu=0.99,
        )
        for label, span in spans.items()
    ]  # fmt: skip
    return experiment(
        "optimization", spots, axis="version", baseline="serial Python",
        fixed=(("total_steps", 10_000_000), ("tolerance", 1e-9)), **kw,
    )  # fmt: skip
