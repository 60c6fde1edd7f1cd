"""Small documents of one believable run, for tests that need some."""

from __future__ import annotations

import dataclasses

from daskperf_tasks.model.block import BlockResult, HostLoad, Member, Sample, Success
from daskperf_tasks.model.ids import Arm, Cell, Environment, scheduler_of
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan, PlannedCell, Request, Round, Warmup
from daskperf_tasks.model.results import CellSummary, Estimate, Summary
from daskperf_tasks.model.subject import Subject, SubjectSet

RUN = "20261130T010203Z-616263"
SHA256 = "5f" * 32
WHEEL = "daskperf_kernels-0.1.0.dev1-py3-none-any.whl"


def subject(version: str = "0.1.0.dev1", sha256: str = SHA256, file: str = WHEEL) -> Subject:
    return Subject(
        name="daskperf-kernels",
        version=version,
        sha256=sha256,
        file=file,
        size_bytes=1234,
        import_name="daskperf_kernels",
        source="/srv/wheels",
        chosen_by="highest version (PEP 440)",
        passed_over=("daskperf_kernels-0.1.0.dev0-py3-none-any.whl (0.1.0.dev0)",),
    )


def subject_set(tonight: Subject | None = None, reference: Subject | None = None) -> SubjectSet:
    return SubjectSet(
        subject=tonight or subject(),
        reference=reference,
        reference_reason="there is no accepted run of this matrix on this lane yet",
    )


def cell(env: Environment = "local") -> Cell:
    return Cell(
        workload="aggregates",
        version=1,
        params=(("n", 128),),
        env=env,
        sched=scheduler_of(env),
    )


def planned(env: Environment = "local") -> PlannedCell:
    request = Request(
        workload="aggregates",
        version=1,
        params=(("n", 128),),
        seed=7,
        units=32,
        warmup=Warmup(),
        repeats=3,
        timeout_s=120.0,
    )
    return PlannedCell(
        cell_id=cell(env).id, cell=cell(env), request=request, request_hash=request.hash
    )


def plan(run_id: str = RUN, matrix: str = "nightly") -> Plan:
    cells = (planned("local"), planned("remote"))
    return Plan(
        run_id=run_id,
        created_at="2026-11-30T01:02:03+00:00",
        matrix_name=matrix,
        matrix_sha256="00" * 32,
        matrix_text='[matrix]\nname = "nightly"\n',
        seed=7,
        arms=("subject",),
        cells=cells,
        rounds=(
            Round(index=0, arm="subject", order=tuple(c.cell_id for c in cells), profile=True),
        ),
        max_attempts=2,
        estimate_s=20.0,
        trigger="cli",
        commit="0123456789abcdef",
    )


def sample(repeat: int = 0) -> Sample:
    return Sample(
        repeat=repeat,
        phase="measure",
        started_at=1796000523.25,
        makespan_s=0.5,
        units=32,
        tasks=32,
        task_wall_s=0.9,
        task_cpu_s=0.85,
        transfer_bytes=4096.0,
        transfer_s=0.001,
        worker_cpu_s=0.95,
        scheduler_cpu_s=0.05,
        client_cpu_s=0.02,
        peak_rss_mib=Missing(missing="the worker ended before it was asked"),
        success_rate=1.0,
    )


def block(
    run_id: str = RUN, env: Environment = "local", arm: Arm = "subject", attempt: int = 1
) -> BlockResult:
    members = (Member(name="lane-a", worker_id="Worker-1", nthreads=2),)
    return BlockResult(
        run_id=run_id,
        cell_id=cell(env).id,
        arm=arm,
        round=0,
        attempt=attempt,
        subject_sha256=SHA256,
        subject_version="0.1.0.dev1",
        request_hash=planned(env).request_hash,
        started_at="2026-11-30T01:03:00+00:00",
        ended_at="2026-11-30T01:03:09+00:00",
        threads=2,
        processes=1,
        outcome=Success(),
        invalid_reason=None,
        correctness="2 of 32 clusters compared with the plain Python reference, all by invariants",
        members_before=members,
        members_after=members,
        host_load=HostLoad(
            load_1min_before=0.1,
            load_1min_after=0.4,
            foreign_cpu_cores=0.02,
            steal_fraction=Missing(missing="the kernel does not tell"),
            cpu_model="Example CPU @ 2.0GHz",
        ),
        samples=(sample(0), sample(1), sample(2)),
        task_stream="streams/aggregates/subject-r0-a1.parquet",
        fine_metrics={"execute/thread-cpu/seconds": 2.55, "execute/thread-noncpu/seconds": 0.15},
        warnings=("Mismatched versions found",),
    )


def estimate(value: float) -> Estimate:
    return Estimate(value=value, low=value * 0.98, high=value * 1.02, confidence=0.95, n=3)


def summary(run_id: str = RUN, env: Environment = "local", makespan_s: float = 0.5) -> Summary:
    measured = CellSummary(
        cell_id=cell(env).id,
        label=cell(env).label,
        arm="subject",
        request_hash=planned(env).request_hash,
        state="measured",
        reason=None,
        required=True,
        blocks_valid=1,
        blocks_invalid=0,
        samples=3,
        threads=2,
        processes=1,
        metrics={
            "makespan_s": estimate(makespan_s),
            "throughput_per_s": estimate(32 / makespan_s),
            "peak_rss_mib": Missing(missing="the worker ended before it was asked"),
        },
    )
    lost = dataclasses.replace(
        measured,
        cell_id=measured.cell_id.replace("n=128", "n=256"),
        label="aggregates n=256",
        state="failed",
        reason="timeout after 120 s",
        blocks_valid=0,
        samples=0,
        metrics={},
    )
    return Summary(
        run_id=run_id, side=cell(env).side, topology="1 process, 2 threads", cells=(measured, lost)
    )
