from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.workloads.patterns.dependences import (
    PATTERNS,
    dependences,
    fft_distance,
    width_at,
)

widths = st.integers(1, 70)
seeds = st.integers(0, 10**15 - 1)


def reach(pattern: str, width: int, steps: int, seed: int = 0) -> list[set[int]]:
    """Columns of step 0 that each column depends on after so many steps."""
    reached = [{c} for c in range(width_at(pattern, width, 0))]
    for step in range(1, steps + 1):
        reached = [
            set().union(*(reached[d] for d in dependences(pattern, width, step, c, seed)))
            for c in range(width_at(pattern, width, step))
        ]
    return reached


@settings(deadline=None)
@given(st.sampled_from(PATTERNS), widths, st.integers(0, 40), seeds)
def test_dependences_exist_in_the_step_before_in_rising_order(
    pattern: str, width: int, step: int, seed: int
) -> None:
    for column in range(width_at(pattern, width, step)):
        found = dependences(pattern, width, step, column, seed)
        assert found == dependences(pattern, width, step, column, seed)
        assert list(found) == sorted(set(found))
        if step == 0 or pattern == "trivial":
            assert found == ()
        else:
            assert all(0 <= c < width_at(pattern, width, step - 1) for c in found)
            assert found


@settings(deadline=None)
@given(widths)
def test_after_all_stages_of_fft_every_output_depends_on_every_input(width: int) -> None:
    stages = math.ceil(math.log2(width))
    assert reach("fft", width, stages) == [set(range(width))] * width
    if width > 2:
        assert reach("fft", width, stages - 1) != [set(range(width))] * width


@settings(deadline=None)
@given(widths, st.integers(1, 100))
def test_distances_of_fft_double_and_start_again(width: int, step: int) -> None:
    assert fft_distance(width, 1) == 1
    assert fft_distance(width, step + 1) in (2 * fft_distance(width, step), 1)
    assert fft_distance(width, step) < max(width, 2)


@settings(deadline=None)
@given(widths, st.integers(0, 80))
def test_a_stencil_reaches_one_column_further_each_step_and_ends_at_the_rim(
    width: int, steps: int
) -> None:
    assert reach("stencil", width, steps) == [
        set(range(max(0, c - steps), min(width, c + steps + 1))) for c in range(width)
    ]


def test_a_stencil_at_the_rim() -> None:
    assert [dependences("stencil", 3, 1, c, 0) for c in range(3)] == [(0, 1), (0, 1, 2), (1, 2)]
    assert dependences("stencil", 1, 1, 0, 0) == (0,)


@settings(deadline=None)
@given(widths)
def test_a_tree_fans_out_from_one_root_by_two(width: int) -> None:
    depth = math.ceil(math.log2(width))
    assert [width_at("tree", width, t) for t in (0, depth, depth + 1)] == [1, width, width]
    for step in range(1, depth + 3):
        readers = [
            dependences("tree", width, step, c, 0) for c in range(width_at("tree", width, step))
        ]
        assert all(len(r) == 1 for r in readers)
        assert all(readers.count(r) <= 2 for r in readers)
    assert reach("tree", width, depth + 2) == [{0}] * width


@settings(deadline=None)
@given(st.integers(5, 70), st.integers(1, 40), seeds)
def test_random_draws_from_the_neighbourhood(width: int, step: int, seed: int) -> None:
    for column in range(width):
        found = dependences("random", width, step, column, seed)
        assert column in found
        assert all(abs(c - column) <= 2 for c in found)


def test_random_depends_on_seed_and_step_and_has_three_inputs_on_average() -> None:
    width = 2_000

    def graph(step: int, seed: int) -> list[tuple[int, ...]]:
        return [dependences("random", width, step, c, seed) for c in range(width)]

    assert graph(1, 0) != graph(1, 1)
    assert graph(1, 0) != graph(2, 0)
    mean = sum(map(len, graph(1, 0))) / width
    assert abs(mean - 3) < 6 / math.sqrt(width)


def test_unknown_patterns_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown dependence pattern 'ring'"):
        dependences("ring", 4, 1, 0, 0)
