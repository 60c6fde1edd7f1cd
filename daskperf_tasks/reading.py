"""What the command line reads: lists, one run, two runs, a lane, verification.

Nothing here measures. A run is looked for in the store first and then in the
spool, so that one that waits for its store, or is in progress, can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from daskperf_tasks.asking import Ask, plan_of
from daskperf_tasks.derive import report_inputs
from daskperf_tasks.errors import InputError, StoreError, UnknownRunError
from daskperf_tasks.model.codec import encode
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.ids import new_run_id
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.subject import SubjectSet
from daskperf_tasks.rebuild import rebuild
from daskperf_tasks.settings import Settings
from daskperf_tasks.stage_clock import stage_seconds
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.manifest import verify_run
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.runs import RunRow, list_runs, load, load_blocks, run_ids

LATEST = "latest"


def sketch_plan(settings: Settings, ask: Ask) -> Plan:
    """Make a plan without a run.

    A wheel that ``ask`` names brings its own workloads; it is unpacked into the
    cache for that. None is chosen when it names none.
    """
    from daskperf_tasks.deploy.sources import wheel_by_hand
    from daskperf_tasks.deploy.wheel_workloads import workloads_with

    now = datetime.now(UTC)
    run_id = new_run_id(now, b"\0\0\0")
    subject, data = wheel_by_hand(ask.wheel) if ask.wheel is not None else (None, None)
    with workloads_with(subject, data, local_root=settings.cache / "wheels") as known:
        return plan_of(settings, ask, run_id=run_id, created_at=now, arms=("subject",), known=known)


def plan_text(plan: Plan) -> str:
    """Render a plan: its cells as a table, then rounds and estimate."""
    width = max((len(c.cell_id) for c in plan.cells), default=4)
    lines = [f"{'cell':<{width}}  units  repeats  required"]
    lines += [
        f"{c.cell_id:<{width}}  {c.request.units:5d}  {c.request.repeats:7d}  "
        f"{'yes' if c.required else 'no'}"
        for c in plan.cells
    ]
    lines.append(
        f"{len(plan.cells)} cells, {len(plan.rounds)} rounds, seed {plan.seed}, "
        f"about {plan.estimate_s:.0f} s of measuring for one wheel"
    )
    for experiment in plan.experiments:
        lines += ["", f"experiment {experiment.name}: {experiment.question}"]
        lines += [f"  {point.label}: {point.cell_id}" for point in experiment.points]
        if experiment.prediction is not None:
            order = " < ".join(experiment.prediction.order)
            lines += [f"  prediction, fastest first: {order}", f"  {experiment.prediction.text}"]
    return "\n".join(lines)


def plan_graphs(
    settings: Settings, ask: Ask, plan: Plan, *, timeout_s: float = 30.0
) -> dict[str, GraphFacts | Missing]:
    """Build every cell's graph, run none, and return the properties by cell id.

    Parameters
    ----------
    settings, ask
        As for :func:`sketch_plan`.
    plan
        What it made of them.
    timeout_s
        Limit for one graph. Building runs the code of the workloads, in a process
        of its own.
    """
    from daskperf_tasks.deploy.driver import install_here
    from daskperf_tasks.deploy.sources import wheel_by_hand
    from daskperf_tasks.workloads.graph_counter import GraphCounter, Work

    path: list[str] = []
    if ask.wheel is not None:
        subject, data = wheel_by_hand(ask.wheel)
        path = [install_here(subject, data, settings.cache / "wheels")["folder"]]
    found: dict[str, GraphFacts | Missing] = {}
    counted: dict[Work, GraphFacts | Missing] = {}
    with GraphCounter(timeout_s=timeout_s, path=path) as counter:
        for c in plan.cells:
            work = Work(
                workload=c.request.workload,
                params=c.request.params,
                units=c.request.units,
                seed=c.request.seed,
                cluster=c.cell.env not in ("threads", "processes"),
            )
            if work not in counted:
                counted[work] = counter.count(work)
            found[c.cell_id] = counted[work]
    return found


def graphs_text(graphs: Mapping[str, GraphFacts | Missing]) -> str:
    """Render the properties of graphs as a table."""
    width = max((len(cell_id) for cell_id in graphs), default=4)
    lines = [f"{'graph of cell':<{width}}  {'tasks':>9}  {'arcs':>9}  {'path':>6}  form"]
    for cell_id, g in graphs.items():
        if isinstance(g, Missing):
            lines.append(f"{cell_id:<{width}}  not known: {g.missing}")
        else:
            lines.append(
                f"{cell_id:<{width}}  {g.tasks:>9,}  {g.arcs:>9,}  {g.longest_path:>6,}  {g.form}"
            )
    return "\n".join(lines)


def check_lane(settings: Settings, *, scheduler: str | None, lane_path: Path | None) -> Preflight:
    """Run preflight alone against a lane, without a wheel.

    Raises
    ------
    ClusterError
        When the scheduler does not answer within the lane's timeout.
    """
    from daskperf_tasks.deploy.lane_file import load_lane
    from daskperf_tasks.preflight.check import preflight

    path = lane_path or settings.lane
    lane = load_lane(path, scheduler=scheduler)
    return preflight(lane.scheduler, lane=lane, subject=None)


def preflight_text(seen: Preflight) -> str:
    """Render facts and findings: one line a process, then what was found."""
    lines = [f"{'role':<10}{'name':<14}{'host':<20}{'threads':>7}  {'python':<9}dask"]
    lines += [
        f"{f.role:<10}{f.name:<14}{f.host:<20}{f.nthreads or '-':>7}  {f.python:<9}"
        f"{f.versions.get('dask', 'missing')}"
        for f in seen.facts
    ]
    lines += [str(f) for f in seen.findings] or ["no findings"]
    lines.append("blocked: nothing may be measured" if seen.blocked else "fit to measure")
    return "\n".join(lines)


def all_runs(settings: Settings) -> tuple[RunRow, ...]:
    """Return the runs of the store, and of the spool those that are not published, oldest first.

    Raises
    ------
    StoreError
        When the store does not answer.
    """
    from daskperf_tasks.publish.publish import pending

    spool = FilesystemStore(settings.spool)
    waiting = set(pending(spool))
    rows: dict[str, RunRow] = {}
    for row in list_runs(spool):
        if row.run_id in waiting:
            rows[row.run_id] = replace(row, reasons=(*row.reasons, "waits in the spool"))
        elif row.state == "in progress":
            rows[row.run_id] = row
    rows |= {r.run_id: r for r in list_runs(_ledger(settings))}
    return tuple(rows[k] for k in sorted(rows))


def _ledger(settings: Settings) -> ArtifactStore:
    """Return the store to read from; a folder must be there, but for the default one."""
    store = open_store(settings.store)
    parts = urlsplit(settings.store)
    if parts.scheme in ("", "file") and settings.store != (settings.home / "store").as_uri():
        folder = Path(unquote(parts.path))
        if not folder.is_dir():
            raise InputError(
                "there is no such store",
                where=str(folder),
                expected="a folder",
                found="a file" if folder.exists() else "nothing",
                todo="check --store or DASKPERF_STORE; the first run makes the folder",
            )
    return store


def runs_text(rows: Sequence[RunRow]) -> str:
    """Render a list of runs as a table."""
    if not rows:
        return "no runs yet: `make nightly` or `daskperf run nightly` makes the first"
    width = max(10, *(len(row.matrix or "-") for row in rows)) + 2
    lines = [f"{'run':<24}  {'state':<12}{'green':<7}{'matrix':<{width}}subject"]
    for row in rows:
        green = "-" if row.state == "in progress" else ("yes" if row.green else "no")
        line = f"{row.run_id:<24}  {row.state:<12}{green:<7}{row.matrix or '-':<{width}}"
        line += row.subject or "-"
        lines.append(line + (f"  ({row.reasons[0]})" if row.reasons else ""))
    return "\n".join(lines)


def find_run(settings: Settings, run_id: str) -> tuple[str, ArtifactStore]:
    """Return a run's full id and the store that holds it.

    Parameters
    ----------
    settings
        Where to look.
    run_id
        A run id, its unique beginning, or ``latest``.

    Raises
    ------
    UnknownRunError
        When there is none or more than one.
    """
    spool = FilesystemStore(settings.spool)
    spooled = run_ids(spool)
    silence: StoreError | None = None
    stored: tuple[str, ...] = ()
    store: ArtifactStore | None = None
    try:
        store = _ledger(settings)
        stored = run_ids(store)
    except StoreError as err:
        silence = err  # the spool may still know it
    known = sorted({*spooled, *stored})
    hits = known[-1:] if run_id == LATEST else [k for k in known if k.startswith(run_id)]
    if not run_id:
        hits = []
    if not hits and silence is not None:
        raise silence
    if len(hits) != 1:
        raise UnknownRunError(
            "no such run" if not hits else "more than one run begins like this",
            where=f"{settings.store} and {settings.spool}",
            expected="a run id, its unique beginning, or 'latest'",
            found=f"{run_id!r}" + (f" ({len(hits)} runs)" if hits else ""),
            todo="`daskperf list` shows what there is",
        )
    [found] = hits
    return found, (store if store is not None and found in stored else spool)


def show_run(settings: Settings, run_id: str) -> tuple[dict[str, Any], str]:
    """Return a run as a document and as the terminal summary."""
    found, store = find_run(settings, run_id)
    inputs = report_inputs(store, found)
    from daskperf_tasks.report.terminal import terminal_summary

    document = {
        "run_id": found,
        "store": store.url,
        "state": inputs.state,
        "green": inputs.green,
        "reasons": list(inputs.reasons),
        # The spool also knows of the stages after the manifest.
        "stage_seconds": stage_seconds(FilesystemStore(settings.spool), found)
        or stage_seconds(store, found),
        **{
            name: encode(getattr(inputs, name))
            for name in (
                "subjects",
                "local",
                "remote",
                "comparison",
                "verdicts",
                "diagnosis",
                "validation",
            )
        },
    }
    return document, terminal_summary(inputs)


def compare_runs(settings: Settings, run_a: str, run_b: str) -> tuple[dict[str, Any], str]:
    """Compare the subjects of two stored runs cell by cell.

    Runs of two nights differ by the machine as well as by the wheel, so the
    answer says what it is: evidence across nights, not a verdict.
    """
    from daskperf_tasks.analyse.wheels import compare_previous

    id_a, store_a = find_run(settings, run_a)
    id_b, store_b = find_run(settings, run_b)
    sha_a, sha_b = (
        load(s, i, "subject.json", SubjectSet).subject.sha256
        for s, i in ((store_a, id_a), (store_b, id_b))
    )
    same = sha_a == sha_b
    pairs = compare_previous(
        load(store_b, id_b, "plan.json", Plan),
        load_blocks(store_b, id_b),
        load_blocks(store_a, id_a),
        same_subject=same,
    )
    document = {"a": id_a, "b": id_b, "same_subject": same, "cells": encode(pairs)}
    width = max((len(p.cell_id) for p in pairs), default=4)
    wheel = "the same wheel" if same else "different wheels"
    lines = [f"{id_b} against {id_a} ({wheel}); ratio of makespans, above 1 is slower", ""]
    for pair in pairs:
        shown = (
            pair.ratio.missing
            if isinstance(pair.ratio, Missing)
            else f"{pair.ratio.value:6.3f}  [{pair.ratio.low:.3f}, {pair.ratio.high:.3f}]"
        )
        lines.append(f"{pair.cell_id:<{width}}  {shown}  {pair.verdict}")
    return document, "\n".join(lines)


def rebuild_run(settings: Settings, run_id: str) -> dict[str, Any]:
    """Make everything after measuring again from a run's raw artifacts."""
    found, store = find_run(settings, run_id)
    return rebuild(settings, found, store)


def verify_stored(settings: Settings, run_id: str) -> tuple[str, tuple[str, ...]]:
    """Read a run back and return its problems."""
    found, store = find_run(settings, run_id)
    return found, tuple(verify_run(store, found))


def drain_spool(settings: Settings) -> tuple[tuple[str, ...], dict[str, str]]:
    """Publish what waits in the spool.

    Returns
    -------
    published, waiting
        Run ids, and run id -> why it still waits.
    """
    from daskperf_tasks.publish.publish import drain, pending

    spool = FilesystemStore(settings.spool)
    try:
        done = drain(spool, open_store(settings.store))
    except StoreError as err:
        return (), dict.fromkeys(pending(spool), str(err))
    return done.published, done.failed
