"""``notes.md``: the report after the template of the profiling protocol, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.artifacts import MANIFEST, sort_artifacts
from daskperf_tasks.report.context import (
    calibration_note,
    calibration_rows,
    context_rows,
    reproduce,
    stage_rows,
)
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.disturbance import by_cell, disturbance
from daskperf_tasks.report.exit_criteria import exit_criteria
from daskperf_tasks.report.experiments import planned_results
from daskperf_tasks.report.experiments_notes import experiment_lines
from daskperf_tasks.report.graph_table import HEAD, KEYS_RUN, graphs_of
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.machine import machine
from daskperf_tasks.report.spelling import counted, one_line, size
from daskperf_tasks.report.tables import (
    confidence_note,
    evidence,
    expected,
    pair_tables,
)
from daskperf_tasks.report.verdicts import (
    ratio_note,
    verdict_basis,
    verdict_rows,
    verdict_summary,
    wheel_answer,
)

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")


def notes_md(inputs: ReportInputs) -> str:
    """Write the notes of a run, complete or not.

    Parameters
    ----------
    inputs
        The run's documents, each possibly missing with its reason.
    """
    parts = [
        *_head(inputs),
        *_context(inputs),
        *_metrics(inputs),
        *_graphs(inputs),
        *_diagnosis(inputs),
        *_experiments(inputs),
        *_actions(inputs),
        *_checks(inputs),
        *_end(inputs),
    ]
    return "\n".join(parts).rstrip() + "\n"


def escaped(text: str, limit: int = 2000) -> str:
    """Put foreign text on one line that means nothing to Markdown or HTML."""
    plain = one_line(text, limit).replace("&", "&amp;")
    return _SPECIAL.sub(r"\\\1", plain).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _head(inputs: ReportInputs) -> list[str]:
    head = headline(inputs)
    cover = coverage(inputs)
    lines = [f"# {escaped(head.title)}", "", f"Run `{inputs.run_id}`, state **{head.state}**.", ""]
    lines += [f"- {escaped(r)}" for r in head.reasons] + ([""] if head.reasons else [])
    lines += [
        f"- Is it the wheel? {escaped(wheel_answer(inputs).sentence)}",
        f"- Is anything missing? {escaped(cover.sentence)}",
        f"- Was the machine fit? {escaped(machine(inputs).sentence)}",
        "",
        "## Verdicts",
        "",
    ]
    if summary := verdict_summary(inputs):
        lines += [escaped(summary), ""]
    load = disturbance(inputs.blocks)
    if load.disturbed:
        lines += [f"**Disturbed machine**: {escaped(load.sentence)}.", ""]
    rows = [
        # In words: as plain text an escaped ">" cannot be read.
        (v.verdict, v.label, v.ratio.full, v.smallest.full.replace(">", "above"), v.why_and_host)
        for v in verdict_rows(inputs)
    ]
    lines += _table(("verdict", "cell", "tonight / before", "smallest visible", "why"), rows)
    if note := ratio_note(inputs):
        lines += [f"{note[0].upper()}{note[1:]}.", ""]
    lines += [escaped(verdict_basis(inputs)), ""]
    lines += ["## Coverage", "", cover.sentence, ""]
    gaps = [(g.label, g.arm, g.state, "yes" if g.required else "no", g.reason) for g in cover.gaps]
    return lines + _table(("cell", "wheel", "state", "required", "reason"), gaps)


def _context(inputs: ReportInputs) -> list[str]:
    rows = context_rows(inputs)
    lines = ["## 1. Run context", "", *_table(("what", "value"), rows)]
    lines += ["### Preflight", ""]
    if isinstance(inputs.preflight, Missing):
        return [*lines, f"No preflight: {escaped(inputs.preflight.missing)}.", ""]
    findings = inputs.preflight.findings
    lines += [
        f"{counted(len(inputs.preflight.workers), 'worker')} seen, "
        f"{counted(len(findings), 'finding')}.",
        "",
    ]
    order = ("block", "warn", "note")
    ranked = sorted(findings, key=lambda f: order.index(f.level))
    lines += _table(
        ("level", "code", "role", "host", "expected", "found", "what to do"),
        [
            (f.level, f.code, f"{f.role} {f.name}", f.host, f.expected, f.found, f.todo)
            for f in ranked
        ],
    )
    lines += ["### Calibration", "", escaped(calibration_note(inputs)), ""]
    return lines + _table(
        ("worker", "host", "threads", "median", "index", "remarks"), calibration_rows(inputs)
    )


def _metrics(inputs: ReportInputs) -> list[str]:
    lines = ["## 2. Metrics: local against remote", ""]
    tables, load = pair_tables(inputs), by_cell(inputs.blocks)
    if not tables:
        return [*lines, "No cell was summarised.", ""]
    lines += [confidence_note(tables), ""]
    for t in tables:
        lines += [f"### {escaped(t.label)}", ""]
        rows = [
            (
                f"{r.title} ({r.unit})" if r.unit else r.title,
                r.local.full,
                r.remote.full,
                r.ratio.full,
            )
            for r in t.rows
        ]
        lines += (
            []
            if t.empty
            else _table(
                ("metric", f"local: {t.local_head}", f"remote: {t.remote_head}", "remote / local"),
                rows,
            )
        )
        for side, cell_id in (("local", t.local_cell), ("remote", t.remote_cell)):
            if cell_id in load and load[cell_id].strong:
                lines.append(f"- {side}: {escaped(load[cell_id].short)}")
        lines += [f"- {escaped(s)}" for s in t.reading]
        lines += [f"- – {escaped(where)}: {escaped(why)}" for where, why in t.reasons] + [""]
    return lines


def _graphs(inputs: ReportInputs) -> list[str]:
    lines = ["### Task graphs", ""]
    graphs = graphs_of(inputs)
    if graphs.reason:
        return [*lines, f"No graphs: {escaped(graphs.reason)}.", ""]
    lines += [f"- {escaped(text)}" for text in graphs.forms] + [""]
    lines += [f"- **{escaped(text)}**" for text in graphs.findings]
    lines += [""] if graphs.findings else []
    lines += [*_table(HEAD, graphs.rows()), f"{KEYS_RUN}.", ""]
    return lines + [f"- – {escaped(where)}: {escaped(why)}" for where, why in graphs.reasons] + [""]


def _diagnosis(inputs: ReportInputs) -> list[str]:
    lines = ["## 3. Bottleneck diagnosis", ""]
    d = inputs.diagnosis
    if isinstance(d, Missing):
        return [*lines, f"No diagnosis: {escaped(d.missing)}.", ""]
    lines += [
        f"- primary: **{d.primary}**",
        f"- secondary: {d.secondary or 'none'}",
        f"- confidence: {d.confidence:.2f}",
        "",
    ]
    lines += _table(
        ("cell", "primary", "secondary", "confidence"),
        [(c.label, c.primary, c.secondary or "–", f"{c.confidence:.2f}") for c in d.cells],
    )
    for c in d.cells:
        if not c.signals:
            continue
        lines += [f"### Evidence: {escaped(c.label)}", ""]
        rows = [
            (cls, name, value, f"{strength:.2f}", says, opposite)
            for cls, name, value, strength, says, opposite in evidence(c)
        ]
        lines += _table(
            ("speaks for", "signal", "value", "strength", "says", "the opposite would be"), rows
        )
    return lines


def _experiments(inputs: ReportInputs) -> list[str]:
    lines = []
    for planned, result in planned_results(inputs):
        lines += [f"### Experiment: {escaped(planned.name)}", "", escaped(planned.question), ""]
        if result is None:
            missing = inputs.experiments
            why = missing.missing if isinstance(missing, Missing) else "experiments.json has none"
            lines += [f"No answer: {escaped(why)}.", ""]
        else:
            lines += experiment_lines(planned, result, escaped, _table)
    return lines


def _actions(inputs: ReportInputs) -> list[str]:
    lines = ["## 4. Recommended actions", ""]
    if isinstance(inputs.diagnosis, Missing):
        return [*lines, f"None: {escaped(inputs.diagnosis.missing)}.", ""]
    for a in inputs.diagnosis.actions:
        lines += [
            f"{a.rank}. **{escaped(a.title)}** — {escaped(expected(a.expected_ratio))}",
            f"   - change: {escaped(a.change)}",
            f"   - evidence: {escaped(a.evidence)}",
            f"   - test: {escaped(a.test)}",
        ]
    return [*lines, ""]


def _checks(inputs: ReportInputs) -> list[str]:
    lines = ["## Exit criteria", ""]
    lines += [
        f"- [{'x' if c.met else ' '}] {c.text}: {escaped(c.reason)}" for c in exit_criteria(inputs)
    ]
    lines += ["", "## Validation", ""]
    v = inputs.validation
    if isinstance(v, Missing):
        return [*lines, f"Not validated: {escaped(v.missing)}.", ""]
    bad = [c for c in v.checks if not c.success]
    lines += [
        f"{len(v.checks) - len(bad)} of {counted(len(v.checks), 'expectation')} met "
        f"(Great Expectations {escaped(v.great_expectations)}).",
        "",
    ]
    return lines + _table(
        ("suite", "expectation", "expected", "found"),
        [(c.suite, c.name, c.expected, c.found) for c in bad],
    )


def _end(inputs: ReportInputs) -> list[str]:
    lines = ["## How to reproduce", "", "```sh", *reproduce(inputs), "```", ""]
    lines += ["## Where the time went", ""]
    rows = stage_rows(inputs)
    lines += _table(
        ("stage", "time", "share", "outcome"),
        [(name, time, f"{share:.0%}", outcome) for name, time, outcome, share in rows],
    ) or ["No stage was recorded.", ""]
    return lines + _artifacts(inputs)


def _artifacts(inputs: ReportInputs) -> list[str]:
    lines = ["## Artifacts", ""]
    if not inputs.artifacts:
        return [*lines, "None is listed yet.", ""]
    found = sort_artifacts(inputs.artifacts)
    lines += _table(("file", "size"), [(f.key, size(f.size_bytes)) for f in found.derived])
    if found.raw:
        lines += _table(
            ("raw files", "count", "size"),
            [(f.name, str(len(f.files)), size(f.size_bytes)) for f in found.raw],
        )
    return [
        *lines,
        f"`{MANIFEST}` has the sha256 of every file, these notes and the report too.",
        "",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    body = [f"| {' | '.join(escaped(str(c)) for c in row)} |" for row in rows]
    if not body:
        return []
    return [
        f"| {' | '.join(escaped(h) for h in head)} |",
        f"|{'---|' * len(head)}",
        *body,
        "",
    ]
