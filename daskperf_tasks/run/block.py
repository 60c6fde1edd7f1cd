"""One block: check, warm up, repeat; everything seen ends up in its :class:`BlockResult`."""

from __future__ import annotations

import gc
import importlib
import os
import time
import traceback
import warnings
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from daskperf_tasks.collect import fine_metrics, host_load
from daskperf_tasks.collect.task_stream import RepeatRows, TaskRow, task_table, to_parquet
from daskperf_tasks.errors import DaskperfError
from daskperf_tasks.model.block import (
    NO_GRAPH,
    BlockResult,
    Failure,
    Member,
    Outcome,
    Phase,
    Sample,
    Success,
    Timeout,
)
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Request
from daskperf_tasks.run import protocol
from daskperf_tasks.run.contract import built_by, checked_by
from daskperf_tasks.run.deaths import TERMINATED, explained
from daskperf_tasks.run.environments import RunEnvironment
from daskperf_tasks.run.limits import BlockTimeLimit, WorkerLost, limited
from daskperf_tasks.run.log_file import last_lines
from daskperf_tasks.run.look import Look, between
from daskperf_tasks.run.spec import RoundSpec, Turn
from daskperf_tasks.store.keys import block_file, stream_file
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.protocol import Built, Workload

#: Seconds for tidying up after a block.
_TIDY_S = 8.0
_TRACEBACK_LINES = 60
#: Characters that are kept of a message.
_MESSAGE = 2000

Fault = Literal["infra", "product", "harness", "input"]


@dataclass(slots=True)
class Seen:
    """What a block has gathered so far; it survives whatever ends the block."""

    samples: list[Sample] = field(default_factory=list)
    streams: list[RepeatRows] = field(default_factory=list)
    lost_rows: Missing | None = None
    fine: list[dict[str, float]] = field(default_factory=list)
    no_fine: Missing | None = None
    correctness: str = "not checked: the block ended before its first result"
    graph: GraphFacts | Missing = NO_GRAPH
    #: Who came or went between two looks.
    changed: str | None = None
    first: Look | None = None
    last: Look | None = None
    #: Whose code is running: for the blame when it raises.
    fault: Fault = "harness"


def measure_block(
    turn: Turn,
    spec: RoundSpec,
    env: RunEnvironment,
    workload: Workload,
    store: ArtifactStore,
) -> BlockResult:
    """Measure a block and write its documents; never raises for what the block does."""
    request = turn.planned.request
    seen = Seen()
    began, start = _now(), time.monotonic()
    host_before = _host_look(env, seen)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = _guarded(
            seen,
            request.timeout_s,
            env,
            lambda: _run(turn, env, workload, seen),
            start,
        )
        outcome = explained(outcome, _memory_kills(env, outcome))
        members_after, trouble = _tidy(env)
    members_before = seen.first.members if seen.first else members_after
    load = host_load.host_load(host_before, _host_look(env, seen))
    stream: str | Missing
    if seen.streams and seen.lost_rows is None:
        stream = stream_file(
            spec.run_id, turn.planned.cell_id, spec.arm, spec.round.index, turn.attempt
        )
        table = task_table(
            seen.streams,
            cell_id=turn.planned.cell_id,
            arm=spec.arm,
            round_index=spec.round.index,
            attempt=turn.attempt,
        )
        store.put(stream, to_parquet(table))
    else:
        stream = seen.lost_rows or Missing(missing="the block ended before its first repeat")
    threads, processes = env.shape(members_before)
    invalid = (
        _at("start", env.layout_fault(members_before))
        or trouble
        or seen.changed
        or protocol.membership_change(members_before, members_after)
        or _at("end", env.layout_fault(members_after))
        or protocol.disturbed(load, spec.max_foreign_cores)
    )
    texts = dict.fromkeys([*env.warnings, *(str(w.message) for w in caught)])
    result = BlockResult(
        run_id=spec.run_id,
        cell_id=turn.planned.cell_id,
        arm=spec.arm,
        round=spec.round.index,
        attempt=turn.attempt,
        subject_sha256=spec.subject_sha256,
        subject_version=env.subject_version,
        request_hash=turn.planned.request_hash,
        started_at=began,
        ended_at=_now(),
        threads=threads,
        processes=processes,
        outcome=outcome,
        invalid_reason=invalid,
        correctness=seen.correctness,
        members_before=members_before,
        members_after=members_after,
        host_load=load,
        samples=tuple(seen.samples),
        task_stream=stream if isinstance(stream, Missing) else _below_run(stream),
        fine_metrics=seen.no_fine or fine_metrics.total(seen.fine),
        warnings=tuple(texts),
        graph=seen.graph,
    )
    write_block(store, result)
    return result


def write_block(store: ArtifactStore, result: BlockResult) -> None:
    """Write a block's document under its key, once."""
    key = block_file(result.run_id, result.cell_id, result.arm, result.round, result.attempt)
    store.put(key, dumps(result).encode())


def _run(turn: Turn, env: RunEnvironment, workload: Workload, seen: Seen) -> None:
    request = turn.planned.request
    seen.fault = "product"
    for name in workload.requires:
        importlib.import_module(name)
    with env.current():
        built = built_by(workload, request)
        seen.graph = graph_facts(built)
    seen.fault = "harness"
    env.begin(turn.planned.cell.workers)
    seen.first = seen.last = env.look()

    def repeat(phase: Phase) -> float:
        sample, rows = one_repeat(env, built, workload, request, seen, phase)
        seen.samples.append(sample)
        if isinstance(rows, Missing):
            seen.lost_rows = seen.lost_rows or rows
        else:
            seen.streams.append(RepeatRows(repeat=sample.repeat, phase=phase, rows=rows))
        return sample.makespan_s

    repeat("warmup")  # the first result is checked before anything is timed for good
    makespans: list[float] = []
    while not protocol.warm(makespans, request.warmup):
        makespans.append(repeat("warmup"))
    for _ in range(request.repeats):
        repeat("measure")


def one_repeat(
    env: RunEnvironment,
    built: Built,
    workload: Workload,
    request: Request,
    seen: Seen,
    phase: Phase,
) -> tuple[Sample, tuple[TaskRow, ...] | Missing]:
    """Compute once. Between the two readings of the clock stands the computation alone."""
    gc.collect()
    gc.freeze()
    seen.fault = "product"
    started_at = time.time()
    cpu = time.process_time()
    start = time.perf_counter()
    results = env.compute(built)
    makespan = time.perf_counter() - start
    cpu = time.process_time() - cpu
    seen.fault = "harness"
    gc.unfreeze()
    before, after = seen.last, env.look()
    assert before is not None  # the first look is taken before the first repeat
    seen.last = after
    seen.changed = seen.changed or protocol.membership_change(before.members, after.members)
    used = between(before, after)
    seen.fault = "product"
    checked = checked_by(workload, results, request)
    seen.fault = "harness"
    seen.correctness = checked.text
    if isinstance(used.fine, Missing):
        seen.no_fine = used.fine
    elif phase == "measure":
        seen.fine.append(used.fine)
    in_driver = set(after.worker_cpu_s) == {str(os.getpid())}
    sample = Sample(
        repeat=len(seen.samples),
        phase=phase,
        started_at=started_at,
        makespan_s=makespan,
        units=request.units,
        tasks=0 if isinstance(seen.graph, Missing) else seen.graph.tasks,
        task_wall_s=used.task_wall_s,
        task_cpu_s=used.task_cpu_s,
        transfer_bytes=used.transfer_bytes,
        transfer_s=used.transfer_s,
        worker_cpu_s=cpu if in_driver else used.worker_cpu_s,
        scheduler_cpu_s=used.scheduler_cpu_s,
        client_cpu_s=Missing(missing="the tasks run in the client's process") if in_driver else cpu,
        peak_rss_mib=used.peak_rss_mib,
        success_rate=checked.right_units / request.units,
    )
    return sample, after.rows


def _guarded(seen: Seen, seconds: float, env: RunEnvironment, body: Any, start: float) -> Outcome:
    try:
        with limited(seconds, env.lost):
            body()
    except BlockTimeLimit:
        return Timeout(after_s=round(time.monotonic() - start, 3))
    except WorkerLost as err:
        return Failure(fault="infra", error_type="WorkerLost", message=str(err), traceback="")
    except Exception as err:
        return failure_of(err, seen.fault)
    except BaseException as err:
        # The workload's own, SystemExit and KeyboardInterrupt among them; not those that
        # are to end this process.
        if seen.fault != "product" or getattr(err, "code", None) == TERMINATED:
            raise
        return failure_of(err, "product")
    finally:
        gc.unfreeze()
    return Success()


def failure_of(err: BaseException, fault: Fault) -> Failure:
    """Describe an exception; errors of ours say themselves whose fault it is."""
    if isinstance(err, DaskperfError):
        kind = err.kind
        fault = kind if kind in ("infra", "product", "input") else "harness"  # type: ignore[assignment]
    text = "".join(traceback.format_exception(err))
    return Failure(
        fault=fault,
        error_type=type(err).__name__,
        message=_text_of(err)[:_MESSAGE],
        traceback=last_lines(text, _TRACEBACK_LINES),
    )


def _text_of(err: BaseException) -> str:
    try:
        return str(err)
    except Exception as wrong:
        return f"(its text cannot be had: {type(wrong).__name__})"


def _tidy(env: RunEnvironment) -> tuple[tuple[Member, ...], str | None]:
    """End the block; return who is there, and what went wrong with it."""
    members: tuple[Member, ...] = ()
    try:
        with limited(_TIDY_S, lambda: None):
            env.end()
            members = env.members()
    except (BlockTimeLimit, Exception) as err:
        return members, f"the environment did not answer after the block: {type(err).__name__}"
    return members, None


def _memory_kills(env: RunEnvironment, outcome: Outcome) -> str | None:
    """Ask which workers were ended for holding too much memory, if the block failed."""
    if isinstance(outcome, Success):
        return None
    try:
        with limited(_TIDY_S, lambda: None):
            return env.memory_kills()
    except (BlockTimeLimit, Exception):
        return None


def _host_look(env: RunEnvironment, seen: Seen) -> host_load.HostLook:
    family = host_load.processes_cpu_s(host_load.family_pids(os.getpid()))
    look = seen.last
    if look is None:
        try:
            with limited(_TIDY_S, lambda: None):
                look = env.look()
        except (BlockTimeLimit, Exception):
            look = None
    return host_load.look(time.time(), family + (look.others_cpu_s if look else 0.0))


def _at(end: str, fault: str | None) -> str | None:
    return None if fault is None else f"{fault} at the {end} of the block"


def _below_run(key: str) -> str:
    return key.split("/", 2)[2]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
