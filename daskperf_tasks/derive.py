"""Everything after measuring, from the raw artifacts of one run in one store.

Each function loads documents, lets pure code decide, and puts the result
beside them; all of it can be done again at any later time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from daskperf_tasks.analyse.outcome import Outcome, decide_outcome
from daskperf_tasks.errors import StoreError
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import Stored, dumps
from daskperf_tasks.model.experiment import Experiments
from daskperf_tasks.model.facts import Calibration, Lane, Preflight
from daskperf_tasks.model.graph import GraphTable
from daskperf_tasks.model.ids import Side, parse_cell_id
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import (
    Comparison,
    Diagnosis,
    Manifest,
    Summary,
    Validation,
    Verdicts,
)
from daskperf_tasks.model.subject import Deployment, SubjectSet
from daskperf_tasks.stage_clock import stage_records, stage_seconds
from daskperf_tasks.store import keys
from daskperf_tasks.store.manifest import build_manifest, describe, put_manifest
from daskperf_tasks.store.protocol import ArtifactStore
from daskperf_tasks.store.runs import load, load_blocks, load_or_none, previous_accepted

if TYPE_CHECKING:
    import pyarrow as pa

    from daskperf_tasks.report.inputs import ReportInputs


T = TypeVar("T", bound=Stored)

SIDES: tuple[Side, Side] = ("local", "remote")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRun:
    """The accepted run that tonight is compared with."""

    run_id: str
    subject_sha256: str
    blocks: tuple[BlockResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """What :func:`derive` made."""

    summaries: Mapping[Side, Summary]
    comparison: Comparison
    verdicts: Verdicts
    diagnosis: Diagnosis


def previous_run(store_url: str, spool: ArtifactStore, run_id: str) -> PreviousRun | Missing:
    """Return the last accepted run before this one, or why there is none.

    A store that does not answer costs the comparison, not the night.
    """
    from daskperf_tasks.store.open import open_store

    plan = load(spool, run_id, "plan.json", Plan)
    lane = load(spool, run_id, "lane.json", Lane)
    try:
        store = open_store(store_url)
        accepted = previous_accepted(store, run_id, lane.name, plan.matrix_name)
        if accepted is None:
            return Missing(
                missing="there is no accepted run of this matrix on this lane before this one"
            )
        return PreviousRun(
            run_id=accepted.run_id,
            subject_sha256=accepted.subject_sha256,
            blocks=load_blocks(store, accepted.run_id),
        )
    except StoreError as err:
        return Missing(missing=f"the previous run could not be read: {err.message}")


def derive(
    store: ArtifactStore, run_id: str, *, previous_of: Callable[[], PreviousRun | Missing]
) -> Derived:
    """Write summaries, tables, timelines, comparison, verdicts, diagnosis and experiments.

    Parameters
    ----------
    store
        Holds the run's raw artifacts and receives the derived ones.
    run_id
        The run.
    previous_of
        Gives the run to compare with, or why there is none.
    """
    from daskperf_tasks.analyse.diagnose import diagnose
    from daskperf_tasks.analyse.graph_table import graph_table
    from daskperf_tasks.analyse.sides import compare_sides
    from daskperf_tasks.analyse.summarise import summaries as summarise
    from daskperf_tasks.analyse.verdicts import decide
    from daskperf_tasks.analyse.wheels import compare_paired, compare_previous

    plan = load(store, run_id, "plan.json", Plan)
    subjects = load(store, run_id, "subject.json", SubjectSet)
    calibration = load_or_none(store, run_id, "calibration.json", Calibration)
    preflight = load_or_none(store, run_id, "preflight.json", Preflight)
    blocks = load_blocks(store, run_id)
    summaries = summarise(plan, blocks, calibration, preflight)
    streams = _streams(store, run_id, blocks)
    for side in SIDES:
        _save(store, run_id, f"{side}/summary.json", summaries[side])
        _save_tables(store, run_id, side, blocks, streams)

    before = previous_of()
    same: bool | None = None
    across: tuple[Any, ...] = ()
    if isinstance(before, PreviousRun):
        same = before.subject_sha256 == subjects.subject.sha256
        across = compare_previous(plan, blocks, before.blocks, same_subject=same)
    reference = subjects.reference
    comparison = Comparison(
        run_id=run_id,
        sides=compare_sides(plan, summaries, blocks, calibration),
        previous_run=before if isinstance(before, Missing) else before.run_id,
        same_subject=same,
        previous=across,
        reference=(
            f"{reference.name} {reference.version}"
            if reference
            else Missing(missing=subjects.reference_reason)
        ),
        paired=compare_paired(plan, blocks),
    )
    verdicts = decide(comparison)
    by_cell = _by_cell(streams)
    diagnosis = diagnose(plan, blocks, summaries, calibration, preflight, by_cell)
    _save(store, run_id, "comparison.json", comparison)
    _save(store, run_id, "verdicts.json", verdicts)
    _save(store, run_id, "diagnosis.json", diagnosis)
    if plan.experiments:
        _save_experiments(store, plan, blocks, preflight)
    _save(store, run_id, "graphs.json", graph_table(plan, blocks, summaries, by_cell))
    return Derived(
        summaries=summaries, comparison=comparison, verdicts=verdicts, diagnosis=diagnosis
    )


def validate_into(store: ArtifactStore, run_id: str) -> Validation:
    """Validate a run's tables and write the results, whatever they are."""
    from daskperf_tasks.validate.validate import validate_run

    plan = load(store, run_id, "plan.json", Plan)
    seen = validate_run(
        plan,
        load_blocks(store, run_id),
        _summaries(store, run_id),
        load_or_none(store, run_id, "comparison.json", Comparison),
        load_or_none(store, run_id, "preflight.json", Preflight),
        load_or_none(store, run_id, "deployment.json", Deployment),
        load_or_none(store, run_id, "subject.json", SubjectSet),
        load_or_none(store, run_id, keys.EXPERIMENTS, Experiments),
    )
    _save(store, run_id, "validation/results.json", seen)
    return seen


def report_into(store: ArtifactStore, run_id: str, *, store_url: str) -> list[str]:
    """Write ``notes.md`` and ``report.html`` and return their names."""
    from daskperf_tasks.report.html import report_html
    from daskperf_tasks.report.notes import notes_md

    inputs = report_inputs(store, run_id, store_url=store_url)
    for name, text in (("notes.md", notes_md(inputs)), ("report.html", report_html(inputs))):
        store.put(keys.run_key(run_id, name), text.encode(), replace=True)
    return ["notes.md", "report.html"]


def close_run(store: ArtifactStore, run_id: str) -> Manifest:
    """Decide state and colour of a run and write its manifest, last."""
    plan = load(store, run_id, "plan.json", Plan)
    lane = load(store, run_id, "lane.json", Lane)
    subject = load(store, run_id, "subject.json", SubjectSet).subject
    decided = _decide(store, run_id)
    manifest = build_manifest(
        store,
        run_id,
        state=decided.state,
        reasons=decided.reasons,
        green=decided.green,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        trigger=plan.trigger,
        matrix_name=plan.matrix_name,
        lane=lane.name,
        subject=f"{subject.name} {subject.version}",
        subject_sha256=subject.sha256,
        measured=decided.measured,
        failed=decided.failed,
        missing=decided.missing,
        stage_seconds={
            name: seconds
            for name, seconds in stage_seconds(store, run_id).items()
            if keys.in_manifest(f"stages/{name}.json")
        },
    )
    written = load_or_none(store, run_id, keys.MANIFEST, Manifest)
    if written is not None and replace(manifest, created_at=written.created_at) == written:
        return written  # a retry that found nothing new closes nothing again
    put_manifest(store, manifest)
    return manifest


def report_inputs(store: ArtifactStore, run_id: str, *, store_url: str = "") -> ReportInputs:
    """Load every document of a run that a report tells of.

    Parameters
    ----------
    store
        Holds the run.
    run_id
        The run.
    store_url
        Where readers will find it; default: ``store``.
    """
    from daskperf_tasks.report.inputs import NOT_WRITTEN, ReportInputs

    def part(name: str, cls: type[T]) -> T | Missing:
        return load_or_none(store, run_id, name, cls) or NOT_WRITTEN

    decided = _decide(store, run_id)
    later = later_troubles(store, run_id)
    prefix = keys.run_prefix(run_id)
    return ReportInputs(
        run_id=run_id,
        plan=part("plan.json", Plan),
        subjects=part("subject.json", SubjectSet),
        lane=part("lane.json", Lane),
        deployment=part("deployment.json", Deployment),
        preflight=part("preflight.json", Preflight),
        calibration=part("calibration.json", Calibration),
        blocks=load_blocks(store, run_id),
        local=part("local/summary.json", Summary),
        remote=part("remote/summary.json", Summary),
        comparison=part("comparison.json", Comparison),
        verdicts=part("verdicts.json", Verdicts),
        diagnosis=part("diagnosis.json", Diagnosis),
        experiments=part(keys.EXPERIMENTS, Experiments),
        validation=part("validation/results.json", Validation),
        graphs=part("graphs.json", GraphTable),
        environments=_environments(store, run_id),
        stages=stage_records(store, run_id),
        artifacts=tuple(
            describe(o.key.removeprefix(prefix), store.get(o.key)) for o in store.list(prefix)
        ),
        state=decided.state,
        green=decided.green and not later,
        reasons=(*decided.reasons, *later),
        store_url=store_url or store.url,
    )


def _environments(store: ArtifactStore, run_id: str) -> dict[Side, dict[str, Any]]:
    found: dict[Side, dict[str, Any]] = {}
    for side in SIDES:
        key = keys.run_key(run_id, side, "environment.json")
        if store.exists(key):
            found[side] = json.loads(store.get(key))
    return found


def later_troubles(store: ArtifactStore, run_id: str) -> tuple[str, ...]:
    """Return what went wrong after the manifest was written: it makes a night red, too."""
    return tuple(
        f"{r.name} failed ({r.fault}): {r.error}"
        for r in stage_records(store, run_id)
        if r.outcome == "failed" and not keys.in_manifest(f"stages/{r.name}.json")
    )


def _decide(store: ArtifactStore, run_id: str) -> Outcome:
    return decide_outcome(
        [c for s in _summaries(store, run_id).values() for c in s.cells],
        load_or_none(store, run_id, "validation/results.json", Validation),
        load_or_none(store, run_id, "verdicts.json", Verdicts),
        stage_records(store, run_id),
    )


def _summaries(store: ArtifactStore, run_id: str) -> dict[Side, Summary]:
    found = {s: load_or_none(store, run_id, f"{s}/summary.json", Summary) for s in SIDES}
    return {side: summary for side, summary in found.items() if summary is not None}


def _streams(
    store: ArtifactStore, run_id: str, blocks: tuple[BlockResult, ...]
) -> list[tuple[BlockResult, pa.Table]]:
    """Return the task streams of the valid blocks of tonight's wheel and the reference."""
    from daskperf_tasks.collect.task_stream import from_parquet

    return [
        (b, from_parquet(store.get(keys.run_key(run_id, *b.task_stream.split("/")))))
        for b in blocks
        if b.valid and isinstance(b.task_stream, str)
    ]


def _by_cell(streams: list[tuple[BlockResult, pa.Table]]) -> dict[str, pa.Table]:
    from daskperf_tasks.collect.task_stream import concat

    tables: dict[str, list[pa.Table]] = {}
    for block, table in streams:
        if block.arm == "subject":
            tables.setdefault(block.cell_id, []).append(table)
    return {cell_id: concat(parts) for cell_id, parts in tables.items()}


def _save_tables(
    store: ArtifactStore,
    run_id: str,
    side: Side,
    blocks: tuple[BlockResult, ...],
    streams: list[tuple[BlockResult, pa.Table]],
) -> None:
    from daskperf_tasks.collect.samples import samples_table
    from daskperf_tasks.collect.task_stream import concat, to_parquet
    from daskperf_tasks.report.timeline import timeline_html

    def put(name: str, data: bytes) -> None:
        store.put(keys.run_key(run_id, side, name), data, replace=True)

    samples = samples_table(blocks, side=side)
    if samples.num_rows:
        put("samples.parquet", to_parquet(samples))
    mine = [t for b, t in streams if parse_cell_id(b.cell_id).side == side]
    if mine:
        table = concat(mine)
        put("task_stream.parquet", to_parquet(table))
        page = timeline_html(table, f"Task stream, {side}, run {run_id}")
        put("timeline.html", page.encode())


def _save_experiments(
    store: ArtifactStore, plan: Plan, blocks: tuple[BlockResult, ...], preflight: Preflight | None
) -> None:
    from daskperf_tasks.analyse.experiments.answer import answer_experiments
    from daskperf_tasks.report.experiments_chart import experiment_svg

    answers = answer_experiments(plan, blocks, preflight, _environments(store, plan.run_id))
    _save(store, plan.run_id, keys.EXPERIMENTS, answers)
    for planned, result in zip(plan.experiments, answers.results, strict=True):
        plot = experiment_svg(planned, result)
        store.put(keys.experiment_plot(plan.run_id, planned.name), plot.encode(), replace=True)


def _save(store: ArtifactStore, run_id: str, name: str, document: Stored) -> None:
    store.put(keys.run_key(run_id, *name.split("/")), dumps(document).encode(), replace=True)
