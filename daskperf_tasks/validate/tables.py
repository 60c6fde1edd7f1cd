"""The run as flat tables, a row for each thing that is checked. Pure; rows are plain dicts.

Each row says in ``what`` which thing it is, so that a failed check can name it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daskperf_tasks.model.block import BlockResult, Sample
from daskperf_tasks.model.experiment import Experiments, PointResult
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.ids import Arm, Side
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Comparison, Summary
from daskperf_tasks.model.subject import Deployment, SubjectSet
from daskperf_tasks.validate.layout import layout_columns

Row = dict[str, Any]

#: CPU clocks of processes tick every 10 ms; begin and end can each be a tick off.
_TICK_S = 0.02
#: CPU time and wall time come from different clocks.
_CLOCK_SLACK = 1.10


def cell_rows(plan: Plan, blocks: Sequence[BlockResult]) -> list[Row]:
    """Return a row for each required cell and arm: rounds and samples, planned and valid."""
    rows = []
    for arm in plan.arms:
        for planned in plan.cells:
            if not planned.required:
                continue
            rounds = [r.index for r in plan.rounds if r.arm == arm and planned.cell_id in r.order]
            valid = [b for b in blocks if b.valid and (b.cell_id, b.arm) == (planned.cell_id, arm)]
            rows.append(
                {
                    "what": f"{planned.cell_id} ({arm})",
                    "rounds_planned": len(rounds),
                    "rounds_valid": len({b.round for b in valid} & set(rounds)),
                    "samples_planned": len(rounds) * planned.request.repeats,
                    "samples_valid": sum(len(b.measured) for b in valid),
                }
            )
    return rows


def block_rows(
    plan: Plan,
    blocks: Sequence[BlockResult],
    subjects: SubjectSet | None,
    preflight: Preflight | None,
) -> list[Row]:
    """Return a row for each attempt at a block."""
    planned = {c.cell_id: c for c in plan.cells}
    arms_of = {r.index: r.arm for r in plan.rounds}
    rows = []
    for block in blocks:
        cell = planned.get(block.cell_id)
        sha256, version = _promised(subjects, block.arm)
        in_plan = cell is not None and arms_of.get(block.round) == block.arm
        rows.append(
            {
                "what": block.key,
                "key": block.key,
                "place": f"{block.cell_id}|{block.arm}|r{block.round}",
                "valid": block.valid,
                "in_plan": in_plan,
                "request_hash": block.request_hash,
                "planned_hash": cell.request_hash if cell else "not in the plan",
                "repeats": len(block.measured),
                "planned_repeats": cell.request.repeats if cell else -1,
                "subject_sha256": block.subject_sha256,
                "promised_sha256": sha256,
                "subject_version": block.subject_version,
                "promised_version": version,
                "members_before": _members(block.members_before),
                "members_after": _members(block.members_after),
            }
            | layout_columns(
                block,
                cell.cell.env if cell else None,
                preflight,
                workers=cell.cell.workers if cell else None,
            )
        )
    return rows


def sample_rows(blocks: Sequence[BlockResult]) -> list[Row]:
    """Return a row for each measured repeat of a valid block."""
    return [
        _sample_row(block, sample) for block in blocks if block.valid for sample in block.measured
    ]


def _sample_row(block: BlockResult, sample: Sample) -> Row:
    thread_s = block.threads * sample.makespan_s
    wall, cpu = known(sample.task_wall_s), known(sample.task_cpu_s)
    transfer_bytes, rss = known(sample.transfer_bytes), known(sample.peak_rss_mib)
    return {
        "what": f"{block.key}|{sample.repeat}",
        "key": f"{block.key}|{sample.repeat}",
        "makespan_s": sample.makespan_s,
        "units": sample.units,
        "tasks": sample.tasks,
        "success_rate": sample.success_rate,
        "busy_fraction": wall / thread_s if wall is not None and thread_s > 0 else None,
        "task_cpu_s": cpu,
        "task_cpu_limit_s": thread_s * _CLOCK_SLACK + _TICK_S * max(block.processes, 1),
        "task_wall_s": wall,
        "transfer_bytes": transfer_bytes,
        "peak_rss_mib": rss,
    }


def pair_rows(
    plan: Plan, blocks: Sequence[BlockResult], comparison: Comparison | None
) -> list[Row]:
    """Return a row for each planned local cell whose counterpart is planned too."""
    planned = {c.cell_id: c for c in plan.cells}
    said = (
        {(s.local_cell, s.remote_cell): s.same_inputs for s in comparison.sides}
        if (comparison)
        else {}
    )
    rows = []
    for local in plan.cells:
        remote = planned.get(local.cell.counterpart_id)
        if local.cell.side != "local" or remote is None:
            continue
        rows.append(
            {
                "what": f"{local.cell_id} and {remote.cell_id}",
                "local_request": local.request.hash,
                "remote_request": remote.request.hash,
                "local_measured": _measured_requests(blocks, local.cell_id),
                "remote_measured": _measured_requests(blocks, remote.cell_id),
                "said_equal": said.get((local.cell_id, remote.cell_id), True),
            }
        )
    return rows


def _measured_requests(blocks: Sequence[BlockResult], cell_id: str) -> str | None:
    """Return what the cell's valid blocks computed: request hash and repeats, each once."""
    seen = {
        f"{b.request_hash[:16]} x{len(b.measured)}"
        for b in blocks
        if b.valid and b.cell_id == cell_id
    }
    return ", ".join(sorted(seen)) or None


def summary_rows(blocks: Sequence[BlockResult], summaries: Mapping[Side, Summary]) -> list[Row]:
    """Return a row for each summarised cell: its samples against the raw ones."""
    raw: dict[tuple[str, Arm], int] = {}
    for block in blocks:
        if block.valid:
            raw[block.cell_id, block.arm] = raw.get((block.cell_id, block.arm), 0) + len(
                block.measured
            )
    return [
        {
            "what": f"{cell.cell_id} ({cell.arm})",
            "samples_summarised": cell.samples,
            "samples_raw": raw.get((cell.cell_id, cell.arm), 0),
        }
        for summary in summaries.values()
        for cell in summary.cells
    ]


def worker_rows(deployment: Deployment | None, subjects: SubjectSet | None) -> list[Row]:
    """Return a row for each worker that was checked after the switch."""
    _, version = _promised(subjects, "subject")
    checks = deployment.checks if deployment else ()
    files = {i.files_sha256 for i in deployment.installs} if deployment else set()
    return [
        {
            "what": f"{check.worker} on {check.host}",
            "version": check.version,
            "promised_version": version,
            "files_installed": check.files_sha256 in files,
        }
        for check in checks
    ]


def _promised(subjects: SubjectSet | None, arm: Arm) -> tuple[str, str]:
    """Return sha256 and version of the wheel that an arm is to run under."""
    try:
        wheel = subjects.of(arm) if subjects else None
    except KeyError:
        wheel = None
    return (wheel.sha256, wheel.version) if wheel else ("no such wheel", "no such wheel")


def _members(members: Sequence[Any]) -> str:
    return ", ".join(sorted(f"{m.name}/{m.worker_id}/{m.nthreads}" for m in members))


def experiment_rows(plan: Plan, experiments: Experiments | None) -> list[Row]:
    """Return a row for each planned point of an experiment: is there a figure or a reason?"""
    results = {r.name: r for r in experiments.results} if experiments else {}
    rows = []
    for planned in plan.experiments:
        result = results.get(planned.name)
        points = {p.label: p for p in result.points} if result else {}
        rows += [
            {
                "what": f"{planned.name}: {p.label}",
                "answer": _answer(p.cell_id, points.get(p.label)),
            }
            for p in planned.points
        ]
    return rows


def _answer(cell_id: str, point: PointResult | None) -> str:
    if point is None:
        return "no row"
    if point.cell_id != cell_id:
        return f"a row of another cell, {point.cell_id}"
    if point.state == "measured":
        return "no makespan" if isinstance(point.makespan_s, Missing) else "yes"
    return "yes" if point.reason else "no reason"
