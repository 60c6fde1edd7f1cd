"""Synthetic runs with a known truth, made by a small list-scheduling simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daskperf_tasks.model.block import (
    BlockResult,
    Failure,
    HostLoad,
    Member,
    Sample,
    Success,
)
from daskperf_tasks.model.facts import (
    Calibration,
    Finding,
    Preflight,
    ProcessFacts,
    WorkerCalibration,
)
from daskperf_tasks.model.ids import Arm, Cell, Environment, scheduler_of
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.plan import Plan, PlannedCell, Request, Round, Warmup

RUN = "20261130T010203Z-616263"
NONE = Missing(missing="not asked for")
SHA = "ab" * 32


def cell(env: Environment, workload: str = "aggregates", **params: Any) -> Cell:
    return Cell(
        workload=workload,
        version=1,
        params=tuple(sorted((params or {"n": 128}).items())),
        env=env,
        sched=scheduler_of(env),
    )


def planned(c: Cell, *, units: int = 8, repeats: int = 5, seed: int = 42) -> PlannedCell:
    request = Request(
        workload=c.workload,
        version=c.version,
        params=c.params,
        seed=seed,
        units=units,
        warmup=Warmup(),
        repeats=repeats,
        timeout_s=60.0,
    )
    return PlannedCell(cell_id=c.id, cell=c, request=request, request_hash=request.hash)


def plan(
    cells: Sequence[Cell] | Sequence[PlannedCell],
    *,
    rounds: int = 3,
    arms: tuple[Arm, ...] = ("subject",),
    run_id: str = RUN,
) -> Plan:
    rows = tuple(c if isinstance(c, PlannedCell) else planned(c) for c in cells)
    turns = [arm for _ in range(rounds) for arm in arms]
    return Plan(
        run_id=run_id,
        created_at="2026-11-30T01:02:03+00:00",
        matrix_name="nightly",
        matrix_sha256=SHA,
        matrix_text='[matrix]\nname = "nightly"\n',
        seed=42,
        arms=arms,
        cells=rows,
        rounds=tuple(
            Round(index=i, arm=arm, order=tuple(p.cell_id for p in rows))
            for i, arm in enumerate(turns)
        ),
        max_attempts=2,
        estimate_s=60.0,
        trigger="cli",
        commit="0123abc",
    )


def sample(
    makespan_s: float = 1.0,
    *,
    units: int = 8,
    tasks: int = 8,
    task_wall_s: Measured = NONE,
    task_cpu_s: Measured = NONE,
    transfer_bytes: Measured = NONE,
    transfer_s: Measured = NONE,
    worker_cpu_s: Measured = NONE,
    scheduler_cpu_s: Measured = NONE,
    success_rate: float = 1.0,
    repeat: int = 0,
    phase: Any = "measure",
) -> Sample:
    return Sample(
        repeat=repeat,
        phase=phase,
        started_at=1.7e9 + repeat,
        makespan_s=makespan_s,
        units=units,
        tasks=tasks,
        task_wall_s=task_wall_s,
        task_cpu_s=task_cpu_s,
        transfer_bytes=transfer_bytes,
        transfer_s=transfer_s,
        worker_cpu_s=worker_cpu_s,
        scheduler_cpu_s=scheduler_cpu_s,
        client_cpu_s=0.05,
        peak_rss_mib=200.0,
        success_rate=success_rate,
    )


def block(
    p: PlannedCell,
    samples: Sequence[Sample],
    *,
    arm: Arm = "subject",
    round_: int = 0,
    attempt: int = 1,
    threads: int = 2,
    processes: int = 2,
    outcome: Any = None,
    invalid_reason: str | None = None,
    members: tuple[str, ...] = ("w1", "w2"),
    fine_metrics: Any = NONE,
) -> BlockResult:
    there = tuple(Member(name=m, worker_id=f"{m}-id", nthreads=1) for m in members)
    return BlockResult(
        run_id=RUN,
        cell_id=p.cell_id,
        arm=arm,
        round=round_,
        attempt=attempt,
        subject_sha256=SHA,
        subject_version="1.0",
        request_hash=p.request_hash,
        started_at="2026-11-30T01:02:03+00:00",
        ended_at="2026-11-30T01:02:13+00:00",
        threads=threads,
        processes=processes,
        outcome=outcome or Success(),
        invalid_reason=invalid_reason,
        correctness="2 units equal to the reference, all units within their invariants",
        members_before=there,
        members_after=there,
        host_load=HostLoad(
            load_1min_before=0.1,
            load_1min_after=0.4,
            foreign_cpu_cores=0.02,
            steal_fraction=0.0,
            cpu_model="cpu",
        ),
        samples=tuple(samples),
        task_stream=NONE,
        fine_metrics=fine_metrics,
    )


def noisy_blocks(
    p: PlannedCell,
    *,
    makespan_s: float,
    rounds: Sequence[int] = (0, 1, 2),
    repeats: int = 5,
    noise: float = 0.02,
    seed: int = 0,
    make: Callable[[float], Sample] | None = None,
    **kwargs: Any,
) -> list[BlockResult]:
    """Blocks whose makespans scatter by ``noise`` (log normal) within and between blocks."""
    rng = np.random.default_rng(seed)
    made = make or sample
    found = []
    for r in rounds:
        level = makespan_s * float(np.exp(noise * rng.standard_normal()))
        spans = level * np.exp(noise * rng.standard_normal(repeats))
        rows = [sample(99.0, phase="warmup")] + [
            replace(made(float(m)), makespan_s=float(m), repeat=i) for i, m in enumerate(spans)
        ]
        found.append(block(p, rows, round_=r, **kwargs))
    return found


def failure(
    p: PlannedCell, *, error: str = "ClusterError", message: str = "worker w2 left", **kw: Any
) -> BlockResult:
    outcome = Failure(fault="infra", error_type=error, message=message, traceback="Traceback ...\n")
    return block(p, [], outcome=outcome, **kw)


@dataclass(frozen=True)
class Simulated:
    """One cell's samples and stream from the same simulated schedule."""

    blocks: list[BlockResult]
    stream: dict[str, np.ndarray]


def simulate(
    p: PlannedCell,
    *,
    tasks: int,
    task_s: float,
    cpu_share: float = 0.98,
    overhead_s: float = 0.0002,
    transfer_s: float = 0.0,
    transfer_bytes: float = 0.0,
    speeds: Sequence[float] = (1.0, 1.0),
    threads_each: int = 1,
    static: bool = False,
    scheduler_us: float = 200.0,
    rounds: int = 3,
    repeats: int = 4,
    seed: int = 1,
) -> Simulated:
    """Play a bag of tasks on workers of given speeds.

    Each task of a thread costs ``overhead_s`` of idle time, then ``transfer_s``
    waiting for its input, then ``task_s / speed``. ``static`` gives every thread
    the same number of tasks; otherwise the earliest free thread takes the next.
    """
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    blocks = []
    for r in range(rounds):
        samples = []
        for repeat in range(repeats):
            at = 1000.0 * r + 100.0 * repeat
            lanes = [[w, t, at] for w in range(len(speeds)) for t in range(threads_each)]
            wall = moved = 0.0
            for k in range(tasks):
                lane = lanes[k % len(lanes)] if static else min(lanes, key=lambda x: x[2])
                begin = lane[2] + overhead_s * float(rng.uniform(0.8, 1.2))
                common = {
                    "round": r, "attempt": 1, "repeat": repeat, "phase": "measure",
                    "arm": "subject", "key": f"t-{k}", "worker": f"tcp://w{lane[0] + 1}",
                    "worker_name": f"w{lane[0] + 1}", "thread": 10 * lane[0] + lane[1],
                    "nbytes": transfer_bytes,
                }  # fmt: skip
                if transfer_s:
                    rows.append(common | {
                        "name": "grow", "action": "transfer",
                        "start_s": begin, "stop_s": begin + transfer_s,
                    })  # fmt: skip
                    begin += transfer_s
                    moved += transfer_s
                took = task_s / speeds[lane[0]] * float(rng.uniform(0.95, 1.05))
                rows.append(common | {
                    "name": "grow", "action": "compute", "start_s": begin, "stop_s": begin + took,
                })  # fmt: skip
                wall += took
                lane[2] = begin + took
            makespan = max(x[2] for x in lanes) - at + 0.002
            cpu = wall * cpu_share
            samples.append(
                sample(
                    makespan,
                    units=tasks,
                    tasks=tasks,
                    task_wall_s=wall,
                    task_cpu_s=cpu,
                    transfer_bytes=transfer_bytes * tasks,
                    transfer_s=moved,
                    worker_cpu_s=cpu * 1.03 + 0.01,
                    scheduler_cpu_s=tasks * scheduler_us * 1e-6,
                    repeat=repeat,
                )
            )
        blocks.append(
            block(
                p,
                samples,
                round_=r,
                threads=len(speeds) * threads_each,
                processes=len(speeds),
                members=tuple(f"w{i + 1}" for i in range(len(speeds))),
            )
        )
    stream = {k: np.asarray([row[k] for row in rows]) for k in rows[0]}
    return Simulated(blocks=blocks, stream=stream)


def calibration(indices: Sequence[float] = (1.0, 1.0), *, stable: bool = True) -> Calibration:
    return Calibration(
        kernel="integrate n=100000",
        rule="index = median worker's seconds / own seconds, clipped to 0.5 to 1.5",
        workers=tuple(
            WorkerCalibration(
                worker=f"w{i + 1}",
                host=f"host{i + 1}",
                nthreads=1,
                runs_s=(0.1, 0.1, 0.1),
                median_s=0.1,
                mad_s=0.001,
                raw_index=x,
                index=x,
                clipped=False,
                stable=stable,
            )
            for i, x in enumerate(indices)
        ),
        total_threads=len(indices),
        effective_threads=float(sum(indices)),
        local_effective_threads=float(len(indices)),
        stable=stable,
        note="",
    )


def preflight(workers: int = 2, *, cores: int = 1, findings: tuple[Finding, ...] = ()) -> Preflight:
    roles: list[tuple[Any, str]] = [("client", "client"), ("scheduler", "scheduler")]
    roles += [("worker", f"w{i + 1}") for i in range(workers)]
    facts = tuple(
        ProcessFacts(
            role=role,
            name=name,
            address=f"tcp://{name}",
            host=f"host{name[1:]}" if role == "worker" else "driver",
            pid=100,
            python="3.11.7",
            versions={"dask": "2026.8.0", "distributed": "2026.8.0"},
            cpu_model="cpu",
            cores=cores if role == "worker" else workers * cores,
            nthreads=1 if role == "worker" else 0,
            memory_limit_bytes=0,
            load_1min=0.1,
            loopback=False,
            nanny=True,
            thread_settings={},
        )
        for role, name in roles
    )
    return Preflight(
        scheduler="tcp://127.0.0.1:8786",
        checked_at="2026-11-30T01:02:03+00:00",
        facts=facts,
        findings=findings,
    )


BLOCKED = Finding(
    level="block",
    code="version-mismatch",
    role="worker",
    host="host2",
    name="w2",
    expected="dask 2026.8.0",
    found="dask 2025.1.0",
    todo="install the same dask on host2",
)
