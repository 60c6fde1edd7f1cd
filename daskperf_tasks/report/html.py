"""``report.html``: one file that opens anywhere, without network and without script."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.artifacts import sort_artifacts
from daskperf_tasks.report.charts import samples_chart, throughput_chart
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
from daskperf_tasks.report.experiments import planned_results, told
from daskperf_tasks.report.graph_table import graphs_of
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.labels import labels_of
from daskperf_tasks.report.machine import machine
from daskperf_tasks.report.spelling import size
from daskperf_tasks.report.tables import (
    confidence_note,
    evidence,
    expected,
    pair_tables,
)
from daskperf_tasks.report.verdicts import (
    ratio_note,
    verdict_basis,
    verdict_groups,
    verdict_summary,
    wheel_answer,
)

#: Metrics that are shown before the reader opens the rest.
FIRST_ROWS = 4
#: Up to so many pieces of work have their details open.
OPEN_TABLES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """Two pictures of one pair, as safe SVG."""

    samples: str
    throughput: str


def report_html(inputs: ReportInputs) -> str:
    """Render the report of a run, complete or not.

    Parameters
    ----------
    inputs
        The run's documents, each possibly missing with its reason. Names and
        messages in them are foreign text and are escaped.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("daskperf_tasks.report", ".")
    jinja = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tables = pair_tables(inputs)
    load, labels = by_cell(inputs.blocks), labels_of(inputs)
    charts = [
        Charts(
            samples=Markup(samples_chart(inputs, t)),
            throughput=Markup(throughput_chart(t)),
        )
        for t in tables
    ]
    answers = planned_results(inputs)
    findings = () if isinstance(inputs.preflight, Missing) else inputs.preflight.findings
    order = ("block", "warn", "note")
    return jinja.get_template("report.html.j2").render(
        css=Markup(css()),
        run=inputs,
        head=headline(inputs),
        cover=coverage(inputs),
        basis=verdict_basis(inputs),
        wheel=wheel_answer(inputs),
        machine=machine(inputs),
        load=disturbance(inputs.blocks),
        cell_load=load,
        cell_load_rows=[(labels.cell(i), d) for i, d in sorted(load.items())],
        verdicts=verdict_groups(inputs),
        verdict_summary=verdict_summary(inputs),
        ratio_note=ratio_note(inputs),
        artifacts=sort_artifacts(inputs.artifacts),
        tables=list(zip(tables, charts, strict=True)),
        first_rows=FIRST_ROWS,
        open_tables=OPEN_TABLES,
        intervals=confidence_note(tables),
        graphs=graphs_of(inputs),
        experiments=[told(p, r) for p, r in answers if r is not None],
        unanswered=[p for p, r in answers if r is None],
        diagnosis=None if isinstance(inputs.diagnosis, Missing) else inputs.diagnosis,
        why_none=_reasons(inputs),
        evidence=evidence,
        expected=expected,
        context=context_rows(inputs),
        findings=sorted(findings, key=lambda f: order.index(f.level)),
        workers=() if isinstance(inputs.preflight, Missing) else inputs.preflight.workers,
        calibration=calibration_rows(inputs),
        calibration_note=calibration_note(inputs),
        validation=None if isinstance(inputs.validation, Missing) else inputs.validation,
        criteria=exit_criteria(inputs),
        stages=stage_rows(inputs),
        commands=reproduce(inputs),
        size=size,
    )


def css() -> str:
    """Return the style sheet that report and timeline share."""
    path = files("daskperf_tasks.report") / "report.css"
    return path.read_text(encoding="utf-8")


def _reasons(inputs: ReportInputs) -> dict[str, str]:
    """Return why a document is missing, by its name."""
    names = ("diagnosis", "experiments", "preflight", "validation")
    return {
        name: value.missing for name in names if isinstance(value := getattr(inputs, name), Missing)
    }
