from __future__ import annotations

from daskperf_tasks.analyse.outcome import decide_outcome
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import CellSummary, Check, Validation, Verdicts, WheelPair
from daskperf_tasks.model.stage import StageRecord


def cell(state: str = "measured", *, required: bool = True) -> CellSummary:
    return CellSummary(
        cell_id="w/v1;env=local;sched=ws",
        label="w",
        arm="subject",
        request_hash="h",
        state=state,  # type: ignore[arg-type]
        reason=None if state == "measured" else "it hung",
        required=required,
        blocks_valid=1,
        blocks_invalid=0,
        samples=3,
        threads=2,
        processes=1,
        metrics={},
    )


def validation(success: bool = True) -> Validation:
    check = Check(suite="ranges", name="makespan", success=success, expected="> 0", found="-1")
    return Validation(run_id="r", success=success, checks=(check,), great_expectations="1")


def verdicts(verdict: str, basis: str = "paired") -> Verdicts:
    pair = WheelPair(
        cell_id="w/v1;env=local;sched=ws",
        label="w",
        ratio=Missing(missing="not needed here"),
        verdict=verdict,  # type: ignore[arg-type]
        smallest_visible=1.02,
        why="+9 %",
    )
    return Verdicts(run_id="r", method="m", basis=basis, verdicts=(pair,))  # type: ignore[arg-type]


def stage(name: str, error: str | None = None, fault: str = "infra") -> StageRecord:
    return StageRecord(
        name=name,
        started_at="2026-11-30T00:00:00+00:00",
        seconds=1.0,
        outcome="failed" if error else "done",
        fault=fault if error else None,
        error=error,
    )


def test_all_is_well() -> None:
    found = decide_outcome([cell()], validation(), verdicts("no change"), [stage("deploy")])
    assert (found.state, found.green, found.reasons) == ("complete", True, ())
    assert (found.measured, found.failed, found.missing) == (1, 0, 0)


def test_a_required_cell_that_failed_makes_it_partial_and_red() -> None:
    found = decide_outcome([cell(), cell("failed")], validation(), None, [])
    assert (found.state, found.green, found.failed) == ("partial", False, 1)
    assert "it hung" in found.reasons[0]


def test_a_cell_that_is_not_required_does_not_make_it_red() -> None:
    found = decide_outcome([cell(), cell("failed", required=False)], validation(), None, [])
    assert (found.state, found.green, found.failed) == ("complete", True, 1)


def test_failed_validation_is_never_complete() -> None:
    found = decide_outcome([cell()], validation(False), None, [])
    assert (found.state, found.green) == ("failed", False)
    assert found.reasons == ("validation: makespan: expected > 0, found -1",)
    unchecked = decide_outcome([cell()], None, None, [])
    assert (unchecked.state, unchecked.green) == ("failed", False)


def test_nothing_measured_is_failed() -> None:
    found = decide_outcome([cell("missing")], validation(), None, [])
    assert (found.state, found.green, found.missing) == ("failed", False, 1)


def test_a_broken_deployment_is_failed_with_its_first_line() -> None:
    found = decide_outcome(
        [cell()], validation(), None, [stage("deploy", "no import\n  traceback", "product")]
    )
    assert (found.state, found.green) == ("failed", False)
    assert found.reasons == ("deploy failed (product): no import",)


def test_a_failed_restore_or_round_makes_it_partial() -> None:
    for name in ("restore", "measure-1", "report"):
        found = decide_outcome([cell()], validation(), None, [stage(name, "gone")])
        assert (found.state, found.green) == ("partial", False)


def test_a_store_that_is_away_does_not_change_what_the_run_is() -> None:
    found = decide_outcome([cell()], validation(), None, [stage("publish", "away")])
    assert (found.state, found.green) == ("complete", True)


def test_only_the_same_night_can_make_it_red() -> None:
    paired = decide_outcome([cell()], validation(), verdicts("slower"), [])
    assert (paired.state, paired.green) == ("complete", False)
    assert "slower" in paired.reasons[0]
    across = decide_outcome([cell()], validation(), verdicts("slower", "previous"), [])
    assert (across.state, across.green) == ("complete", True)
