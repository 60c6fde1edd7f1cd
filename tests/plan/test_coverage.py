from __future__ import annotations

from dataclasses import replace

from daskperf_tasks.model.block import BlockResult, Timeout
from daskperf_tasks.plan.coverage import pending_cells
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
