"""Tonight against before: the same cell under two wheels, or in two nights.

How a cell is judged
--------------------
1. ``paired`` (both wheels in the same night): one log ratio of medians for each
   pair of rounds; centre by Hodges and Lehmann. ``previous`` (two nights): ratio
   of medians, two-stage bootstrap over blocks.
2. The noise of a handful of pairs is itself noisy, so a cell's variance is drawn
   towards the mean variance of all cells with the weight of ``PRIOR_DF`` degrees
   of freedom (moderated t, G. Smyth 2004, with a fixed weight). In simulations of
   12 equal cells, of cells that differ by a factor of 20 in noise, and of one cell
   ten times noisier than the rest, 0 to 4 % of the nights had a false alarm with
   3 pairs or more; a weight of 4 gave up to 9 %, 2 pairs up to 18 %. Across nights
   the bootstrap's own error and degrees of freedom are used.
3. Two-sided p of Student's t; Holm's correction over all cells that were compared,
   at ``FAMILY`` for the whole night.
4. Significant is not yet relevant: below ``RELEVANT`` it is "no change".
5. Not significant: "no change" only when an effect of ``VISIBLE`` would have been
   seen; otherwise "undecided".

The smallest visible effect is ``max(4.4, t_critical + t_power) * se``: 4.4 is the
sum of z = 3.0 for the alarm and 1.4 for finding 92 % of the effects of that size,
from simulations on the noise of public benchmark histories.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from daskperf_tasks.analyse.by_cell import Groups, counted, group, makespans
from daskperf_tasks.analyse.intervals import (
    Ratio,
    paired_ratio,
    ratio_of_medians,
    t_quantile,
    two_sided_p,
)
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.ids import Arm
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan, PlannedCell
from daskperf_tasks.model.results import Estimate, VerdictName, WheelPair

#: Chance of one or more false alarms in a night, over all cells together.
FAMILY = 0.05
#: Smallest change of the makespan that is worth an alarm.
RELEVANT = 0.007
#: "No change" needs an effect of this size to have been visible.
VISIBLE = 0.03
#: Share of effects of the smallest visible size that would have been found.
POWER = 0.80
#: Weight of the mean variance of all cells against a cell's own (see step 2).
PRIOR_DF = 2.0
#: Fewer pairs, or blocks on a side, decide nothing.
MIN_BLOCKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    planned: PlannedCell
    ratio: Ratio | None
    #: Why there is no ratio.
    reason: str
    se: float = 0.0
    df: float = 1.0


def compare_paired(plan: Plan, blocks: Iterable[BlockResult]) -> tuple[WheelPair, ...]:
    """Compare the subject with the reference measured in the same night.

    Parameters
    ----------
    plan
        Its i-th round of the subject is paired with its i-th of the reference.
    blocks
        Of the run.

    Returns
    -------
    tuple of WheelPair
        One for each cell; empty when the plan has no reference.
    """
    if "reference" not in plan.arms:
        return ()
    groups = group(blocks)
    turns = [[r.index for r in plan.rounds if r.arm == arm] for arm in ("subject", "reference")]
    rounds = list(zip(*turns, strict=False))
    found = [_paired(p, groups, rounds) for p in plan.cells]
    return _judge(_moderated(found), across=False, same_subject=False)


def compare_previous(
    plan: Plan,
    blocks: Iterable[BlockResult],
    previous: Iterable[BlockResult],
    *,
    same_subject: bool,
) -> tuple[WheelPair, ...]:
    """Compare tonight's subject with that of the previous accepted run.

    Parameters
    ----------
    plan
        Tonight's.
    blocks, previous
        Of tonight and of the other run; cells are matched by id and request.
    same_subject
        Whether both are the same wheel: a difference is then the machine's, so
        no cell can be slower or faster.
    """
    tonight, before = group(blocks), group(previous)
    found = [_across(p, tonight, before) for p in plan.cells]
    return _judge(found, across=True, same_subject=same_subject)


def _paired(planned: PlannedCell, groups: Groups, rounds: Sequence[tuple[int, ...]]) -> _Candidate:
    arms: list[dict[int, BlockResult]] = []
    names: tuple[Arm, ...] = ("subject", "reference")
    for arm in names:
        blocks = counted(groups.get((planned.cell_id, arm), ()))
        if not blocks:
            return _Candidate(planned=planned, ratio=None, reason=f"no valid block of the {arm}")
        arms.append({b.round: b for b in blocks})
    if len({b.request_hash for arm in arms for b in arm.values()}) > 1:
        return _Candidate(planned=planned, ratio=None, reason="the wheels got different requests")
    logs = [
        math.log(_median(arms[0][a]) / _median(arms[1][b]))
        for a, b in rounds
        if a in arms[0] and b in arms[1]
    ]
    if not logs:
        return _Candidate(planned=planned, ratio=None, reason="no pair of rounds is valid")
    ratio = paired_ratio(logs)
    return _Candidate(planned=planned, ratio=ratio, reason="", se=ratio.se_log, df=ratio.df)


def _across(planned: PlannedCell, tonight: Groups, before: Groups) -> _Candidate:
    now = counted(tonight.get((planned.cell_id, "subject"), ()))
    then = counted(before.get((planned.cell_id, "subject"), ()))
    for name, blocks in (("tonight", now), ("the previous run", then)):
        if not makespans(blocks):
            return _Candidate(planned=planned, ratio=None, reason=f"no valid block of {name}")
    if len({b.request_hash for b in (*now, *then)}) > 1:
        return _Candidate(
            planned=planned, ratio=None, reason="the two runs computed different requests"
        )
    ratio = ratio_of_medians(makespans(now), makespans(then))
    return _Candidate(planned=planned, ratio=ratio, reason="", se=ratio.se_log, df=ratio.df)


def _median(block: BlockResult) -> float:
    return float(np.median([s.makespan_s for s in block.measured]))


def _moderated(found: Sequence[_Candidate]) -> list[_Candidate]:
    """Draw each cell's variance (of one pair) towards the mean of all cells."""
    known = [c for c in found if c.ratio is not None and c.ratio.blocks >= MIN_BLOCKS]
    if len(known) < 2:
        return list(found)
    shared = float(np.mean([c.se**2 * (c.df + 1) for c in known]))
    result = []
    for c in found:
        if c not in known:
            result.append(c)
            continue
        pairs = c.df + 1
        own = c.se**2 * pairs
        variance = (PRIOR_DF * shared + c.df * own) / (PRIOR_DF + c.df)
        result.append(
            _Candidate(
                planned=c.planned,
                ratio=c.ratio,
                reason="",
                se=math.sqrt(variance / pairs),
                df=c.df + PRIOR_DF,
            )
        )
    return result


def _judge(
    found: Sequence[_Candidate], *, across: bool, same_subject: bool
) -> tuple[WheelPair, ...]:
    usable = [
        i for i, c in enumerate(found) if c.ratio is not None and c.ratio.blocks >= MIN_BLOCKS
    ]
    raw = [_p(r, found[i].se, found[i].df) for i in usable if (r := found[i].ratio)]
    adjusted = dict(zip(usable, holm(raw), strict=True))
    series = max(1, len(usable))
    return tuple(
        _verdict(c, adjusted.get(i), series, across=across, same_subject=same_subject)
        for i, c in enumerate(found)
    )


def _p(ratio: Ratio, se: float, df: float) -> float:
    if se == 0:
        return 1.0 if ratio.log_ratio == 0 else 0.0
    return two_sided_p(ratio.log_ratio / se, df)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values by Holm's step-down rule: any false alarm at the family's rate.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for step, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _smallest(candidate: _Candidate, series: int) -> float:
    critical = t_quantile(candidate.df, 1 - FAMILY / series / 2)
    power = t_quantile(candidate.df, POWER)
    return math.exp(max(4.4, critical + power) * candidate.se)


def _verdict(
    candidate: _Candidate, p: float | None, series: int, *, across: bool, same_subject: bool
) -> WheelPair:
    name: VerdictName
    ratio = candidate.ratio
    if ratio is None:
        missing = Missing(missing=candidate.reason)
        return _pair(candidate, missing, "invalid", missing, candidate.reason)
    change = math.expm1(ratio.log_ratio)
    size = spell_change(change)
    if p is None:
        unit = "block on a side" if across else "pair of rounds"
        why = f"{size}, but {ratio.blocks} {unit} cannot show how much it varies"
        return _pair(
            candidate, ratio.estimate, "undecided", Missing(missing="its noise is unknown"), why
        )
    visible = _smallest(candidate, series)
    chance = spell_p(p)
    if p < FAMILY and abs(change) > RELEVANT:
        name = "slower" if change > 0 else "faster"
        why = f"{size}, {chance}"
        if same_subject:
            name = "undecided"
            why += "; both nights ran the same wheel, so the difference is the machine's"
    elif p < FAMILY:
        name = "no change"
        why = f"{size} is real ({chance}), but below {RELEVANT:.1%} it does not matter"
    elif visible - 1 <= VISIBLE:
        name = "no change"
        why = f"{size}, {chance}"
    else:
        name = "undecided"
        why = f"{size} is within the noise, {chance}"
    return _pair(candidate, ratio.estimate, name, visible, why)


def spell_change(change: float) -> str:
    """Spell a relative change of the makespan; beyond a doubling as a factor.

    Examples
    --------
    >>> spell_change(0.123), spell_change(-0.5), spell_change(2.4)
    ('+12.3%', '-50.0%', '×3.40')
    """
    return f"×{1 + change:.2f}" if change > 1 else f"{change:+.1%}"


def spell_p(p: float) -> str:
    """Spell a p value that Holm's correction has adjusted.

    Examples
    --------
    >>> spell_p(0.034), spell_p(1.0), spell_p(2e-9)
    ('p = 0.034', 'p = 1', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _pair(
    candidate: _Candidate,
    ratio: Estimate | Missing,
    verdict: VerdictName,
    visible: float | Missing,
    why: str,
) -> WheelPair:
    return WheelPair(
        cell_id=candidate.planned.cell_id,
        label=f"{candidate.planned.cell.label} ({candidate.planned.cell.env})",
        ratio=ratio,
        verdict=verdict,
        smallest_visible=visible,
        why=why,
    )
