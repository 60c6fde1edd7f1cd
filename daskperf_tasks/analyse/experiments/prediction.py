"""What was predicted against what was measured, pair by pair."""

from __future__ import annotations

from itertools import combinations

from daskperf_tasks.analyse.experiments.evidence import explain
from daskperf_tasks.analyse.experiments.seen import Case, Seen, ratio
from daskperf_tasks.analyse.experiments.words import listed, sentence, with_interval
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate


def judge(case: Case) -> tuple[bool | Missing, str]:
    """Say whether the measured order is the predicted one, and what differs and why.

    Every pair of the predicted order is looked at: it holds when the interval of
    the ratio of the two makespans lies on the predicted side of 1, fails when it
    lies on the other, and is open otherwise.

    Returns
    -------
    tuple
        True when all pairs hold, False when one fails, else a reason; and the text.
    """
    prediction = case.planned.prediction
    if prediction is None:
        return Missing(missing="nothing was predicted"), ""
    by_label = {s.label: s for s in case.seen}
    order = [by_label[label] for label in prediction.order if label in by_label]
    if len(order) < 2:
        return Missing(missing="the prediction orders fewer than two points"), ""
    failed: list[str] = []
    open_pairs: list[str] = []
    lost: dict[str, str] = {}
    explained: dict[str, Seen] = {}
    for first, second in combinations(order, 2):
        faster = ratio(second, first)  # predicted above 1
        if isinstance(faster, Missing):
            lost |= {s.label: s.reason for s in (first, second) if s.state != "measured"}
        elif faster.high < 1.0:
            failed.append(_contradiction(first, second))
            explained |= {first.label: first, second.label: second}
        elif faster.low <= 1.0:
            open_pairs.append(
                f"{second.label} / {first.label} is {with_interval(faster)}, which includes 1"
            )
            explained |= {first.label: first, second.label: second}
    said = []
    if failed:
        said.append(f"measured otherwise than predicted: {listed(failed)}")
    if open_pairs:
        said.append(f"not told apart: {'; '.join(open_pairs)}")
    if lost:
        said.append(f"not compared: {listed([f'{k} ({v})' for k, v in lost.items()])}")
    said += [explain(s) for s in explained.values()]
    text = " ".join(sentence(s) for s in said)
    if failed:
        return False, text
    if lost:
        return Missing(missing=f"no figures of {listed(list(lost))}"), text
    if open_pairs:
        pairs = "pair is" if len(open_pairs) == 1 else "pairs are"
        return Missing(missing=f"{len(open_pairs)} predicted {pairs} not told apart"), text
    return True, ""


def _contradiction(first: Seen, second: Seen) -> str:
    found = ratio(first, second)
    assert isinstance(found, Estimate)  # the caller compared them already
    return f"{second.label} is {with_interval(found)} times as fast as {first.label}"
