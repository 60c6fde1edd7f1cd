"""The short message that is sent: verdict, what is red and why, where to look."""

from __future__ import annotations

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.experiments import short_lines
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.machine import machine
from daskperf_tasks.report.spelling import one_line
from daskperf_tasks.report.tables import expected
from daskperf_tasks.report.verdicts import visible_note, wheel_answer

REASONS = 5


def message(inputs: ReportInputs) -> str:
    """Write the message as plain text of a few lines."""
    head = headline(inputs)
    lines = [f"daskperf {head.title}"]
    lines += [f"- {r}" for r in head.few(REASONS)]
    lines.append(coverage(inputs).sentence)
    wheel = wheel_answer(inputs).sentence
    if not isinstance(inputs.verdicts, Missing) and (seen := visible_note(inputs.verdicts)):
        wheel += f"; {seen}"
    lines.append(one_line(f"Wheel: {wheel}.", 400))
    lines.append(one_line(f"Machine: {machine(inputs).sentence}.", 300))
    if not isinstance(inputs.diagnosis, Missing):
        d = inputs.diagnosis
        text = f"Bottleneck: {d.primary}, confidence {d.confidence:.2f}"
        if d.actions:
            first = d.actions[0]
            text += (
                f"; first action: {one_line(first.title, 120)} ({expected(first.expected_ratio)})"
            )
        lines.append(f"{text}.")
    lines += [f"Experiment {line}." for line in short_lines(inputs)]
    where = f"profiles/{inputs.run_id}/report.html"
    lines.append(f"Look at {inputs.store_url.rstrip('/')}/{where}" if inputs.store_url else where)
    return "\n".join(lines) + "\n"
