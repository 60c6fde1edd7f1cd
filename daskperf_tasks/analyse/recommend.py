"""The next steps: what to change, what it should bring, and how to test it.

Models of the expected makespan (after / before), one cause removed at a time

=======================  =====================================================
action                   expected ratio
=======================  =====================================================
release the lock (GIL)   processes / usable cores, the rest unchanged: the busy
                         share b shrinks, ``1 - b (1 - processes / usable)``
bigger tasks, k to one   ``(w + o / k + x) / (w + o + x)``, with w thread time in a task,
                         o around it, x in transfers, all by task
overlap transfers        ``1 - share of thread time idle for inputs`` (task stream; without
                         one, transfer time as far as it fits into idle time)
equal workers            mean over workers of busy time / busy time of the
                         busiest; at least the part before the idle tail
threads to cores         ``1 - b (1 - threads / cores)`` where cores stand idle
hotspot at half          ``1 - b h / 2``, with h the share of task time in the
                         task that takes most
=======================  =====================================================

Each model keeps everything else as it is, so it is an upper bound of the gain;
the test tells. Cells for which the same action is found are put together,
weighted by makespan. Actions are ordered by expected ratio; what is left of the
three places is filled with measuring actions, labelled as such.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daskperf_tasks.analyse.figures import Figures
from daskperf_tasks.analyse.measuring_actions import measuring_actions, run_command
from daskperf_tasks.analyse.signals import gil_bound, num, pct
from daskperf_tasks.model.measured import Missing, known
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import Action, CellDiagnosis

PLACES = 3
#: A gain below this is not worth a place.
WORTH = 0.98
#: Batching leaves each thread at least this many tasks, so that load still balances.
TASKS_PER_THREAD = 4
#: Batching aims at overhead of this share of the task's time.
OVERHEAD_AIM = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    kind: str
    title: str
    change: str
    test: str
    evidence: str
    ratio: float
    cell_id: str
    makespan_s: float


def recommend(
    plan: Plan, cells: Sequence[CellDiagnosis], figures: Mapping[str, Figures]
) -> tuple[Action, ...]:
    """Return the three actions of the run, best expected ratio first.

    Parameters
    ----------
    plan
        For the commands and matrix changes that test an action.
    cells
        The diagnosis of each cell.
    figures
        Of the cells that were measured.
    """
    actions = [a for a in (_correctness(plan, cells),) if a is not None]
    proposals: dict[str, list[_Proposal]] = {}
    for cell in cells:
        f = figures.get(cell.cell_id)
        if f is None:
            continue
        for p in _proposals(plan, plan.cell(cell.cell_id), cell, f):
            proposals.setdefault(p.kind, []).append(p)
    merged = sorted((_merge(group) for group in proposals.values()), key=_expected)
    actions += [a for a in merged if _expected(a) <= WORTH]
    actions += measuring_actions(plan, cells, figures)
    return tuple(
        Action(
            rank=i + 1,
            title=a.title,
            change=a.change,
            cell_ids=a.cell_ids,
            expected_ratio=a.expected_ratio,
            evidence=a.evidence,
            test=a.test,
        )
        for i, a in enumerate(actions[:PLACES])
    )


def _expected(action: Action) -> float:
    value = known(action.expected_ratio)
    return math.inf if value is None else value


def _merge(group: Sequence[_Proposal]) -> Action:
    best = min(group, key=lambda p: p.ratio)
    total = sum(p.makespan_s for p in group)
    ratio = sum(p.ratio * p.makespan_s for p in group) / total
    more = f" (and {len(group) - 1} more cells)" if len(group) > 1 else ""
    return Action(
        rank=0,
        title=best.title,
        change=best.change,
        cell_ids=tuple(p.cell_id for p in sorted(group, key=lambda p: p.ratio)),
        expected_ratio=round(ratio, 4),
        evidence=best.evidence + more,
        test=best.test,
    )


def _proposals(
    plan: Plan, planned: PlannedCell, cell: CellDiagnosis, f: Figures
) -> list[_Proposal]:
    classes = {cell.primary, cell.secondary}
    found: list[_Proposal | None] = []
    if gil_bound(f):
        found.append(_release_gil(plan, planned, f))
    elif "compute-bound" in classes:
        found += [_hotspot(plan, planned, f), _threads(plan, planned, f)]
    if "scheduler-bound" in classes:
        found.append(_batch(plan, planned, f))
    if "transfer-bound" in classes:
        found.append(_overlap(plan, planned, f))
    if "straggler-bound" in classes:
        found.append(_equal_workers(plan, planned, f))
    return [p for p in found if p is not None]


def _proposal(
    planned: PlannedCell,
    f: Figures,
    ratio: float,
    *,
    kind: str,
    title: str,
    change: str,
    test: str,
    evidence: str,
) -> _Proposal:
    return _Proposal(
        kind=kind,
        title=title,
        change=change,
        test=test,
        evidence=f"{planned.cell.label} ({planned.cell.env}): {evidence}",
        ratio=min(1.0, max(0.0, ratio)),
        cell_id=planned.cell_id,
        makespan_s=f.makespan_s,
    )


def _release_gil(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal:
    env = planned.cell.env
    other = {"threads": "processes", "remote-threads": "remote-processes"}.get(env)
    usable = f.usable
    busy = known(f.busy_fraction) or 1.0
    gain = 1.0 - busy * (1.0 - f.processes / usable)
    where = (
        f"env={env} to env={other}"
        if other
        else f"{f.processes} worker process with {f.threads} threads to {f.threads} processes "
        "with 1 thread"
    )
    return _proposal(
        planned,
        f,
        gain,
        kind="gil",
        title="Use processes, or release the GIL in the kernel",
        change=f"run {planned.cell.label} from {where}; or compile its inner loop with nogil",
        test=f'matrix "{plan.matrix_name}": environments = ["{env}", "{other or env}"] for '
        f"workload {planned.cell.workload}, then {run_command(plan)}; compare the two makespans",
        evidence=f"{num(f.cores_used)} of {usable:.2g} free cores used by {f.threads} threads, "
        f"CPU / wall {pct(f.cpu_per_wall)}",
    )


def _hotspot(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal:
    share = f.stream.top_share if f.stream else 1.0
    name = f.stream.top_name if f.stream else planned.cell.workload
    busy = min(1.0, known(f.busy_fraction) or 0.0)
    return _proposal(
        planned,
        f,
        1.0 - busy * share / 2,
        kind=f"hotspot {name}",
        title=f"Make the hotspot {name} twice as fast",
        change=f"CPU time of {name} from {num(f.task_ms)} ms to "
        f"{num((known(f.task_ms) or 0.0) / 2)} ms a task",
        test=f"profile {name}, build the wheel, then {run_command(plan)} --wheel NEW.whl --against "
        "CURRENT.whl; the verdict must be faster",
        evidence=f"{name} has {share:.0%} of the task time, threads are busy "
        f"{pct(f.busy_fraction)} of the makespan",
    )


def _threads(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal | None:
    cores = known(f.cores)
    used = known(f.cores_used)
    if cores is None or used is None or f.threads >= cores:
        return None
    busy = min(1.0, known(f.busy_fraction) or 0.0)
    return _proposal(
        planned,
        f,
        1.0 - busy * (1.0 - f.threads / cores),
        kind="threads",
        title="Give the workers as many threads as they have cores",
        change=f"threads in all from {f.threads} to {cores:.0f}",
        test=f"start the lane's workers with {cores:.0f} threads in all (dask worker --nthreads), "
        f"then {run_command(plan)}",
        evidence=f"{num(f.cores_used)} of {cores:.0f} cores in use with {f.threads} threads",
    )


def _batch(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal | None:
    work, around = known(f.task_ms), known(f.overhead_ms)
    if work is None or around is None or f.tasks < 2 or around <= 0:
        return None
    most = max(1.0, f.tasks / (f.threads * TASKS_PER_THREAD))
    aim = around / max(OVERHEAD_AIM * work, 1e-6)
    k = math.floor(max(1.0, min(most, math.ceil(aim))))
    if k < 2:
        return None
    moved = work * (known(f.transfer_per_task) or 0.0)
    return _proposal(
        planned,
        f,
        (work + around / k + moved) / (work + around + moved),
        kind="batch",
        title="Make tasks bigger",
        change=f"from {f.tasks:.0f} tasks of {work:.3g} ms to {f.tasks / k:.0f} of "
        f"{work * k:.3g} ms: {k} of today's in one",
        test=f"in workload {planned.cell.workload} compute {k} units in one task (a new version "
        f"of the workload), then {run_command(plan)}; compare throughput at equal units",
        evidence=f"{around:.3g} ms of thread time around each {work:.3g} ms task",
    )


def _overlap(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal | None:
    share = _awaiting(f)
    if share is None:
        return None
    return _proposal(
        planned,
        f,
        1.0 - share,
        kind="transfer",
        title="Move less data, or move it while tasks compute",
        change=f"thread time waiting for inputs from {share:.0%} to 0 %: larger chunks next to "
        "their inputs, smaller payloads (dtype, compression), or fusing producer and consumer",
        test=f"return smaller results from {planned.cell.workload} (or one chunk a worker), then "
        f"{run_command(plan)}; transfer_mib must fall and the makespan with it",
        evidence=f"waiting for inputs takes {share:.0%} of the thread time, "
        f"{num(f.transfer_rate)} MiB for each CPU second of tasks",
    )


def _awaiting(f: Figures) -> float | None:
    """Share of thread time idle for inputs; without a stream, transfers that fit into idle time."""
    if f.stream is not None:
        return min(0.95, f.stream.awaiting_share)
    moved, busy = known(f.transfer_share), known(f.busy_fraction)
    if moved is None or busy is None:
        return None
    return min(0.95, moved, max(0.0, 1.0 - busy))


def _equal_workers(plan: Plan, planned: PlannedCell, f: Figures) -> _Proposal | None:
    s = f.stream
    if s is None or s.workers < 2:
        return None
    ratio = 1.0 - min(0.95, s.tail_share)
    slow = f"worker {s.slowest_worker}" if s.slowest_worker else "the slowest worker"
    times = "" if s.slowest_ratio is None else f", {s.slowest_ratio:.2f} times slower a task"
    return _proposal(
        planned,
        f,
        ratio,
        kind="straggler",
        title=f"Take the load off {slow}",
        change=f"{slow} from equal shares to what its speed allows (fewer threads, or leave it "
        "out), or smaller last tasks",
        test=f"run once without {slow}: stop it or leave it out of lane.toml, then "
        f"{run_command(plan)}; throughput per effective thread must rise",
        evidence=f"threads without work wait {s.tail_share:.0%} of the thread time for it{times}",
    )


def _correctness(plan: Plan, cells: Sequence[CellDiagnosis]) -> Action | None:
    wrong = [c for c in cells if c.primary == "correctness"]
    if not wrong:
        return None
    speaking = next((s for s in wrong[0].signals if s.strength > 0), wrong[0].signals[0])
    return Action(
        rank=0,
        title="Repair the wrong or lost results first",
        change=f"success rate of {wrong[0].label} to 100 % on both sides; no performance figure "
        "counts before that",
        cell_ids=tuple(c.cell_id for c in wrong),
        expected_ratio=Missing(missing="correctness comes before speed"),
        evidence=f"{wrong[0].label}: {speaking.says}",
        test=f"{run_command(plan)}: the check against the reference must pass in every cell",
    )
