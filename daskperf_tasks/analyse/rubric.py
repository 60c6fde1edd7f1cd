"""The interpretation rubric: four rules, evaluated with the numbers of a pair of cells.

=====================  ======  ====================================================
threshold              value   reason
=====================  ======  ====================================================
``SIMILAR``            10 %    a ratio within 10 % of 1 reads as "similar"; finer
                               differences between a laptop-like and a cluster-like
                               environment are layout, not orchestration
``BUSY_LOW``           0.50    below half of the thread time on tasks, more threads
                               stand idle than work
``COLLAPSE``           0.70    per-effective-thread at 70 % of local or less *and*
                               at least 20 % below per-thread: weighting made it
                               worse, so the weights are suspect
``SUCCESS``            0.001   success rates differ when they are further apart
=====================  ======  ====================================================

"Lower" and "higher" need the whole interval on that side of 1 and the figure
more than ``SIMILAR`` away from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from daskperf_tasks.model.measured import Measured, Missing, known
from daskperf_tasks.model.results import Estimate

SIMILAR = 0.10
BUSY_LOW = 0.50
COLLAPSE = 0.70
COLLAPSE_AGAINST_THREAD = 0.80
SUCCESS = 0.001


def reading(
    ratios: Mapping[str, Estimate | Missing],
    *,
    remote_busy: Measured,
    local_success: Measured,
    remote_success: Measured,
    calibration_stable: bool | None,
) -> tuple[str, ...]:
    """Evaluate the four rules; correctness first, then one sentence for each that applies.

    Parameters
    ----------
    ratios
        remote / local of raw, per-thread and per-effective-thread throughput.
    remote_busy
        Busy fraction of the remote side.
    local_success, remote_success
        Success rates.
    calibration_stable
        What calibration says of itself; None when there is none.

    Returns
    -------
    tuple of str
        The sentences that apply; where none does, one that says so with the
        numbers; where a rule could not be evaluated, one that says why.
    """
    said: list[str] = []
    unknown: list[str] = []
    _success(local_success, remote_success, said, unknown)
    raw = ratios["throughput_per_s"]
    if isinstance(raw, Missing):
        return (*said, f"Remote cannot be read against local: {raw.missing}.")
    thread = ratios["throughput_per_thread"]
    effective = ratios["throughput_per_effective_thread"]
    if isinstance(thread, Estimate) and lower(raw) and similar(thread):
        said.append(
            f"Remote raw throughput is lower ({show(raw)}) but per thread is similar "
            f"({show(thread)}): likely a fixed orchestration overhead dominates at this size, "
            "or there are just fewer threads."
        )
    busy = known(remote_busy)
    if busy is None:
        unknown.append(f"under-use of capacity ({_why(remote_busy)})")
    elif higher(raw) and busy < BUSY_LOW:
        said.append(
            f"Remote raw throughput is higher ({show(raw)}) but workers are busy only "
            f"{busy:.0%} of the time: capacity is underutilised, and a larger workload has "
            "headroom."
        )
    if isinstance(effective, Missing):
        unknown.append(f"collapse per effective thread ({effective.missing})")
    elif isinstance(thread, Estimate) and _collapsed(effective, thread):
        state = {True: "says it is stable", False: "says it is unstable", None: "is missing"}
        said.append(
            f"Per effective thread collapses ({show(effective)} against {show(thread)} per "
            f"thread): calibration is unstable or heterogeneity dominates (calibration "
            f"{state[calibration_stable]}); run calibration again with more repeats."
        )
    if not said:
        said.append(
            f"No rule of the rubric applies: raw {show(raw)}, per thread {_show(thread)}, "
            f"per effective thread {_show(effective)}, remote busy "
            f"{'unknown' if busy is None else format(busy, '.0%')}."
        )
    if unknown:
        said.append("Not evaluated: " + "; ".join(unknown) + ".")
    return tuple(said)


def similar(ratio: Estimate) -> bool:
    """Whether a ratio reads as similar: within 10 % of 1, or its interval holds 1 narrowly.

    An interval wider than a factor of 1.5 either way says "unknown", not "similar".
    """
    near = abs(ratio.value - 1) <= SIMILAR
    narrow = ratio.low > 1 / 1.5 and ratio.high < 1.5
    return narrow and (near or ratio.low <= 1 <= ratio.high)


def lower(ratio: Estimate) -> bool:
    """Whether a ratio is below 1 by more than chance and more than 10 %."""
    return ratio.high < 1 and ratio.value < 1 - SIMILAR


def higher(ratio: Estimate) -> bool:
    """Whether a ratio is above 1 by more than chance and more than 10 %."""
    return ratio.low > 1 and ratio.value > 1 + SIMILAR


def show(ratio: Estimate) -> str:
    """Spell a ratio with its interval.

    Examples
    --------
    >>> show(Estimate(value=0.5, low=0.4, high=0.6, confidence=0.95, n=10))
    '×0.50 [0.40, 0.60]'
    """
    return f"×{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _show(ratio: Estimate | Missing) -> str:
    return f"unknown ({ratio.missing})" if isinstance(ratio, Missing) else show(ratio)


def _collapsed(effective: Estimate, thread: Estimate) -> bool:
    return (
        effective.value <= COLLAPSE
        and effective.high < 1
        and effective.value <= COLLAPSE_AGAINST_THREAD * thread.value
    )


def _success(local: Measured, remote: Measured, said: list[str], unknown: list[str]) -> None:
    left, right = known(local), known(remote)
    if left is None or right is None:
        unknown.append(f"success rates ({_why(local if left is None else remote)})")
    elif abs(left - right) > SUCCESS:
        said.append(
            f"Success rate differs: local {left:.1%}, remote {right:.1%}. Correctness and "
            "stability are the first bottleneck; read no performance figure before that is solved."
        )


def _why(value: Measured) -> str:
    return value.missing if isinstance(value, Missing) else ""
