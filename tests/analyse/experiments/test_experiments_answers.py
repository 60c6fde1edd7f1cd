"""Answers: rows, predictions, recommendations, and what becomes of missing cells."""

from __future__ import annotations

import dataclasses

import pytest

from daskperf_tasks.analyse.experiments.answer import answer_experiments, answer_one
from daskperf_tasks.analyse.experiments.seen import see
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.experiment import ExperimentResult, Experiments
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate
from tests.analyse.experiments import synthetic
from tests.analyse.synthetic_run import BLOCKED, cell, failure, plan, planned, preflight

ALL = {
    "task-size": synthetic.task_size,
    "workers": synthetic.workers,
    "scheduler": synthetic.scheduler,
    "chunks": synthetic.chunks,
    "granularity": synthetic.granularity,
    "optimization": synthetic.optimization,
}


def result_of(made, environments=None) -> ExperimentResult:
    return answer_one(*made, None, synthetic.ENVIRONMENTS if environments is None else environments)


def lost(*labels: str):
    broken = failure(planned(cell("threads")))
    return {label: [broken] for label in labels}


@pytest.mark.parametrize("kind", ALL)
def test_every_point_is_answered_with_its_figures(kind: str) -> None:
    result = result_of(ALL[kind]())
    assert result.kind == kind
    for p in result.points:
        assert (p.state, p.reason) == ("measured", "")
        assert isinstance(p.makespan_s, Estimate)
        assert p.makespan_s.low <= p.makespan_s.value <= p.makespan_s.high
        assert p.peak_rss_mib > 0  # type: ignore[operator]
        assert isinstance(p.graph, GraphFacts)
        assert "reference" in p.correctness
        assert (p.threads > 0, p.tasks > 0) == (True, True)
    assert result.conclusion
    assert all(s.endswith(".") for s in result.conclusion)


@pytest.mark.parametrize("kind", ALL)
def test_answers_are_stored_and_read_back_equal(kind: str) -> None:
    made, blocks = ALL[kind]()
    p = dataclasses.replace(plan([]), experiments=(made,))
    answers = answer_experiments(p, blocks, None, synthetic.ENVIRONMENTS)
    assert loads(dumps(answers), Experiments) == answers
    assert answers == answer_experiments(p, blocks, None, synthetic.ENVIRONMENTS)


@pytest.mark.parametrize("kind", ALL)
def test_a_failed_point_keeps_its_row_with_the_reason(kind: str) -> None:
    planned_one, _ = ALL[kind]()
    label = planned_one.points[1].label
    result = result_of(ALL[kind](lost=lost(label)))
    row = next(p for p in result.points if p.label == label)
    assert row.state == "failed"
    assert "worker w2 left" in row.reason
    for value in (row.makespan_s, row.speedup, row.throughput_per_s, row.peak_rss_mib, row.graph):
        assert isinstance(value, Missing)
    assert any(label in s and "worker w2 left" in s for s in result.conclusion)


@pytest.mark.parametrize("kind", ALL)
def test_without_any_block_there_are_rows_and_reasons(kind: str) -> None:
    planned_one, _ = ALL[kind]()
    result = answer_one(planned_one, [], None, {})
    assert [p.state for p in result.points] == ["missing"] * len(planned_one.points)
    assert all(isinstance(f.knee, Missing) for f in result.fits)
    assert isinstance(result.recommended, Missing)
    assert result.conclusion


def test_a_blocked_run_says_that_preflight_forbade_it() -> None:
    planned_one, _ = synthetic.task_size()
    blocked = dataclasses.replace(preflight(), findings=(BLOCKED,))
    result = answer_one(planned_one, [], blocked, {})
    assert "preflight forbade measuring" in result.points[0].reason


@pytest.mark.parametrize("kind", ALL)
def test_a_single_point_has_no_fit_and_still_an_answer(kind: str) -> None:
    planned_one, blocks = ALL[kind]()
    only = dataclasses.replace(planned_one, points=planned_one.points[:1], baseline=None)
    result = answer_one(only, blocks, None, {})
    assert len(result.points) == 1
    assert all(isinstance(f.knee, Missing) for f in result.fits)
    assert result.conclusion


def test_speedups_refer_to_the_baseline_whatever_the_units() -> None:
    result = result_of(synthetic.task_size(tasks=(1, 2, 8), noise=0.002))
    first, second, _ = (p.speedup for p in result.points)
    assert isinstance(first, Estimate)
    assert (first.value, first.low, first.high) == (1.0, 1.0, 1.0)
    assert isinstance(second, Estimate)
    assert second.value == pytest.approx(1.97, rel=0.03)  # units are 1 and 2: not looked at


def test_each_series_of_workers_refers_to_its_own_fewest() -> None:
    result = result_of(synthetic.workers({"a": 0.0, "b": 1.0}, counts=(2, 4), noise=0.002))
    gains = [p.speedup.value for p in result.points]  # type: ignore[union-attr]
    assert gains == pytest.approx([1, 2, 1, 1], rel=0.02)
    shares = [p.more["efficiency"].value for p in result.points]  # type: ignore[union-attr]
    assert shares == pytest.approx([1, 1, 1, 0.5], rel=0.02)


def test_a_prediction_that_holds_needs_no_explanation() -> None:
    result = result_of(synthetic.scheduler())
    assert result.as_predicted is True
    assert result.difference == ""


def test_a_prediction_that_fails_is_explained_from_the_clocks() -> None:
    result = result_of(synthetic.scheduler({"python, threads": 0.5, "python, processes": 1.5}))
    assert result.as_predicted is False
    assert "python, threads is 2.99" in result.difference
    assert "interpreter lock" in result.difference


def test_waiting_under_foreign_load_is_not_blamed_on_the_lock() -> None:
    made, blocks = synthetic.scheduler()
    busy = [
        dataclasses.replace(b, host_load=dataclasses.replace(b.host_load, foreign_cpu_cores=1.5))
        for b in blocks
    ]
    quiet, loud = (" ".join(result_of((made, bs)).conclusion) for bs in (blocks, busy))
    assert "interpreter lock" in quiet
    assert "interpreter lock" not in loud
    assert "other work used 1.5 cores of the host" in loud


def test_equals_are_not_recommended() -> None:
    assert result_of(synthetic.scheduler()).recommended == "cython, threads"
    tied = result_of(synthetic.scheduler({"cython, processes": 0.02})).recommended
    assert isinstance(tied, Missing)
    assert "cython, processes" in tied.missing


def test_what_is_not_told_apart_neither_holds_nor_fails() -> None:
    result = result_of(synthetic.scheduler({"cython, processes": 0.02}))
    assert isinstance(result.as_predicted, Missing)
    assert "which includes 1" in result.difference
    assert "outside tasks" in result.difference


def test_a_point_without_figures_leaves_the_prediction_open() -> None:
    result = result_of(synthetic.scheduler(lost=lost("python, threads")))
    assert isinstance(result.as_predicted, Missing)
    assert "python, threads" in result.as_predicted.missing


def test_one_block_decides_only_what_is_far_apart() -> None:
    times = {"cython, processes": 0.025}
    assert result_of(synthetic.scheduler(times, noise=0.001)).as_predicted is True
    alone = result_of(synthetic.scheduler(times, noise=0.001, rounds=(0,)))
    assert isinstance(alone.as_predicted, Missing)
    assert any("one block only" in s for s in alone.conclusion)


def test_the_fastest_version_is_recommended_when_its_interval_says_so() -> None:
    result = result_of(synthetic.optimization())
    assert result.recommended == "parallel Cython, threads"
    assert "more cores or a faster kernel" in " ".join(result.conclusion)


def test_among_equals_the_serial_version_is_recommended() -> None:
    result = result_of(synthetic.optimization({"parallel Cython, threads": 0.05}, noise=0.03))
    assert result.recommended == "serial Cython"
    assert "it is the simplest of them" in result.conclusion[0]
    assert "one core" in " ".join(result.conclusion)


def test_a_parallel_version_that_barely_gains_is_limited_by_what_threads_share() -> None:
    result = result_of(synthetic.optimization({"parallel Cython, threads": 0.042}, noise=0.005))
    assert result.recommended == "parallel Cython, threads"
    assert "what the threads share" in " ".join(result.conclusion)


def test_the_chunk_of_the_least_memory_is_chosen_among_equals() -> None:
    result = result_of(synthetic.chunks(overhead_s=1e-5, noise=0.02, edges=(1000, 2000, 4000)))
    assert result.recommended == "1000 x 1000"
    assert "not told from it in time" in " ".join(result.conclusion)


def test_chunks_that_leave_threads_idle_are_called_too_large() -> None:
    result = result_of(synthetic.chunks())
    assert any("8000 x 8000 is too large" in s for s in result.conclusion)


def test_too_few_tasks_and_two_overheads_are_named() -> None:
    text = " ".join(result_of(synthetic.task_size()).conclusion)
    assert "1 of 2 threads idle" in text
    assert "ms" in text
    assert "outside tasks a task" in text


def test_the_context_names_what_it_ran_on() -> None:
    made = synthetic.optimization()
    rows = dict(result_of(made).context)
    assert rows["CPU model"] == "Example CPU"
    assert rows["allocation"].startswith("4 of 8 cores by affinity, no quota")
    assert "dask 2026.8.0" in rows["versions"]
    assert rows["native threads"] == "OMP_NUM_THREADS=1; in use: libopenblas 1"
    assert rows["tolerance"] == "1e-09"
    bare = dict(result_of(made, {}).context)
    assert bare["allocation"] == "not recorded"


def test_a_quota_below_the_affinity_is_the_allocation() -> None:
    facts = synthetic.ENVIRONMENTS["local"]["driver"] | {"cores_quota": 1.5}
    result = result_of(synthetic.workers(cores=1.5), {"local": {"driver": facts}})
    assert "quota of 1.5 cores" in dict(result.context)["allocation"]
    assert any("1.5 cores" in f.knee.text for f in result.fits if not isinstance(f.knee, Missing))


def test_blocks_of_the_reference_wheel_are_not_counted() -> None:
    planned_one, blocks = synthetic.task_size(tasks=(2, 8, 32))
    others = [dataclasses.replace(b, arm="reference") for b in blocks]
    case = see(planned_one, others, preflight=None, cores=Missing(missing=""))
    assert case.measured == ()
