"""The night's answers: which comparison decides, and with what error rates."""

from __future__ import annotations

from collections.abc import Mapping

from daskperf_tasks.analyse.wheels import FAMILY, MIN_BLOCKS, POWER, RELEVANT, VISIBLE
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Comparison, Verdicts, WheelPair

_BASIS: Mapping[str, str] = {
    "paired": "Same night: each round of tonight's wheel is paired with one of the reference; "
    "log ratio of medians by pair, Hodges-Lehmann centre, moderated t. Tonight / before is that "
    "centre of the pairs' ratios, not the quotient of two medians over all rounds: what drifts "
    "from round to round cancels in each pair.",
    "previous": "Two nights: tonight against the previous accepted run, the quotient of the two "
    "medians of all repeats, two-stage bootstrap over blocks and repeats. The machine may have "
    "changed between the nights too, so such a comparison is never red on its own.",
    "none": "Nothing was compared, so there is no verdict.",
}


def decide(comparison: Comparison) -> Verdicts:
    """Choose the comparison that decides and say how it was judged.

    The same-night pairs decide where there are any; otherwise the previous run
    is shown, which never makes a night red.
    """
    if comparison.paired:
        return Verdicts(
            run_id=comparison.run_id,
            basis="paired",
            method=_method("paired", comparison.paired),
            verdicts=comparison.paired,
        )
    if comparison.previous:
        return Verdicts(
            run_id=comparison.run_id,
            basis="previous",
            method=_method("previous", comparison.previous),
            verdicts=comparison.previous,
        )
    reasons = [
        f"{what}: {value.missing}"
        for what, value in (
            ("reference", comparison.reference),
            ("previous run", comparison.previous_run),
        )
        if isinstance(value, Missing)
    ]
    return Verdicts(
        run_id=comparison.run_id,
        basis="none",
        method=" ".join([_BASIS["none"], *(f"{r}." for r in reasons)]),
        verdicts=(),
    )


def red(verdicts: Verdicts) -> tuple[WheelPair, ...]:
    """Return the verdicts that make a night red: slower, in a same-night comparison."""
    if verdicts.basis != "paired":
        return ()
    return tuple(v for v in verdicts.verdicts if v.verdict == "slower")


def _method(basis: str, pairs: tuple[WheelPair, ...]) -> str:
    series = sum(not isinstance(p.smallest_visible, Missing) for p in pairs)
    rates = (
        f"p is two-sided, with Holm's correction over {series} series: the nominal chance of one "
        f"or more false alarms in a night is {FAMILY:.0%}, "
        f"about {1000 * FAMILY / max(1, series):.1f} per 1,000 series and nights. "
        f'Changes below {RELEVANT:.1%} are not reported. "No change" is said only where '
        f"a change of {VISIBLE:.0%} would have been seen in at least {POWER:.0%} of the nights; "
        f'otherwise it is "undecided". Fewer than {MIN_BLOCKS} blocks or pairs decide nothing. '
    )
    baseline = (
        "The interval of this one night decides: there is no baseline of earlier nights and no "
        "second stage of fresh pairs in it."
    )
    return " ".join([_BASIS[basis], rates + baseline])
