"""The short message that is sent: verdict, what is red and why, where to look."""

from __future__ import annotations

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.spelling import one_line
from daskperf_tasks.report.tables import expected

REASONS = 5


def message(inputs: ReportInputs) -> str:
    """Write the message as plain text of a dozen lines at most."""
    head = headline(inputs)
    lines = [f"daskperf {head.title}"]
    lines += [f"- {one_line(r, 200)}" for r in head.reasons[:REASONS]]
    if len(head.reasons) > REASONS:
        lines.append(f"- and {len(head.reasons) - REASONS} more reasons")
    lines.append(coverage(inputs).sentence)
    if not isinstance(inputs.verdicts, Missing) and inputs.verdicts.verdicts:
        names = [v.verdict for v in inputs.verdicts.verdicts]
        counts = ", ".join(f"{names.count(n)} {n}" for n in dict.fromkeys(sorted(names)))
        basis = "same night" if inputs.verdicts.basis == "paired" else "against the previous run"
        lines.append(f"Verdicts ({basis}): {counts}.")
    if not isinstance(inputs.diagnosis, Missing):
        d = inputs.diagnosis
        lines.append(f"Bottleneck: {d.primary}, confidence {d.confidence:.2f}.")
        if d.actions:
            lines.append(
                f"First action: {one_line(d.actions[0].title, 120)} "
                f"({expected(d.actions[0].expected_ratio)})."
            )
    where = f"profiles/{inputs.run_id}/report.html"
    lines.append(f"Look at {inputs.store_url.rstrip('/')}/{where}" if inputs.store_url else where)
    return "\n".join(lines) + "\n"
