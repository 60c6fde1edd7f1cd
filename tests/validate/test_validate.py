import dataclasses
import logging
import math

import pytest

from daskperf_tasks.analyse.experiments.answer import answer_experiments
from daskperf_tasks.model.block import Failure, Member, Timeout
from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.facts import Finding
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Validation
from daskperf_tasks.validate import validate_run
from daskperf_tasks.validate.suites import EXPECTATIONS
from tests.validate.good_run import RUN_ID, good_run, preflight, with_block, with_sample, worker

W0, W1 = (Member(name=n, worker_id=n, nthreads=2) for n in ("w0", "w1"))


def failed(validation):
    return {c.name for c in validation.checks if not c.success}


def test_a_good_run_passes_every_check():
    validation = validate_run(**good_run())
    assert failed(validation) == set()
    assert validation.success
    assert validation.run_id == RUN_ID
    assert [c.name for c in validation.checks] == [e.name for e in EXPECTATIONS]
    assert all(c.found.startswith("all ") for c in validation.checks)
    assert validation.great_expectations.startswith("1.24")
    assert loads(dumps(validation), Validation) == validation


def test_expectations_have_names_of_their_own():
    names = [e.name for e in EXPECTATIONS]
    assert len(set(names)) == len(names)


def lose_a_block(run):
    return {**run, "blocks": run["blocks"][1:]}


def fail_a_block(run):
    failure = Failure(fault="infra", error_type="E", message="m", traceback="")
    return with_block(run, 0, outcome=failure, samples=())


def lose_a_sample(run):
    return with_block(run, 0, samples=run["blocks"][0].samples[:-1])


def repeat_a_sample(run):
    samples = run["blocks"][0].samples
    return with_block(run, 0, samples=(*samples[:-1], samples[-2]))


def store_twice(run):
    return {**run, "blocks": [*run["blocks"], run["blocks"][0]]}


def measure_twice(run):
    return {**run, "blocks": [*run["blocks"], dataclasses.replace(run["blocks"][0], attempt=2)]}


def another_local_request(run):
    local = run["plan"].cells[0]
    request = dataclasses.replace(local.request, seed=8)
    cells = (dataclasses.replace(local, request=request), *run["plan"].cells[1:])
    return {**run, "plan": dataclasses.replace(run["plan"], cells=cells)}


def unequal_comparison(run):
    sides = tuple(dataclasses.replace(s, same_inputs=False) for s in run["comparison"].sides)
    return {**run, "comparison": dataclasses.replace(run["comparison"], sides=sides)}


def another_worker(**changes):
    def change(run):
        checks = tuple(dataclasses.replace(c, **changes) for c in run["deployment"].checks)
        return {**run, "deployment": dataclasses.replace(run["deployment"], checks=checks)}

    return change


def blocked(run):
    finding = Finding(
        level="block",
        code="x",
        role="worker",
        host="h",
        name="w0",
        expected="a",
        found="b",
        todo="c",
    )
    return {**run, "preflight": dataclasses.replace(run["preflight"], findings=(finding,))}


def miscounted(run):
    local = run["summaries"]["local"]
    cells = (dataclasses.replace(local.cells[0], samples=99), *local.cells[1:])
    summaries = {**run["summaries"], "local": dataclasses.replace(local, cells=cells)}
    return {**run, "summaries": summaries}


def of_another_run(run):
    other = dataclasses.replace(run["comparison"], run_id="20250101T000000Z-000000")
    return {**run, "comparison": other}


def sample_with(**changes):
    return lambda run: with_sample(run, **changes)


def block_with(**changes):
    return lambda run: with_block(run, 0, **changes)


def members_with(index, *members):
    return lambda run: with_block(run, index, members_before=members, members_after=members)


def another_lane(*workers):
    return lambda run: {**run, "preflight": dataclasses.replace(preflight(), facts=workers)}


def without(name):
    return lambda run: {**run, name: None}


def answered(change):
    """Return a corruption of the first experiment's rows."""

    def corrupt(run):
        (result,) = run["experiments"].results
        changed = dataclasses.replace(result, points=change(result.points))
        return {
            **run,
            "experiments": dataclasses.replace(run["experiments"], results=(changed,)),
        }

    return corrupt


def unexplained(points):
    none = Missing(missing="")
    first = dataclasses.replace(points[0], state="failed", reason="", makespan_s=none)
    return (first, *points[1:])


@pytest.mark.parametrize(
    ("corrupt", "check"),
    [
        (lose_a_block, "every required cell is measured in every round"),
        (fail_a_block, "every required cell is measured in every round"),
        (block_with(outcome=Timeout(after_s=9.0)), "every required cell has all its samples"),
        (block_with(invalid_reason="a worker left"), "every required cell has all its samples"),
        (lose_a_sample, "every required cell has all its samples"),
        (lose_a_sample, "every valid block has the planned repeats"),
        (lose_a_sample, "local and remote were measured alike"),
        (repeat_a_sample, "no sample is stored twice"),
        (store_twice, "no attempt is stored twice"),
        (measure_twice, "no block counts twice"),
        (block_with(round=9), "every block is in the plan"),
        (block_with(arm="reference"), "every block is in the plan"),
        (block_with(cell_id="w/v1;env=local;sched=ws"), "every block is in the plan"),
        (block_with(request_hash="0" * 64), "every block computed the planned request"),
        (block_with(request_hash="0" * 64), "local and remote were measured alike"),
        (another_local_request, "local and remote are planned alike"),
        (unequal_comparison, "the comparison compares equal inputs"),
        (sample_with(makespan_s=0.0), "makespans are positive"),
        (sample_with(makespan_s=-1.0), "makespans are positive"),
        (sample_with(success_rate=0.75), "all results are right"),
        (sample_with(success_rate=1.5), "all results are right"),
        (sample_with(units=0), "units are counted"),
        (sample_with(tasks=0), "tasks are counted"),
        (sample_with(task_wall_s=1.2), "threads are not busier than busy"),
        (sample_with(task_cpu_s=-0.1), "CPU times are not negative"),
        (sample_with(task_cpu_s=1.3), "tasks use no more CPU than their threads have"),
        (sample_with(transfer_bytes=-1.0), "bytes moved are not negative"),
        (sample_with(peak_rss_mib=0.0), "memory is positive"),
        (block_with(threads=0), "blocks have threads"),
        (block_with(threads=1), "every valid block had the lane's threads"),
        (block_with(threads=4), "every valid block had the lane's threads"),
        (block_with(processes=2), "every valid block ran in the lane's processes"),
        (members_with(0, W0, W1), "every valid block had the lane's workers"),
        (members_with(0), "every valid block had the lane's workers"),
        (members_with(1, W1), "every valid block had the lane's workers"),
        (members_with(1, W0, W1), "every valid block had the lane's workers"),
        (
            members_with(1, dataclasses.replace(W0, nthreads=1)),
            "every valid block had the lane's workers",
        ),
        (block_with(members_after=()), "every valid block had the lane's workers"),
        (another_lane(worker("w0"), worker("w1")), "every valid block had the lane's threads"),
        (another_lane(worker("w0"), worker("w1")), "every valid block had the lane's workers"),
        (another_lane(worker("w0", 4)), "every valid block had the lane's threads"),
        (another_lane(), "every valid block had the lane's workers"),
        (block_with(subject_sha256="c" * 64), "every block ran under the chosen wheel"),
        (block_with(subject_version="9"), "every block imported the chosen version"),
        (another_worker(version="9"), "every worker imports the chosen version"),
        (another_worker(files_sha256="0" * 64), "every worker imports installed files"),
        (
            block_with(members_after=(Member(name="w0", worker_id="w0-2", nthreads=2),)),
            "no worker came or went in a valid block",
        ),
        (blocked, "nothing was measured that preflight forbade"),
        (without("preflight"), "nothing was measured that preflight forbade"),
        (without("preflight"), "all documents are there"),
        (without("comparison"), "all documents are there"),
        (without("subjects"), "every block ran under the chosen wheel"),
        (without("deployment"), "all documents are there"),
        (without("experiments"), "all documents are there"),
        (without("experiments"), "every planned point of an experiment is answered"),
        (answered(lambda p: p[:1]), "every planned point of an experiment is answered"),
        (answered(unexplained), "every planned point of an experiment is answered"),
        (
            answered(lambda p: (dataclasses.replace(p[0], cell_id="x"), p[1])),
            "every planned point of an experiment is answered",
        ),
        (miscounted, "summaries count the raw samples"),
        (of_another_run, "all documents are of this run"),
        (sample_with(units="four"), "schemas and versions hold"),
        (sample_with(makespan_s=math.nan), "no number is NaN or infinite"),
        (sample_with(task_wall_s=math.inf), "no number is NaN or infinite"),
    ],
)
def test_each_corruption_is_caught_by_its_check(corrupt, check):
    validation = validate_run(**corrupt(good_run()))
    assert check in failed(validation)
    assert not validation.success
    (found,) = (c.found for c in validation.checks if c.name == check)
    assert " not: " in found


def test_a_failed_check_names_what_it_found():
    validation = validate_run(**with_sample(good_run(), success_rate=0.75))
    (check,) = (c for c in validation.checks if not c.success)
    assert check.suite == "ranges"
    assert check.expected == "1, nothing less"
    assert check.found.startswith("1 of 12 not: ")
    assert "env=local" in check.found
    assert "success_rate 0.75" in check.found


def test_missing_figures_are_no_failures():
    none = Missing(missing="not to be had here")
    run = good_run()
    for index, block in enumerate(run["blocks"]):
        samples = tuple(
            dataclasses.replace(
                s, task_wall_s=none, task_cpu_s=none, transfer_bytes=none, peak_rss_mib=none
            )
            for s in block.samples
        )
        run = with_block(run, index, samples=samples)
    assert failed(validate_run(**run)) == set()


def test_a_second_attempt_after_an_invalid_one_is_fine():
    run = good_run()
    again = dataclasses.replace(run["blocks"][0], attempt=2)
    run = with_block(run, 0, invalid_reason="a worker left")
    assert failed(validate_run(**{**run, "blocks": [*run["blocks"], again]})) == set()


def test_a_run_in_which_nothing_was_measured_fails_for_what_is_missing():
    run = good_run() | {
        "blocks": [],
        "experiments": None,
        "summaries": {},
        "comparison": None,
        "preflight": None,
        "deployment": None,
        "subjects": None,
    }
    validation = validate_run(**run)
    assert not validation.success
    assert {c.suite for c in validation.checks if not c.success} == {"completeness"}


def test_a_plan_without_experiments_wants_no_answers():
    run = good_run()
    plan = dataclasses.replace(run["plan"], experiments=())
    assert failed(validate_run(**{**run, "plan": plan, "experiments": None})) == set()


def test_a_point_that_was_not_measured_needs_only_its_reason():
    run = good_run()
    blocks = [b for b in run["blocks"] if "env=remote" not in b.cell_id]
    answers = answer_experiments(run["plan"], blocks, None, {})
    check = "every planned point of an experiment is answered"
    assert check not in failed(validate_run(**{**run, "experiments": answers}))


def test_a_plan_without_cells_is_not_valid():
    run = good_run()
    empty = dataclasses.replace(run["plan"], cells=(), rounds=())
    validation = validate_run(**{**run, "plan": empty, "blocks": []})
    assert "there is something to check" in failed(validation)


def test_nothing_is_said_about_a_documentation_site(caplog):
    with caplog.at_level(logging.INFO):
        validate_run(**good_run())
    assert not [r for r in caplog.records if "docs site" in r.getMessage()]
