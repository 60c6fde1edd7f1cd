from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.block import BlockResult, Failure, Timeout
from daskperf_tasks.plan.coverage import cell_states, pending_cells, why_not
from tests import sample_documents

from .test_build import plan

PLAN = plan()
ROUND = PLAN.rounds[1]
BASE: BlockResult = sample_documents.block()


def block(cell_id: str, attempt: int = 1, round_index: int = 1, **more: object) -> BlockResult:
    return replace(BASE, cell_id=cell_id, attempt=attempt, round=round_index, arm="subject", **more)  # type: ignore[arg-type]


def test_all_is_pending_at_first_in_the_order_of_the_round() -> None:
    assert pending_cells(PLAN, ROUND, []) == tuple((c, 1) for c in ROUND.order)


def test_valid_blocks_are_done_and_others_get_another_attempt() -> None:
    a, b, c, d, *rest = ROUND.order
    blocks = [
        block(a),
        block(b, invalid_reason="worker w was lost"),
        block(c, 1, outcome=Timeout(after_s=3.0)),
        block(c, 2, outcome=Timeout(after_s=3.0)),
        block(d, round_index=0),
    ]
    assert pending_cells(PLAN, ROUND, blocks) == ((b, 2), (d, 1), *((r, 1) for r in rest))


def test_states_say_why() -> None:
    a, b, c, *_ = (p.cell_id for p in PLAN.cells)
    failure = Failure(fault="product", error_type="ValueError", message="no\nmore", traceback="")
    states = cell_states(
        PLAN,
        [
            block(a, 1, invalid_reason="worker w was lost"),
            block(a, 2),
            block(b, 1, outcome=Timeout(after_s=3.0)),
            block(b, 2, outcome=failure),
            block(c, 1, invalid_reason="worker w was lost"),
        ],
    )
    assert states[a, "subject"] == ("measured", None)
    assert states[b, "subject"] == (
        "failed",
        "round 2, attempt 2: product failure, ValueError: no",
    )
    assert states[c, "subject"] == ("failed", "round 2, attempt 1: worker w was lost")
    missing = [state for state in states.values() if state[0] == "missing"]
    assert len(missing) == len(PLAN.cells) - 3
    assert all(reason for _, reason in missing)
    assert "limit of 3 s" in why_not(block(b, outcome=Timeout(after_s=3.0)))
