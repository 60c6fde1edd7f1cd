from __future__ import annotations

import re

import pytest

from daskperf_tasks.analyse.rubric import reading
from daskperf_tasks.analyse.sides import compare_sides
from daskperf_tasks.analyse.summarise import summaries
from daskperf_tasks.analyse.verdicts import decide, red
from daskperf_tasks.analyse.wheels import compare_paired, compare_previous, holm
from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import (
    Comparison,
    Diagnosis,
    Estimate,
    SidePair,
    Verdicts,
    WheelPair,
)
from tests.analyse.night import Previous, analyse_night

from .synthetic_run import RUN, calibration, cell, noisy_blocks, plan, planned, preflight, sample


def estimate(value: float, spread: float = 0.02) -> Estimate:
    return Estimate(value=value, low=value - spread, high=value + spread, confidence=0.95, n=15)


def read(
    raw: float,
    thread: float,
    effective: float,
    *,
    busy: float = 0.9,
    success: tuple[float, float] = (1.0, 1.0),
    stable: bool | None = True,
) -> str:
    return " ".join(
        reading(
            {
                "throughput_per_s": estimate(raw),
                "throughput_per_thread": estimate(thread),
                "throughput_per_effective_thread": estimate(effective),
            },
            remote_busy=busy,
            local_success=success[0],
            remote_success=success[1],
            calibration_stable=stable,
        )
    )


def test_rubric_lower_raw_but_similar_per_thread_is_overhead() -> None:
    text = read(0.5, 0.98, 0.97)
    assert "fixed orchestration overhead" in text
    assert "×0.50 [0.48, 0.52]" in text
    assert "×0.98" in text


def test_rubric_higher_raw_but_idle_is_underuse() -> None:
    assert "capacity is underutilised" in read(1.8, 0.9, 0.9, busy=0.31)
    assert "31%" in read(1.8, 0.9, 0.9, busy=0.31)
    assert "underutilised" not in read(1.8, 0.9, 0.9, busy=0.8)


def test_rubric_collapse_per_effective_thread_asks_for_calibration() -> None:
    text = read(1.0, 1.0, 0.5, stable=False)
    assert "collapses" in text
    assert "says it is unstable" in text
    assert "more repeats" in text
    # Everything is slow alike: that is no matter of the weights.
    assert "collapses" not in read(0.5, 0.5, 0.5)


def test_rubric_success_comes_first() -> None:
    text = read(0.5, 0.98, 0.97, success=(1.0, 0.9))
    assert text.startswith("Success rate differs: local 100.0%, remote 90.0%")


def test_rubric_says_when_no_rule_applies_and_what_is_unknown() -> None:
    text = read(1.0, 1.0, 1.0)
    assert text.startswith("No rule of the rubric applies: raw ×1.00")
    said = reading(
        {
            "throughput_per_s": estimate(1.0),
            "throughput_per_thread": estimate(1.0),
            "throughput_per_effective_thread": Missing(missing="the run has no calibration"),
        },
        remote_busy=Missing(missing="no stream"),
        local_success=1.0,
        remote_success=1.0,
        calibration_stable=None,
    )
    assert (
        "Not evaluated: under-use of capacity (no stream); collapse per effective thread ("
        in (said[-1])
    )


def compared(
    *, paired: tuple[WheelPair, ...] = (), previous: tuple[WheelPair, ...] = ()
) -> Comparison:
    none = Missing(missing="not in this test")
    return Comparison(
        run_id=RUN,
        sides=(),
        previous_run=RUN if previous else none,
        same_subject=False if previous else None,
        previous=previous,
        reference="daskperf-kernels 0.9" if paired else none,
        paired=paired,
    )


def side_pair(*, other_seed: bool = False) -> SidePair:
    local = planned(cell("local"))
    remote = planned(cell("remote"), seed=7 if other_seed else 42)
    p = plan([local, remote])
    blocks = noisy_blocks(local, makespan_s=1.0, seed=1) + noisy_blocks(
        remote,
        makespan_s=2.0,
        seed=2,
        threads=1,
        make=lambda m: sample(m, task_wall_s=0.9 * m),
    )
    cal = calibration()
    return compare_sides(p, summaries(p, blocks, cal, None), blocks, cal)[0]


def test_sides_give_remote_over_local_with_intervals() -> None:
    pair = side_pair()
    assert pair.same_inputs
    raw = pair.ratios["throughput_per_s"]
    thread = pair.ratios["throughput_per_thread"]
    assert isinstance(raw, Estimate)
    assert isinstance(thread, Estimate)
    assert raw.low < raw.value < raw.high
    assert raw.value == pytest.approx(0.5, rel=0.1)
    # Half the threads on the remote side.
    assert thread.value == pytest.approx(2 * raw.value)
    assert "similar" in pair.reading[0]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_ratios_are_the_quotients_of_the_medians_shown_beside_them(rounds: int) -> None:
    # Two repeats a block: the median of two inverses is not the inverse of their median.
    local, remote = planned(cell("local")), planned(cell("remote"))
    p = plan([local, remote], rounds=rounds)
    blocks = [
        block
        for c, spread, scale in ((local, 0.9, 1.0), (remote, 0.4, 1.4))
        for block in noisy_blocks(
            c, makespan_s=scale, noise=spread, repeats=2, rounds=range(rounds), seed=3
        )
    ]
    cal = calibration()
    found = summaries(p, blocks, cal, None)
    [pair] = compare_sides(p, found, blocks, cal)
    left, right = found["local"].cells[0], found["remote"].cells[0]
    for name, ratio in pair.ratios.items():
        shown = right.metrics[name], left.metrics[name]
        assert isinstance(ratio, Estimate)
        assert isinstance(shown[0], Estimate)
        assert isinstance(shown[1], Estimate)
        assert ratio.value == pytest.approx(shown[0].value / shown[1].value, rel=1e-12)
        assert ratio.low <= ratio.value <= ratio.high
    by_makespan = [c.metrics["makespan_s"] for c in (left, right)]
    assert isinstance(by_makespan[0], Estimate)
    assert isinstance(by_makespan[1], Estimate)
    raw = pair.ratios["throughput_per_s"]
    assert isinstance(raw, Estimate)
    assert raw.value != pytest.approx(by_makespan[0].value / by_makespan[1].value, rel=1e-6)


def test_sides_with_other_seeds_are_not_compared() -> None:
    pair = side_pair(other_seed=True)
    assert not pair.same_inputs
    assert isinstance(pair.ratios["throughput_per_s"], Missing)
    assert pair.reading[0].startswith("Inputs differ")


def test_a_side_without_samples_gives_its_reason() -> None:
    local, remote = planned(cell("local")), planned(cell("remote"))
    p = plan([local, remote])
    blocks = noisy_blocks(local, makespan_s=1.0)
    pair = compare_sides(p, summaries(p, blocks, None, None), blocks)[0]
    assert pair.ratios["throughput_per_s"] == Missing(
        missing="remote was not measured: no block of it was run"
    )


def paired_run(
    effects: list[float], *, pairs: int, noise: float | list[float] = 0.01, seed: int = 0
) -> tuple[Plan, list[BlockResult]]:
    """Rounds 0, 2, 4 ... of the subject and 1, 3, 5 ... of the reference."""
    cells = [planned(cell("local", n=i)) for i in range(len(effects))]
    p = plan(cells, rounds=pairs, arms=("subject", "reference"))
    blocks: list[BlockResult] = []
    for i, effect in enumerate(effects):
        for arm, first, factor in (("subject", 0, effect), ("reference", 1, 1.0)):
            blocks += noisy_blocks(
                cells[i],
                makespan_s=factor,
                rounds=range(first, 2 * pairs, 2),
                repeats=3,
                noise=noise if isinstance(noise, float) else noise[i],
                seed=1000 * seed + 10 * i + first,
                arm=arm,  # type: ignore[arg-type]
            )
    return p, blocks


def test_paired_finds_a_slower_and_a_faster_cell_and_says_no_change() -> None:
    p, blocks = paired_run([1.2, 1.0, 0.8, 1.0], pairs=12, noise=0.004)
    found = compare_paired(p, blocks)
    assert [w.verdict for w in found] == ["slower", "no change", "faster", "no change"]
    assert isinstance(found[0].ratio, Estimate)
    assert found[0].ratio.low < 1.2 < found[0].ratio.high * 1.02
    assert all(isinstance(w.smallest_visible, float) for w in found)
    assert re.fullmatch(r"\+(19|20)\.\d%, p (< 0.001|= 0\.0\d+)", found[0].why)
    method = decide(compared(paired=found)).method
    assert "Holm's correction over 4 series" in method
    assert "Same night" in method


def test_wide_noise_is_undecided_never_no_change() -> None:
    p, blocks = paired_run([1.0, 1.05, 1.0], pairs=4, noise=0.15)
    found = compare_paired(p, blocks)
    assert {w.verdict for w in found} == {"undecided"}
    assert all(isinstance(w.smallest_visible, float) and w.smallest_visible > 1.03 for w in found)
    assert all("is within the noise, p = " in w.why for w in found)


def test_one_pair_decides_nothing() -> None:
    p, blocks = paired_run([3.0, 1.0], pairs=1)
    found = compare_paired(p, blocks)
    assert [w.verdict for w in found] == ["undecided", "undecided"]
    assert found[0].smallest_visible == Missing(missing="its noise is unknown")


def test_a_cell_without_a_reference_block_is_invalid() -> None:
    p, blocks = paired_run([1.0, 1.0], pairs=3)
    rest = [b for b in blocks if not (b.arm == "reference" and "n=0" in b.cell_id)]
    found = compare_paired(p, rest)
    assert found[0].verdict == "invalid"
    assert found[0].ratio == Missing(missing="no valid block of the reference")


@pytest.mark.parametrize("noises", [[0.03] * 5, [0.01] * 4 + [0.1], [0.005, 0.01, 0.03, 0.1]])
def test_paired_false_alarms_stay_below_the_family_rate(noises: list[float]) -> None:
    nights, alarms = 200, 0
    for seed in range(nights):
        p, blocks = paired_run([1.0] * len(noises), pairs=3, noise=noises, seed=seed + 1)
        alarms += any(w.verdict in ("slower", "faster") for w in compare_paired(p, blocks))
    # 5 % of the nights nominal; the 99 % bound of 200 throws at that rate is 0.09.
    assert alarms / nights <= 0.09


def previous_run(
    factor: float, *, rounds: int, noise: float
) -> tuple[Plan, list[BlockResult], list[BlockResult]]:
    p = planned(cell("remote"))
    now = noisy_blocks(p, makespan_s=factor, rounds=range(rounds), noise=noise, seed=1)
    then = noisy_blocks(p, makespan_s=1.0, rounds=range(rounds), noise=noise, seed=2)
    return plan([p], rounds=rounds), now, then


def test_across_nights_a_verdict_says_that_it_is_never_red_alone() -> None:
    p, now, then = previous_run(1.5, rounds=6, noise=0.01)
    (found,) = compare_previous(p, now, then, same_subject=False)
    assert found.verdict == "slower"
    assert "never red on its own" in decide(compared(previous=(found,))).method


def test_the_same_wheel_in_two_nights_is_the_machines_difference() -> None:
    p, now, then = previous_run(1.5, rounds=6, noise=0.01)
    (found,) = compare_previous(p, now, then, same_subject=True)
    assert found.verdict == "undecided"
    assert "the difference is the machine's" in found.why


def test_across_nights_three_noisy_rounds_stay_undecided() -> None:
    p, now, then = previous_run(1.02, rounds=3, noise=0.05)
    (found,) = compare_previous(p, now, then, same_subject=False)
    assert found.verdict == "undecided"


def test_another_request_is_invalid() -> None:
    p, now, _ = previous_run(1.0, rounds=3, noise=0.01)
    then = noisy_blocks(planned(cell("remote"), seed=7), makespan_s=1.0)
    (found,) = compare_previous(p, now, then, same_subject=False)
    assert found.verdict == "invalid"
    assert "different requests" in found.why


def test_why_is_one_short_line_that_leaves_the_method_to_the_method() -> None:
    p, blocks = paired_run([1.2, 1.0, 40.0, 1.0], pairs=4, noise=0.15)
    _, then = paired_run([1.0, 1.0, 1.0, 1.0], pairs=4, noise=0.4, seed=3)
    found = (
        *compare_paired(p, blocks),
        *compare_previous(p, blocks, then, same_subject=False),
        *compare_previous(p, blocks, then, same_subject=True),
    )
    assert len(found) == 12
    for w in found:
        assert len(w.why) < 100
        assert not re.search("Holm|smallest|night, where|never red", w.why)
    # A change beyond a doubling is a factor: nobody reads +3900%.
    assert any(re.search(r"×\d\d\.\d\d", w.why) for w in found)


def test_holm_is_monotone_and_not_below_the_raw_values() -> None:
    p = [0.2, 0.001, 0.04, 0.04, 1.0]
    adjusted = holm(p)
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert [x for _, x in sorted(zip(p, adjusted, strict=True))] == sorted(adjusted)
    assert holm([]) == []


def test_night_documents_survive_the_codec_and_only_pairs_make_red() -> None:
    p, blocks = paired_run([1.3, 1.0], pairs=8, noise=0.004)
    _, then = paired_run([1.0, 1.0], pairs=8, noise=0.004, seed=5)
    night = analyse_night(
        p,
        blocks,
        calibration=calibration(),
        preflight=preflight(),
        previous=Previous(run_id=RUN, blocks=tuple(then), same_subject=False),
        reference="daskperf-kernels 0.9",
    )
    assert night.verdicts.basis == "paired"
    assert [w.label for w in red(night.verdicts)] == ["aggregates n=0 (local)"]
    assert "Holm's correction over 2 series" in night.verdicts.method
    assert loads(dumps(night.comparison), Comparison) == night.comparison
    assert loads(dumps(night.verdicts), Verdicts) == night.verdicts
    assert loads(dumps(night.diagnosis), Diagnosis) == night.diagnosis
    subject_only = plan(list(p.cells))
    second = analyse_night(
        subject_only,
        [b for b in blocks if b.arm == "subject"],
        calibration=None,
        preflight=None,
        previous=Previous(run_id=RUN, blocks=tuple(then), same_subject=False),
        reference=Missing(missing="no other wheel was given"),
    )
    assert second.verdicts.basis == "previous"
    assert red(second.verdicts) == ()
    third = analyse_night(
        subject_only,
        [],
        calibration=None,
        preflight=None,
        previous=Missing(missing="this is the first run"),
        reference=Missing(missing="no other wheel was given"),
    )
    assert third.verdicts.basis == "none"
    assert "this is the first run" in third.verdicts.method
