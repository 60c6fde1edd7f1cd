"""The summary that the command line prints: compact, aligned, plain by default."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.report.context import stage_rows
from daskperf_tasks.report.coverage import coverage
from daskperf_tasks.report.exit_criteria import exit_criteria
from daskperf_tasks.report.experiments import short_lines
from daskperf_tasks.report.headline import headline
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.machine import machine
from daskperf_tasks.report.spelling import one_line
from daskperf_tasks.report.tables import expected, pair_tables
from daskperf_tasks.report.text_layout import columns, table_width, wrap
from daskperf_tasks.report.verdicts import ratio_note, verdict_rows, verdict_summary, wheel_answer

#: Each local environment has one remote counterpart, so it need not be named.
_COUNTERPART = re.compile(r" \| remote[a-z-]*\)$")
_CODES = {"green": "32;1", "red": "31;1", "amber": "33;1", "dim": "2", "bold": "1"}


def terminal_summary(inputs: ReportInputs, width: int = 100, *, colour: bool = False) -> str:
    """Write the summary of a run for a terminal.

    Parameters
    ----------
    inputs
        The run's documents.
    width
        Columns; no line is longer (at least 40 are assumed).
    colour
        Whether to use ANSI colours: only where the output is a terminal.
    """
    width = max(40, width)
    head = headline(inputs)
    lines = [_paint(line, head.colour, colour) for line in wrap(head.title, width)]
    for reason in head.few():
        lines += wrap(reason, width, first="  - ", rest="    ")
    lines += ["", f"run {inputs.run_id}"]
    for name, text in (
        ("wheel", wheel_answer(inputs).sentence),
        ("cells", coverage(inputs).sentence.rstrip(".")),
        ("machine", machine(inputs).sentence),
    ):
        lines += wrap(text, width, first=f"  {name:<8} ", rest=" " * 11)
    lines += _metrics(inputs, width, colour)
    lines += _verdicts(inputs, width, colour)
    lines += _diagnosis(inputs, width, colour)
    answers = short_lines(inputs)
    if answers:
        lines += ["", _paint("experiments", "bold", colour)]
        for line in answers:
            lines += wrap(line, width, first="  - ", rest="    ")
    lines += ["", _paint("exit criteria", "bold", colour)]
    for c in exit_criteria(inputs):
        mark = "[x] " if c.met else "[ ] "
        lines += wrap(f"{c.text}: {c.reason}", width, first=f"  {mark}", rest="      ")
    stages = stage_rows(inputs)
    if stages:
        lines += ["", _paint("where the time went", "bold", colour)]
        lines += columns([(n, t, f"{s:.0%}", o) for n, t, o, s in stages], width, right=(1, 2))
    return "\n".join(lines) + "\n"


def _metrics(inputs: ReportInputs, width: int, colour: bool) -> list[str]:
    tables = pair_tables(inputs)
    if not tables:
        return []
    rows: list[Sequence[str]] = [
        ("cell", "local /s", "remote /s", "ratio", "", "/thread", "/eff.thr")
    ]
    for t in tables:
        by_name = {r.name: r for r in t.rows}
        raw = by_name["throughput_per_s"]
        rows.append(
            (
                _COUNTERPART.sub(")", t.short),
                raw.local.text,
                raw.remote.text,
                raw.ratio.text or "–",
                raw.ratio.interval,
                by_name["throughput_per_thread"].ratio.text or "–",
                by_name["throughput_per_effective_thread"].ratio.text or "–",
            )
        )
    title = _paint("throughput, and remote / local", "bold", colour)
    if table_width(rows) > width:  # the interval of the raw ratio is the first to go
        rows = [[c for i, c in enumerate(row) if i != 4] for row in rows]
        return ["", title, *columns(rows, width, right=(1, 2, 3, 4, 5))]
    return ["", title, *columns(rows, width, right=(1, 2, 3, 5, 6))]


def _verdicts(inputs: ReportInputs, width: int, colour: bool) -> list[str]:
    title = _paint("verdicts", "bold", colour)
    rows = verdict_rows(inputs)
    if isinstance(inputs.verdicts, Missing):
        return ["", title, *wrap(f"none: {inputs.verdicts.missing}", width, first="  ", rest="  ")]
    if not rows:
        return ["", title, *wrap(inputs.verdicts.method, width, first="  ", rest="  ")]
    basis = {"paired": "same night", "previous": "two nights, never red"}
    table: list[Sequence[str]] = [("verdict", "cell", "tonight / before", "visible", "host")]
    for v in rows:
        host = f"disturbed {v.host_blocks}" if v.host_blocks else ""
        table.append((v.verdict, v.short, v.ratio.full, v.smallest.text, host))
    return [
        "",
        f"{title} ({basis.get(inputs.verdicts.basis, 'none')})",
        *wrap(verdict_summary(inputs), width, first="  ", rest="  "),
        *columns(table, width, right=(3,)),
        *wrap(ratio_note(inputs), width, first="  ", rest="  "),
    ]


def _diagnosis(inputs: ReportInputs, width: int, colour: bool) -> list[str]:
    title = _paint("diagnosis", "bold", colour)
    d = inputs.diagnosis
    if isinstance(d, Missing):
        return ["", title, *wrap(f"none: {d.missing}", width, first="  ", rest="  ")]
    second = f", then {d.secondary}" if d.secondary else ""
    lines = ["", title]
    lines += wrap(
        f"{d.primary}{second}, confidence {d.confidence:.2f}", width, first="  ", rest="  "
    )
    for a in d.actions:
        text = f"{one_line(a.title)}: {expected(a.expected_ratio)}"
        lines += wrap(text, width, first=f"  {a.rank}. ", rest="     ")
    return lines


def _paint(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if colour else text
