"""A small run in which everything is as it should be; tests change one thing at a time."""

import dataclasses

from daskperf_tasks.analyse.experiments.answer import answer_experiments
from daskperf_tasks.model.block import BlockResult, HostLoad, Member, Sample, Success
from daskperf_tasks.model.experiment import Experiments, PlannedExperiment, Point
from daskperf_tasks.model.facts import Preflight, ProcessFacts
from daskperf_tasks.model.ids import Cell
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan, PlannedCell, Request, Round, Warmup
from daskperf_tasks.model.results import CellSummary, Comparison, SidePair, Summary
from daskperf_tasks.model.subject import Deployment, Install, Subject, SubjectSet, WorkerCheck

RUN_ID = "20261130T010203Z-616263"
NONE = Missing(missing="not of interest here")
REPEATS = 2
VERSION = "0.1.0+gabc"


def planned(env: str) -> PlannedCell:
    cell = Cell(workload="aggregates", version=1, params=(("n", 8),), env=env)
    request = Request(
        workload="aggregates",
        version=1,
        params=(("n", 8),),
        seed=7,
        units=4,
        warmup=Warmup(),
        repeats=REPEATS,
        timeout_s=60.0,
    )
    return PlannedCell(cell_id=cell.id, cell=cell, request=request, request_hash=request.hash)


def plan() -> Plan:
    cells = (planned("local"), planned("remote"))
    order = tuple(c.cell_id for c in cells)
    return Plan(
        run_id=RUN_ID,
        created_at="2026-11-30T01:02:03+00:00",
        matrix_name="nightly",
        matrix_sha256="0" * 64,
        matrix_text="",
        seed=1,
        arms=("subject", "reference"),
        cells=cells,
        rounds=(
            Round(index=0, arm="subject", order=order),
            Round(index=1, arm="reference", order=order[::-1]),
            Round(index=2, arm="subject", order=order),
        ),
        max_attempts=2,
        estimate_s=10.0,
        trigger="cli",
        commit="abc",
        experiments=(
            PlannedExperiment(
                name="task-size",
                kind="task-size",
                question="How small may tasks be?",
                axis="tasks",
                points=tuple(
                    Point(label=c.cell.env, cell_id=c.cell_id, settings=()) for c in cells
                ),
            ),
        ),
    )


def subject(version: str = VERSION, sha256: str = "a" * 64) -> Subject:
    return Subject(
        name="daskperf-kernels",
        version=version,
        sha256=sha256,
        file=f"daskperf_kernels-{version}.whl",
        size_bytes=10,
        import_name="daskperf_kernels",
        source="folder",
        chosen_by="highest version",
    )


def subjects() -> SubjectSet:
    return SubjectSet(
        subject=subject(), reference=subject("0.0.9", "b" * 64), reference_reason="last night"
    )


def sample(repeat: int, phase: str = "measure") -> Sample:
    return Sample(
        repeat=repeat,
        phase=phase,
        started_at=1.0e9 + repeat,
        makespan_s=0.5,
        units=4,
        tasks=4,
        task_wall_s=0.9,
        task_cpu_s=0.8,
        transfer_bytes=0.0,
        transfer_s=NONE,
        worker_cpu_s=1.0,
        scheduler_cpu_s=NONE,
        client_cpu_s=0.1,
        peak_rss_mib=100.0,
        success_rate=1.0,
    )


def block(cell: PlannedCell, round_: Round, attempt: int = 1) -> BlockResult:
    wheel = subjects().of(round_.arm)
    members = (Member(name="w0", worker_id="w0-1", nthreads=2),)
    return BlockResult(
        run_id=RUN_ID,
        cell_id=cell.cell_id,
        arm=round_.arm,
        round=round_.index,
        attempt=attempt,
        subject_sha256=wheel.sha256,
        subject_version=wheel.version,
        request_hash=cell.request_hash,
        started_at="2026-11-30T01:03:00+00:00",
        ended_at="2026-11-30T01:03:10+00:00",
        threads=2,
        processes=1,
        outcome=Success(),
        invalid_reason=None,
        correctness="checked against the reference",
        members_before=members,
        members_after=members,
        host_load=HostLoad(
            load_1min_before=0.1,
            load_1min_after=0.2,
            foreign_cpu_cores=0.0,
            steal_fraction=NONE,
            cpu_model="one",
        ),
        samples=(sample(0, "warmup"), *(sample(i) for i in range(REPEATS))),
        task_stream=NONE,
        fine_metrics=NONE,
    )


def blocks() -> list[BlockResult]:
    the_plan = plan()
    return [block(the_plan.cell(c), r) for r in the_plan.rounds for c in r.order]


def summary(side: str) -> Summary:
    (cell,) = (c for c in plan().cells if c.cell.side == side)
    return Summary(
        run_id=RUN_ID,
        side=side,
        topology="one worker",
        cells=tuple(
            CellSummary(
                cell_id=cell.cell_id,
                label=cell.cell.label,
                arm=arm,
                request_hash=cell.request_hash,
                state="measured",
                reason=None,
                required=True,
                blocks_valid=rounds,
                blocks_invalid=0,
                samples=rounds * REPEATS,
                threads=2,
                processes=1,
                metrics={},
            )
            for arm, rounds in (("subject", 2), ("reference", 1))
        ),
    )


def comparison() -> Comparison:
    local, remote = plan().cells
    pair = SidePair(
        label="aggregates n=8",
        local_cell=local.cell_id,
        remote_cell=remote.cell_id,
        same_inputs=True,
        ratios={},
        reading=(),
    )
    return Comparison(
        run_id=RUN_ID,
        sides=(pair,),
        previous_run=NONE,
        same_subject=None,
        previous=(),
        reference="0.0.9",
        paired=(),
    )


def experiments() -> Experiments:
    return answer_experiments(plan(), blocks(), None, {})


def worker(name: str, nthreads: int = 2) -> ProcessFacts:
    return ProcessFacts(
        role="worker",
        name=name,
        address="tcp://127.0.0.1:2",
        host="h",
        pid=1,
        python="3.11.7",
        versions={},
        cpu_model="one",
        cores=2,
        nthreads=nthreads,
        memory_limit_bytes=0,
        load_1min=0.1,
        loopback=True,
        nanny=True,
        thread_settings={},
    )


def preflight() -> Preflight:
    return Preflight(
        scheduler="tcp://127.0.0.1:1",
        checked_at="2026-11-30T01:02:30+00:00",
        facts=(worker("w0"),),
        findings=(),
    )


def deployment() -> Deployment:
    return Deployment(
        scheduler="tcp://127.0.0.1:1",
        state="deployed",
        previous={},
        installs=(
            Install(
                host="h",
                worker="w0",
                folder="/w/a",
                sha256="a" * 64,
                files_sha256="f" * 64,
                seconds=0.1,
                reused=False,
            ),
        ),
        checks=(
            WorkerCheck(
                worker="w0",
                host="h",
                pid=1,
                version=VERSION,
                location="/w/a/daskperf_kernels",
                files_sha256="f" * 64,
            ),
        ),
        local_folders={"subject": "/w/a"},
        switch_s=1.0,
    )


def good_run() -> dict:
    """Return the arguments of ``validate_run``."""
    return {
        "plan": plan(),
        "blocks": blocks(),
        "summaries": {"local": summary("local"), "remote": summary("remote")},
        "comparison": comparison(),
        "preflight": preflight(),
        "deployment": deployment(),
        "subjects": subjects(),
        "experiments": experiments(),
    }


def with_block(run: dict, index: int, **changes) -> dict:
    """Return the run with one block changed."""
    changed = list(run["blocks"])
    changed[index] = dataclasses.replace(changed[index], **changes)
    return {**run, "blocks": changed}


def with_sample(run: dict, **changes) -> dict:
    """Return the run with the first measured sample of the first block changed."""
    first = run["blocks"][0]
    warm, one, *rest = first.samples
    return with_block(run, 0, samples=(warm, dataclasses.replace(one, **changes), *rest))
