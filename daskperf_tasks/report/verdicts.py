"""The verdicts for people: one sentence, then rows by verdict, slower and faster first."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.measured import Measured, Missing, known
from daskperf_tasks.model.results import VerdictName, Verdicts, WheelPair
from daskperf_tasks.report.disturbance import by_cell
from daskperf_tasks.report.inputs import ReportInputs
from daskperf_tasks.report.labels import labels_of
from daskperf_tasks.report.spelling import Figure, counted, number, one_line, ratio

ORDER: tuple[VerdictName, ...] = ("slower", "faster", "invalid", "undecided", "no change")
#: Beyond this a smallest visible effect says only that next to nothing could be seen.
BLIND = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One verdict as it stands in a table."""

    #: Workload with all parameters and environment.
    label: str
    #: Without the parameters that all such cells share.
    short: str
    verdict: VerdictName
    ratio: Figure
    smallest: Figure
    why: str
    #: How the host was disturbed while the cell was measured; empty when it was not, or little.
    host: str
    #: The same as "disturbed blocks / blocks", for narrow columns.
    host_blocks: str

    @property
    def why_and_host(self) -> str:
        """Both in one line."""
        return f"{self.why}; {self.host}" if self.host else self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGroup:
    """All rows of one verdict."""

    verdict: VerdictName
    rows: tuple[VerdictRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelAnswer:
    """The answer to "is it the wheel?"."""

    #: For a card: "1 slower", "12 undecided", "none".
    word: str
    #: Below it on the card.
    basis: str
    #: In one line without a full stop.
    sentence: str


def verdict_rows(inputs: ReportInputs) -> tuple[VerdictRow, ...]:
    """Return all rows, in the order of the groups."""
    return tuple(row for group in verdict_groups(inputs) for row in group.rows)


def verdict_groups(inputs: ReportInputs) -> tuple[VerdictGroup, ...]:
    """Return the verdicts by name, those that need a reader first; empty ones are left out."""
    if isinstance(inputs.verdicts, Missing):
        return ()
    labels, load = labels_of(inputs), by_cell(inputs.blocks)
    rows: dict[VerdictName, list[VerdictRow]] = {}
    for v in inputs.verdicts.verdicts:
        host = load.get(v.cell_id)
        strong = host is not None and host.strong
        rows.setdefault(v.verdict, []).append(
            VerdictRow(
                label=v.label,
                short=labels.cell(v.cell_id),
                verdict=v.verdict,
                ratio=ratio(v.ratio),
                smallest=smallest(v.smallest_visible),
                why=v.why,
                host=host.short if host and strong else "",
                host_blocks=f"{host.above}/{host.blocks}" if host and strong else "",
            )
        )
    return tuple(VerdictGroup(verdict=n, rows=tuple(rows[n])) for n in ORDER if n in rows)


def smallest(value: Measured) -> Figure:
    """Spell a smallest visible effect; large ones are all alike.

    Examples
    --------
    >>> smallest(1.034).text, smallest(3435.0).text
    ('×1.03', '> ×2')
    """
    seen = known(value)
    return Figure(text=f"> ×{BLIND:g}") if seen is not None and seen > BLIND else ratio(value)


def verdict_counts(verdicts: Verdicts) -> str:
    """Count the verdicts in the order of the groups: ``1 slower, 5 no change``."""
    names = [v.verdict for v in verdicts.verdicts]
    return ", ".join(f"{names.count(n)} {n}" for n in ORDER if n in names)


def verdict_summary(inputs: ReportInputs) -> str:
    """Say in one sentence what came out and what could have been seen; empty without rows."""
    v = inputs.verdicts
    if isinstance(v, Missing) or not v.verdicts:
        return ""
    seen = visible_note(v)
    return f"{verdict_counts(v)}: {seen}." if seen else f"{verdict_counts(v)}."


def visible_note(v: Verdicts) -> str:
    """Say which changes the undecided cells could have shown; empty when all were decided."""
    undecided = [p for p in v.verdicts if p.verdict == "undecided"]
    if not undecided:
        return ""
    seen = sorted(x for p in undecided if (x := known(p.smallest_visible)) is not None)
    what = "this night" if len(undecided) == len(v.verdicts) else "the undecided"
    if not seen:
        return "how small a change could have been seen is unknown"
    if seen[0] > BLIND:
        return f"{what} could only have seen changes by more than ×{BLIND:g}"
    low = f"×{number(seen[0])}"
    high = f"more than ×{BLIND:g}" if seen[-1] > BLIND else f"×{number(seen[-1])}"
    return f"{what} could only have seen changes above {low}" + (
        f" to {high}" if high != low else ""
    )


def wheel_answer(inputs: ReportInputs) -> WheelAnswer:
    """Say whether tonight's wheel is slower or faster, against what, or why that is open."""
    v = inputs.verdicts
    if isinstance(v, Missing):
        return WheelAnswer(
            word="none", basis="no verdict", sentence=f"no wheel verdict: {v.missing}"
        )
    if not v.verdicts:
        return WheelAnswer(
            word="none",
            basis="nothing to compare with",
            sentence=one_line(f"no wheel verdict: {_why_none(inputs, v)}"),
        )
    word, basis = _word(v.verdicts), "same night" if v.basis == "paired" else "two nights"
    if v.basis == "paired":
        against = f"{_reference(inputs)}, measured the same night"
        return WheelAnswer(word=word, basis=basis, sentence=f"{_lead(v)} against {against}")
    run, same = _previous(inputs)
    wheel = {True: "same wheel", False: "another wheel", None: "wheel unknown"}[same]
    return WheelAnswer(
        word=word,
        basis=f"{basis}, {wheel}",
        sentence=f"no wheel verdict: {verdict_counts(v)} against run {run}, {wheel}",
    )


def ratio_note(inputs: ReportInputs) -> str:
    """Say what "tonight / before" is the ratio of; empty without verdicts."""
    if isinstance(inputs.verdicts, Missing) or not inputs.verdicts.verdicts:
        return ""
    if inputs.verdicts.basis == "paired":
        return "tonight / before is the centre of the ratios of the pairs of rounds"
    return "tonight / before is the quotient of the two medians"


def verdict_basis(inputs: ReportInputs) -> str:
    """Say how it was judged, or why there are no verdicts."""
    if isinstance(inputs.verdicts, Missing):
        return f"No verdicts: {inputs.verdicts.missing}."
    return inputs.verdicts.method


def _word(pairs: tuple[WheelPair, ...]) -> str:
    names = [p.verdict for p in pairs]
    first = next(n for n in ORDER if n in names)
    return f"{names.count(first)} {first}"


def _lead(v: Verdicts) -> str:
    slow = sum(p.verdict == "slower" for p in v.verdicts)
    if not slow:
        return f"no cell slower ({verdict_counts(v)})"
    rest = verdict_counts(v).partition(", ")[2]
    return f"{slow} of {counted(len(v.verdicts), 'cell')} slower" + (f" ({rest})" if rest else "")


def _reference(inputs: ReportInputs) -> str:
    if isinstance(inputs.comparison, Missing) or isinstance(inputs.comparison.reference, Missing):
        return "the reference"
    return inputs.comparison.reference


def _previous(inputs: ReportInputs) -> tuple[str, bool | None]:
    if isinstance(inputs.comparison, Missing) or isinstance(
        inputs.comparison.previous_run, Missing
    ):
        return "unknown", None
    return inputs.comparison.previous_run, inputs.comparison.same_subject


def _why_none(inputs: ReportInputs, v: Verdicts) -> str:
    c = inputs.comparison
    if isinstance(c, Missing):
        return v.method
    why = [x.missing for x in (c.previous_run, c.reference) if isinstance(x, Missing)]
    return f"nothing to compare with, {why[0]}" if why else v.method
