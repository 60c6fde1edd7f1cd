"""One whole synthetic night as report inputs, and nights that were cut short."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daskperf_tasks.model.facts import Finding, Lane
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Check, FileEntry, Validation
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.model.subject import Subject, SubjectSet
from daskperf_tasks.report.inputs import ReportInputs
from tests.analyse.night import analyse_night
from tests.analyse.synthetic_run import (
    BLOCKED,
    RUN,
    calibration,
    cell,
    failure,
    noisy_blocks,
    plan,
    planned,
    preflight,
    sample,
    simulate,
)

LOOPBACK = Finding(
    level="note",
    code="loopback",
    role="worker",
    host="host1",
    name="w1",
    expected="an address on a network",
    found="tcp://127.0.0.1:40001",
    todo="do not read these figures as remote behaviour",
)


def subject(version: str = "0.1.0.dev1+g0123abc") -> Subject:
    return Subject(
        name="daskperf-kernels",
        version=version,
        sha256="5f" * 32,
        file="daskperf_kernels-0.1.0.dev1-cp311-cp311-linux_x86_64.whl",
        size_bytes=123_456,
        import_name="daskperf_kernels",
        source="wheels/",
        chosen_by="highest version",
    )


def stages(failed: str | None = None, error: str = "") -> tuple[StageRecord, ...]:
    names = ("start", "deploy", "preflight", "calibrate", "measure", "analyse", "validate")
    found = []
    for i, name in enumerate(names):
        found.append(
            StageRecord(
                name=name,
                started_at=f"2026-11-30T01:02:{i:02d}+00:00",
                seconds=72.5 if name == "measure" else 1.5 + i,
                outcome="failed" if name == failed else "done",
                fault="infra" if name == failed else None,
                error=error if name == failed else None,
            )
        )
        if name == failed:
            break
    return tuple(found)


def full_night(*, missing_cell: bool = True, arms: bool = True) -> ReportInputs:
    """A night with both arms, a failed optional cell, a slow verdict and a mixed diagnosis."""
    both: Any = ("subject", "reference") if arms else ("subject",)
    local, remote = planned(cell("local", n=128)), planned(cell("remote", n=128))
    tiny_l, tiny_r = (
        planned(cell("local", "integrate", n=8)),
        planned(cell("remote", "integrate", n=8)),
    )
    threads = planned(cell("threads", "integrate", implementation="python"))
    remote_threads = planned(cell("remote-threads", "integrate", implementation="python"))
    cells = [local, remote, tiny_l, tiny_r, threads, remote_threads]
    if missing_cell:
        cells.append(replace(planned(cell("remote", n=256)), required=False))
    p = plan(cells, rounds=5, arms=both)
    sims = {
        local: simulate(local, tasks=32, task_s=0.05, rounds=1, seed=1),
        remote: simulate(
            remote, tasks=32, task_s=0.05, rounds=1, speeds=(1.0, 0.7), static=True, seed=2
        ),
        tiny_l: simulate(tiny_l, tasks=200, task_s=0.001, overhead_s=0.0008, rounds=1, seed=3),
        tiny_r: simulate(
            tiny_r, tasks=200, task_s=0.0008, overhead_s=0.002, scheduler_us=700, rounds=1, seed=4
        ),
    }
    factor = 1.15
    blocks = []
    for arm in both:
        first = both.index(arm)
        rounds = range(first, 5 * len(both), len(both))
        for i, (c, sim) in enumerate(sims.items()):
            base = sim.blocks[0].samples[0]
            slow = factor if arm == "subject" and c is tiny_r else 1.0
            blocks += noisy_blocks(
                c, makespan_s=base.makespan_s * slow, rounds=rounds, noise=0.008,
                seed=10 * i + first, arm=arm, make=lambda m, base=base: base,
            )  # fmt: skip
        for c, n in ((threads, 1.2), (remote_threads, 1.4)):
            blocks += noisy_blocks(
                c, makespan_s=n, rounds=rounds, noise=0.01, seed=77 + first, arm=arm, processes=1,
                members=("w1",) if c is remote_threads else (),
                make=lambda m: sample(
                    m, units=16, tasks=16, task_wall_s=1.95 * m, task_cpu_s=0.98 * m
                ),
            )  # fmt: skip
        if missing_cell:
            blocks.append(failure(cells[-1], arm=arm, round_=first))
    cal = calibration((1.0, 0.7))
    seen = preflight(cores=2, findings=(LOOPBACK,))
    night = analyse_night(
        p,
        blocks,
        calibration=cal,
        preflight=seen,
        previous=Missing(missing="there is no accepted run of this matrix on this lane yet"),
        reference="daskperf-kernels 0.0.9" if arms else Missing(missing="no other wheel"),
        streams={c.cell_id: s.stream for c, s in sims.items()},
    )
    return ReportInputs(
        run_id=RUN,
        plan=p,
        subjects=SubjectSet(
            subject=subject(),
            reference=subject("0.0.9") if arms else None,
            reference_reason="the last accepted run",
        ),
        lane=Lane(name="embedded", scheduler="tcp://127.0.0.1:8786", kind="loopback"),
        preflight=seen,
        calibration=cal,
        blocks=tuple(blocks),
        local=night.summaries["local"],
        remote=night.summaries["remote"],
        comparison=night.comparison,
        verdicts=night.verdicts,
        diagnosis=night.diagnosis,
        validation=Validation(
            run_id=RUN,
            success=True,
            checks=(
                Check(suite="samples", name="keys unique", success=True, expected="0", found="0"),
            ),
            great_expectations="1.24.1",
        ),
        environments={"local": {"python": "3.11.7", "cpu_model": "cpu"}},
        stages=stages(),
        artifacts=(
            FileEntry(key="plan.json", size_bytes=2048, sha256="aa" * 32),
            FileEntry(key="local/samples.parquet", size_bytes=80_000, sha256="bb" * 32),
        ),
        store_url="s3://perf/nightly",
    )


def plan_only() -> ReportInputs:
    p: Plan = plan([cell("local"), cell("remote")])
    return ReportInputs(run_id=RUN, plan=p, stages=stages()[:1])


def killed(*, valid: int = 1) -> ReportInputs:
    """A run that left some blocks of its local cell, and nothing made of them."""
    local = planned(cell("local"))
    p = plan([local, cell("remote")], rounds=5)
    blocks = noisy_blocks(local, makespan_s=1.0, seed=1, rounds=range(valid))
    return ReportInputs(
        run_id=RUN,
        plan=p,
        blocks=tuple(blocks),
        stages=stages()[:4],
        state="failed",
        green=False,
        reasons=("the run was not validated",),
    )


def blocked() -> ReportInputs:
    """Preflight forbade measuring; analyse still ran."""
    p = plan([cell("local"), cell("remote")])
    seen = preflight(findings=(BLOCKED,))
    night = analyse_night(
        p,
        [],
        calibration=None,
        preflight=seen,
        previous=Missing(missing="this is the first run"),
        reference=Missing(missing="no other wheel"),
    )
    return ReportInputs(
        run_id=RUN,
        plan=p,
        preflight=seen,
        calibration=Missing(missing="preflight forbade measuring"),
        local=night.summaries["local"],
        remote=night.summaries["remote"],
        comparison=night.comparison,
        verdicts=night.verdicts,
        diagnosis=night.diagnosis,
        stages=stages("preflight", "preflight found 1 thing that forbids measuring"),
    )


def nothing() -> ReportInputs:
    return ReportInputs(run_id=RUN)
