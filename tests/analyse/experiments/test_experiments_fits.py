"""Fits recover laws that are known, and say so when there is nothing to recover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.analyse.experiments import granularity, task_size, workers
from daskperf_tasks.analyse.experiments.answer import answer_one
from daskperf_tasks.analyse.experiments.linear import nonnegative
from daskperf_tasks.analyse.experiments.resample import medians
from daskperf_tasks.analyse.experiments.seen import see
from daskperf_tasks.model.experiment import ExperimentResult, Knee, SeriesFit
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate
from tests.analyse.experiments import synthetic

UNKNOWN = Missing(missing="not of interest")
QUICK = settings(max_examples=40, deadline=None, derandomize=True)


def result_of(made, environments=None) -> ExperimentResult:
    planned, blocks = made
    return answer_one(planned, blocks, None, environments or {})


def near(found: object, truth: float, times: float = 2.0, least: float = 0.0) -> bool:
    """Whether a truth lies within an interval (``times`` as wide: draws are many)."""
    assert isinstance(found, Estimate), found
    low = found.value - times * max(found.value - found.low, least)
    high = found.value + times * max(found.high - found.value, least)
    return low <= truth <= high


@QUICK
@given(
    overhead_ms=st.floats(1.0, 10.0),
    work=st.floats(2.0, 8.0),
    noise=st.floats(0.002, 0.02),
    seed=st.integers(0, 10_000),
)
def test_overhead_of_tasks_and_its_knee_are_recovered(overhead_ms, work, noise, seed) -> None:
    made = synthetic.task_size(
        work_s=work, overhead_s=overhead_ms / 1e3, fixed_s=0.0, noise=noise, seed=seed,
        tasks=(2, 8, 32, 128, 512),
    )  # fmt: skip
    (fit,) = result_of(made).fits
    assert near(fit.parameters["overhead_ms_per_task"], overhead_ms)
    knee = (work / 2) / (9 * overhead_ms / 1e3)
    assert isinstance(fit.knee, Knee) or knee > 450
    if isinstance(fit.knee, Knee):
        assert fit.knee.low <= fit.knee.value <= fit.knee.high
        span = fit.knee.high - fit.knee.low
        assert fit.knee.low - span <= knee <= fit.knee.high + span


def test_work_and_fixed_cost_are_told_apart_only_by_idle_threads() -> None:
    apart = result_of(synthetic.task_size(work_s=4.0, fixed_s=0.4, threads=4)).fits[0]
    assert near(apart.parameters["work_s"], 4.0)
    assert near(apart.parameters["fixed_ms"], 400.0)
    whole = result_of(synthetic.task_size(work_s=4.0, fixed_s=0.4, tasks=(2, 8, 32, 128))).fits[0]
    assert near(whole.parameters["level_s"], 2.4)
    for name in ("work_s", "fixed_ms"):
        missing = whole.parameters[name]
        assert isinstance(missing, Missing)
        assert "leaves threads idle" in missing.missing


@QUICK
@given(serial=st.floats(0.02, 0.6), noise=st.floats(0.002, 0.02), seed=st.integers(0, 10_000))
def test_the_serial_fraction_is_recovered(serial, noise, seed) -> None:
    (fit,) = result_of(synthetic.workers({"": serial}, noise=noise, seed=seed)).fits
    assert near(fit.parameters["serial_fraction"], serial, least=0.002)


def test_efficiency_falls_below_half_where_amdahl_says() -> None:
    (fit,) = result_of(synthetic.workers({"": 0.25}, noise=0.003)).fits
    assert isinstance(fit.knee, Knee)
    assert fit.knee.low <= 5.0 <= fit.knee.high  # 1 + 1 / s
    assert "50%" in fit.knee.text


def test_the_knee_of_a_law_that_goes_on_is_missing() -> None:
    (fit,) = result_of(synthetic.workers({"": 0.02}, noise=0.003)).fits
    assert isinstance(fit.knee, Missing)
    assert "the most that were measured" in fit.knee.missing


def test_workers_beyond_the_allocation_bring_nothing() -> None:
    made = synthetic.workers({"": 0.05}, cores=4, noise=0.003)
    (fit,) = result_of(made, synthetic.ENVIRONMENTS).fits
    assert near(fit.parameters["serial_fraction"], 0.05)
    assert isinstance(fit.knee, Knee)
    assert fit.knee.value == 4.0
    assert "the allocation ends at 4 cores" in fit.knee.text


@QUICK
@given(
    overhead_us=st.floats(100.0, 5000.0),
    noise=st.floats(0.002, 0.02),
    seed=st.integers(0, 10_000),
)
def test_the_effective_granularity_is_recovered(overhead_us, noise, seed) -> None:
    made = synthetic.granularity(overhead_s=overhead_us / 1e6, noise=noise, seed=seed)
    (fit,) = result_of(made).fits
    # Each task takes overhead + work; half of the peak is left where they are equal. The
    # peak is that of the largest grain, and the line between neighbours is straight.
    per = 1e-5
    peak = 4096 / (overhead_us / 1e6 + per * 4096)
    grain = (overhead_us / 1e6) * (peak / 2) / (1 - per * peak / 2)
    truth_us = overhead_us + per * 1e6 * grain
    metg = fit.parameters["metg_us"]
    assert isinstance(metg, Estimate)
    slack = 0.03 * truth_us  # of the straight line
    assert 2 * metg.low - metg.value - slack <= truth_us <= 2 * metg.high - metg.value + slack
    assert isinstance(fit.knee, Knee)
    assert fit.knee.low <= fit.knee.value <= fit.knee.high


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(60):
        made = synthetic.task_size(fixed_s=0.0, noise=0.01, seed=seed, tasks=(2, 8, 32, 128))
        (fit,) = result_of(made).fits
        b = fit.parameters["overhead_ms_per_task"]
        assert isinstance(b, Estimate)
        inside += b.low <= 3.0 <= b.high
    assert inside >= 52


def test_a_sweep_that_stays_above_half_has_no_granularity() -> None:
    result = result_of(synthetic.granularity(overhead_s=1e-6, grains=(64, 256, 1024)))
    assert isinstance(result.fits[0].knee, Missing)
    assert "does not come down to 50%" in result.fits[0].knee.missing
    assert isinstance(result.fits[0].parameters["metg_us"], Missing)


def test_a_sweep_that_ends_before_the_peak_has_no_granularity() -> None:
    # 10 us an iteration: at grain 256 the overhead of 2.56 ms still takes half of the time.
    made = synthetic.granularity(overhead_s=2.56e-3, grains=(16, 64, 128, 256))
    knee = result_of(made).fits[0].knee
    assert isinstance(knee, Missing)
    assert "grain 256, the largest, throughput still rises with the power 0." in knee.missing
    assert "give larger grains" in knee.missing


def test_a_crossing_that_noise_leaves_open_is_no_granularity() -> None:
    made = synthetic.granularity(
        overhead_s=2.2e-3, grains=(128, 256), noise=0.2, per_iteration_s=1e-5
    )
    (fit,) = result_of(made).fits
    assert isinstance(fit.knee, Missing)


def test_a_kernel_that_does_nothing_has_no_throughput() -> None:
    result = result_of(synthetic.granularity(kernel="empty"))
    assert isinstance(result.fits[0].knee, Missing)
    assert "no useful work" in result.fits[0].knee.missing


@pytest.mark.parametrize("seed", range(8))
def test_pure_noise_has_no_knee(seed: int) -> None:
    flat = {"work_s": 2.0, "fixed_s": 0.0, "overhead_s": 0.0, "tasks": (2, 8, 32, 128)}
    results = [
        result_of(synthetic.task_size(noise=0.05, seed=seed, **flat)),
        result_of(synthetic.granularity(overhead_s=0.0, noise=0.05, seed=seed)),
        result_of(synthetic.chunks(overhead_s=0.0, noise=0.05, seed=seed)),
    ]
    for r in results:
        assert all(isinstance(f.knee, Missing) for f in r.fits), r.fits


def test_chunks_give_work_overhead_and_a_knee_between_measured_chunks() -> None:
    result = result_of(synthetic.chunks(work_s=2.0, overhead_s=4e-4, noise=0.005))
    (fit,) = result.fits
    assert near(fit.parameters["work_s"], 2.0)
    assert near(fit.parameters["overhead_ms_per_task"], 0.4)
    assert isinstance(fit.knee, Knee)
    # b tasks = a tenth of the makespan at 278 tasks, between 1000 x 1000 and 500 x 500.
    assert 500**2 * 8 / 2**20 < fit.knee.value < 1000**2 * 8 / 2**20


def test_equal_makespans_are_fitted_without_noise() -> None:
    made = synthetic.task_size(work_s=2.0, fixed_s=0.0, overhead_s=0.0, noise=0.0, tasks=(2, 8, 32))
    (fit,) = result_of(made).fits
    b = fit.parameters["overhead_ms_per_task"]
    assert isinstance(b, Estimate)
    assert b.high == pytest.approx(0.0, abs=1e-9)
    assert isinstance(fit.knee, Missing)
    flat = result_of(synthetic.workers({"": 1.0}, noise=0.0)).fits[0]
    assert near(flat.parameters["serial_fraction"], 1.0, least=1e-9)


def test_a_model_that_does_not_fit_is_refused() -> None:
    spots = [
        synthetic.Spot(label=f"{t} tasks", x=float(t), makespan_s=m, tasks=t)
        for t, m in ((2, 1.0), (8, 6.0), (32, 0.5), (128, 9.0), (512, 1.0))
    ]
    (fit,) = result_of(synthetic.experiment("task-size", spots, noise=0.01)).fits
    assert isinstance(fit.knee, Missing)
    assert "misses the points by" in fit.knee.missing
    assert fit.curve == ()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_points_say_how_many_are_needed(count: int) -> None:
    grid = (2, 8, 32)[:count]
    for fit in (task_size.fit_series, granularity.fit_series):
        planned, blocks = synthetic.task_size(tasks=grid) if grid else synthetic.scheduler()
        seen = see(planned, blocks, preflight=None, cores=UNKNOWN).measured[:count]
        found: SeriesFit = fit("", seen)
        if count < 2 or fit is task_size.fit_series:
            assert isinstance(found.knee, Missing)
            assert "measured points, there are" in found.knee.missing
    alone = workers.fit_series("", seen[:1], None)
    assert isinstance(alone.knee, Missing)


def test_one_repeat_a_point_tells_no_noise() -> None:
    made = synthetic.task_size(rounds=(0,), repeats=1)
    (fit,) = result_of(made).fits
    assert isinstance(fit.knee, Missing)
    assert "one repeat a point" in fit.knee.missing


def test_a_point_with_one_repeat_takes_the_scatter_of_the_others() -> None:
    planned, blocks = synthetic.task_size(noise=0.02)
    few = [b for b in blocks if b.cell_id != planned.points[0].cell_id]
    first = next(b for b in blocks if b.cell_id == planned.points[0].cell_id)
    single = synthetic.replace(first, samples=first.samples[:2])
    seen = see(planned, [*few, single], preflight=None, cores=UNKNOWN)
    drawn = medians(seen.measured)
    assert not isinstance(drawn, Missing)
    assert drawn.noise[0] == pytest.approx(np.sqrt(np.mean(drawn.noise[1:] ** 2)))
    assert drawn.draws[:, 0].std() > 0


@QUICK
@given(seed=st.integers(0, 10_000), size=st.integers(1, 3))
def test_nonnegative_least_squares_agrees_with_scipy(seed: int, size: int) -> None:
    from scipy.optimize import nnls

    rng = np.random.default_rng(seed)
    design, targets = rng.normal(size=(6, size)), rng.normal(size=(5, 6))
    found = nonnegative(design, targets)
    for row, target in zip(found, targets, strict=True):
        assert row == pytest.approx(nnls(design, target)[0], abs=1e-8)


def test_curves_lie_on_the_axis_of_the_points() -> None:
    for made, (low, high) in (
        (synthetic.task_size(), (1, 512)),
        (synthetic.workers({"a": 0.1, "b": 0.3}), (1, 8)),
    ):
        for fit in result_of(made).fits:
            assert fit.curve
            assert all(low <= x <= high * (1 + 1e-9) and y > 0 for x, y in fit.curve)
