"""Run context, reproduction, calibration and time: the facts around the figures."""

from __future__ import annotations

import shlex

from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.stage import StageRecord
from daskperf_tasks.report.disturbance import disturbance
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import figure, one_line, seconds

Rows = tuple[tuple[str, str], ...]


def context_rows(inputs: ReportInputs) -> Rows:
    """Return commit, config, seeds and topology as (name, text)."""
    rows: list[tuple[str, str]] = [("run", inputs.run_id)]
    plan = inputs.plan
    if isinstance(plan, Missing):
        rows.append(("plan", f"{DASH_BECAUSE}{plan.missing}"))
    else:
        request = plan.cells[0].request if plan.cells else None
        rows += [
            ("commit", plan.commit),
            ("created", f"{plan.created_at} ({plan.trigger})"),
            ("config", f"matrix {plan.matrix_name}, sha256 {plan.matrix_sha256[:12]}"),
            ("seed", f"{plan.seed}" + _seeds(inputs)),
            ("cells and rounds", f"{len(plan.cells)} cells, {len(plan.rounds)} rounds"),
        ]
        if request is not None:
            warm = request.warmup
            rows.append(
                (
                    "warm-up",
                    f"{warm.min_repeats} to {warm.max_repeats} repeats, until two differ by less "
                    f"than {warm.tolerance:.0%}",
                )
            )
    rows += _wheels(inputs)
    if not isinstance(inputs.lane, Missing):
        rows.append(("lane", f"{inputs.lane.name} ({inputs.lane.kind}) at {inputs.lane.scheduler}"))
    sides: tuple[Side, ...] = ("local", "remote")
    for side in sides:
        summary = inputs.summary(side)
        text = (
            f"{DASH_BECAUSE}{summary.missing}" if isinstance(summary, Missing) else summary.topology
        )
        rows.append((f"{side} topology", text))
    rows += _environment(inputs)
    rows += _loopback(inputs)
    rows += _host(inputs)
    return tuple((name, one_line(text, 900)) for name, text in rows)


DASH_BECAUSE = "unknown: "
_SHOWN = ("python", "dask", "distributed", "numpy", "cpu_model", "kernel")


def _seeds(inputs: ReportInputs) -> str:
    if isinstance(inputs.plan, Missing):
        return ""
    seeds = sorted({p.request.seed for p in inputs.plan.cells})
    return f"; request seeds {', '.join(map(str, seeds))}" if seeds else ""


def _wheels(inputs: ReportInputs) -> Rows:
    if isinstance(inputs.subjects, Missing):
        return (("wheel under test", f"{DASH_BECAUSE}{inputs.subjects.missing}"),)
    wheel, other = inputs.subjects.subject, inputs.subjects.reference
    reference = (
        f"none: {inputs.subjects.reference_reason}"
        if other is None
        else f"{other.name} {other.version}, sha256 {other.sha256[:12]}"
    )
    return (
        (
            "wheel under test",
            f"{wheel.name} {wheel.version}, sha256 {wheel.sha256[:12]} ({wheel.chosen_by})",
        ),
        ("reference wheel", reference),
    )


def _environment(inputs: ReportInputs) -> Rows:
    rows = []
    for side, document in inputs.environments.items():
        facts = document.get("driver", document)
        shown = [f"{k} {facts[k]}" for k in _SHOWN if isinstance(facts.get(k), str | int | float)]
        packages = facts.get("distributions") or facts.get("versions")
        if isinstance(packages, dict):
            shown += [
                f"{k} {packages[k]}" for k in ("dask", "distributed", "numpy") if k in packages
            ]
        if shown:
            rows.append((f"{side} environment", ", ".join(dict.fromkeys(shown))))
    return tuple(rows)


def _loopback(inputs: ReportInputs) -> Rows:
    if isinstance(inputs.preflight, Missing):
        return ()
    loop = [w.name for w in inputs.preflight.workers if w.loopback]
    if not loop:
        return ()
    return (
        (
            "loopback",
            f"{', '.join(loop)} listen on the loopback interface: this is not true remote "
            "behaviour, transfers cost less than on a network",
        ),
    )


def _host(inputs: ReportInputs) -> Rows:
    load = disturbance(inputs.blocks)
    return (("while measuring", load.sentence), ("1-minute load", load.load_text))


def reproduce(inputs: ReportInputs) -> tuple[str, ...]:
    """Return the commands that measure the same again and that check this run."""
    run = shlex.quote(inputs.run_id)
    lines = []
    if not isinstance(inputs.plan, Missing):
        command = f"daskperf run {shlex.quote(inputs.plan.matrix_name)}"
        if not isinstance(inputs.lane, Missing):
            command += f" --scheduler {shlex.quote(inputs.lane.scheduler)}"
        if not isinstance(inputs.subjects, Missing):
            command += f" --wheel {shlex.quote(inputs.subjects.subject.file)}"
        lines.append(command)
    return (*lines, f"daskperf verify {run}", f"daskperf rebuild {run}")


#: The order of running, for stages that started within one second.
_STAGES = (
    "start", "deploy", "preflight", "calibrate", "measure", "restore",
    "collect", "analyse", "validate", "report", "publish", "notify",
)  # fmt: skip


def stage_rows(inputs: ReportInputs) -> tuple[tuple[str, str, str, float], ...]:
    """Return (stage, time, outcome, share of the total) in the order of running."""
    total = sum(s.seconds for s in inputs.stages) or 1.0
    return tuple(
        (
            s.name,
            seconds(s.seconds),
            s.outcome if s.outcome == "done" else one_line(f"failed: {s.error}", 160),
            s.seconds / total,
        )
        for s in sorted(inputs.stages, key=_started)
    )


def _started(stage: StageRecord) -> tuple[str, int, int, str]:
    name, _, turn = stage.name.partition("-")
    rank = _STAGES.index(name) if name in _STAGES else len(_STAGES)
    return stage.started_at, rank, int(turn) if turn.isdigit() else 0, stage.name


def calibration_rows(inputs: ReportInputs) -> tuple[tuple[str, ...], ...]:
    """Return worker, host, threads, median, index and remarks."""
    if isinstance(inputs.calibration, Missing):
        return ()
    return tuple(
        (
            w.worker,
            w.host,
            str(w.nthreads),
            f"{w.median_s * 1e3:.1f} ms",
            f"{w.index:.2f}",
            ", ".join(
                text
                for text, said in (
                    (f"clipped from {w.raw_index:.2f}", w.clipped),
                    ("unstable", not w.stable),
                )
                if said
            )
            or "stable",
        )
        for w in inputs.calibration.workers
    )


def calibration_note(inputs: ReportInputs) -> str:
    """Say rule and effective threads in one line, or why there are none."""
    c = inputs.calibration
    if isinstance(c, Missing):
        return f"Not calibrated: {c.missing}."
    threads = figure(c.effective_threads)
    said = [
        f"{c.total_threads} threads, {threads.reason or threads.text} effective",
        c.rule,
        c.note,
    ]
    sentences = [f"{s[0].upper()}{s[1:]}." for s in (t.strip().rstrip(".") for t in said) if s]
    return one_line(" ".join(sentences), 600)
