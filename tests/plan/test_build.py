from __future__ import annotations

from typing import Any

import pytest

from daskperf_tasks.model.codec import dumps, loads
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.plan.build import make_plan
from daskperf_tasks.plan.matrix_file import load_matrix

from .matrices import GOOD, REGISTRY


def plan(text: str = GOOD, arms: Any = ("subject",), **more: Any) -> Plan:
    return make_plan(
        load_matrix(text, where="x", registry=REGISTRY),
        run_id="20261130T010203Z-616263",
        created_at="2026-11-30T01:02:03+00:00",
        trigger="cli",
        commit="unknown",
        arms=arms,
        registry=REGISTRY,
        **more,
    )


def test_cells_are_the_product_and_their_ids_are_literal() -> None:
    assert [c.cell_id for c in plan().cells] == [
        "aggregates/v2;n=128;env=local;sched=ws",
        "aggregates/v2;n=128;env=remote;sched=ws",
        "aggregates/v2;n=256;env=local;sched=ws",
        "aggregates/v2;n=256;env=remote;sched=ws",
        "integrate/v2;implementation=python;steps=1000;env=threads;sched=none",
        "integrate/v2;implementation=python;steps=1000;env=processes;sched=none",
        "integrate/v2;implementation=cython;steps=1000;env=threads;sched=none",
        "integrate/v2;implementation=cython;steps=1000;env=processes;sched=none",
    ]


def test_both_sides_get_the_same_request() -> None:
    by_id = {c.cell_id: c for c in plan().cells}
    for planned in by_id.values():
        other = by_id.get(planned.cell.counterpart_id)
        assert other is None or other.request == planned.request
        assert planned.request_hash == planned.request.hash


def test_rows_override_repeats_and_limit() -> None:
    requests = {c.request.workload: c.request for c in plan().cells}
    assert (requests["aggregates"].repeats, requests["aggregates"].timeout_s) == (4, 60.0)
    assert (requests["integrate"].repeats, requests["integrate"].timeout_s) == (2, 5.0)
    assert not plan().cell(plan().cells[-1].cell_id).required


def test_rounds_hold_every_cell_once_in_seeded_orders() -> None:
    one = plan()
    ids = sorted(c.cell_id for c in one.cells)
    assert [r.index for r in one.rounds] == [0, 1, 2]
    assert all(sorted(r.order) == ids for r in one.rounds)
    assert len({r.order for r in one.rounds}) == 3
    assert one.rounds == plan().rounds
    assert one.rounds != plan(GOOD.replace("seed = 7", "seed = 8")).rounds
    assert [r.profile for r in one.rounds] == [False, False, True]


def test_two_arms_alternate_pair_by_pair() -> None:
    both = plan(GOOD.replace("rounds = 3", "rounds = 4"), arms=("subject", "reference"))
    assert [r.index for r in both.rounds] == list(range(8))
    arms = [r.arm for r in both.rounds]
    pairs = [tuple(arms[i : i + 2]) for i in range(0, 8, 2)]
    assert pairs[0] == pairs[2] != pairs[1] == pairs[3]
    assert all(set(p) == {"subject", "reference"} for p in pairs)
    assert all(both.rounds[i].order == both.rounds[i + 1].order for i in range(0, 8, 2))
    profiled = [r for r in both.rounds if r.profile]
    assert [(r.arm, r.index >= 6) for r in profiled] == [("subject", True)]


def test_which_arm_starts_is_drawn() -> None:
    starts = {
        plan(GOOD.replace("seed = 7", f"seed = {s}"), arms=("subject", "reference")).rounds[0].arm
        for s in range(12)
    }
    assert starts == {"subject", "reference"}


def test_a_plan_survives_json() -> None:
    assert loads(dumps(plan()), Plan) == plan()


def test_the_estimate_follows_its_formula() -> None:
    text = """
    [matrix]
    name = "e"
    rounds = 2
    repeats = 3
    timeout_s = 50
    warmup = { min_repeats = 0, max_repeats = 1 }
    [[workload]]
    name = "aggregates"
    units = 10
    environments = ["threads"]
    """
    cell = plan(text).cells[0].cell_id
    # 2 rounds x (2.0 start + 0.1 opening + 5 turns x 1 s + 0.4)
    assert plan(text, seen_s={cell: 1.0}).estimate_s == pytest.approx(2 * 7.5)
    # never more than the block's limit
    assert plan(text, seen_s={cell: 100.0}).estimate_s == pytest.approx(2 * 52.5)
    unseen = plan(text, threads=2).estimate_s
    assert 5.0 < unseen < plan(text, threads=1).estimate_s
