from __future__ import annotations

import math
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.graphs import materialized
from daskperf_tasks.workloads.patterns.dependences import PATTERNS, dependences
from daskperf_tasks.workloads.patterns.kernels import KERNELS, iterations
from daskperf_tasks.workloads.patterns.pattern import PATTERN, useful_iterations
from daskperf_tasks.workloads.patterns.tasks import Output, Rule, run_task
from tests.workloads.patterns.environments import Compute, check, facts, on_threads

RULE = Rule(
    pattern="stencil", width=3, kernel="compute", grain=2, payload_bytes=32, scratch_mib=1, seed=0
)


def small(pattern: str, kernel: str = "compute", **more: Any) -> dict[str, Any]:
    return {"pattern": pattern, "kernel": kernel, "width": 6, "steps": 7, "scratch_mib": 1} | more


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_pattern_with_every_kernel_everywhere(
    compute: Compute, pattern: str, kernel: str
) -> None:
    params = small(pattern, kernel, payload_bytes=48)
    assert "sequential evaluation" in check(PATTERN, compute(PATTERN, params, 5), params, 5)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(PATTERNS),
    st.sampled_from(KERNELS),
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(0, 10**15 - 1),
    st.sampled_from([0, 16, 64]),
)
def test_all_shapes_and_seeds(
    pattern: str, kernel: str, width: int, steps: int, seed: int, payload_bytes: int
) -> None:
    params = small(pattern, kernel, width=width, steps=steps, payload_bytes=payload_bytes)
    results = on_threads(PATTERN, params, seed)
    check(PATTERN, results, params, seed)
    found = facts(PATTERN, params, seed)
    assert found.form == "low-level"
    assert found.tasks == PATTERN.own_units(params) + 1
    assert found.longest_path == (1 if pattern == "trivial" else steps)
    assert found.arcs == arcs(pattern, width, steps, seed)


def arcs(pattern: str, w: int, s: int, seed: int) -> int:
    """Closed forms: arcs between steps, and one from each unread output to the collecting task."""
    if pattern == "trivial":
        return w * s
    if pattern == "stencil":
        return (s - 1) * (3 * w - 2) + w
    if pattern == "fft":
        stages = max(1, math.ceil(math.log2(w)))
        distances = [2 ** ((t - 1) % stages) for t in range(1, s)]
        return sum(w + 2 * max(0, w - d) for d in distances) + w
    if pattern == "tree":
        sizes = [min(w, 2**t) for t in range(s)]
        unread = [sizes[t] - math.ceil(sizes[t + 1] / 2) for t in range(s - 1)]
        return sum(sizes) - 1 + sum(unread) + sizes[-1]
    drawn = [dependences("random", w, t, c, seed) for t in range(1, s) for c in range(w)]
    return sum(map(len, drawn)) + w


@pytest.mark.parametrize("pattern", PATTERNS)
def test_equal_arguments_give_equal_results_and_others_do_not(pattern: str) -> None:
    results = on_threads(PATTERN, small(pattern, "imbalance", grain=20), 1)
    assert results == on_threads(PATTERN, small(pattern, "imbalance", grain=20), 1)
    assert results != on_threads(PATTERN, small(pattern, "imbalance", grain=20), 2)
    assert results != on_threads(PATTERN, small(pattern, "imbalance", grain=21), 1)
    assert results != on_threads(PATTERN, small(pattern, "compute", grain=20), 1)


def test_wrong_results_are_refused() -> None:
    params = small("fft")
    ((count, checksum),) = on_threads(PATTERN, params)
    check(PATTERN, ([count, checksum],), params)
    wrong: list[Any] = [
        ((count, checksum + 1),),
        ((count - 1, checksum),),
        ((count, checksum), (count, checksum)),
        (),
        (None,),
        ("x",),
    ]
    for results in wrong:
        with pytest.raises(CorrectnessError, match="checksum differs"):
            check(PATTERN, results, params)
    for other in ({"grain": 2}, {"steps": 8}, {"pattern": "stencil"}, {"kernel": "memory"}):
        with pytest.raises(CorrectnessError, match="checksum differs"):
            check(PATTERN, ((count, checksum),), params | other)
    with pytest.raises(CorrectnessError, match="another number of tasks"):
        PATTERN.check(((count, checksum),), params, units=count, seed=0)


def outputs(*tags: tuple[int, int], payload_bytes: int = 32) -> tuple[Output, ...]:
    pairs = payload_bytes // 16
    return tuple(Output(s, c, 1, np.array([(s, c)] * pairs, dtype=np.int64)) for s, c in tags)


def test_a_task_takes_nothing_but_the_outputs_of_its_dependences() -> None:
    assert run_task(RULE, 1, 0, True, *outputs((0, 0), (0, 1))).column == 0
    for wrong in (
        outputs((0, 0)),
        outputs((0, 1), (0, 0)),
        outputs((0, 0), (0, 2)),
        outputs((1, 0), (1, 1)),
        outputs((0, 0), (0, 1), (0, 2)),
    ):
        with pytest.raises(CorrectnessError, match="other inputs"):
            run_task(RULE, 1, 0, True, *wrong)


def test_a_task_verifies_every_byte_of_its_inputs() -> None:
    good, other = outputs((0, 0), (0, 1))
    changed = np.array([(0, 1), (0, 2)], dtype=np.int64)
    for payload in (changed, changed[:, ::-1].copy(), other.payload[:1], None):
        with pytest.raises(CorrectnessError, match="payload"):
            run_task(RULE, 1, 0, True, good, other._replace(payload=payload))


def test_only_what_is_read_carries_a_payload() -> None:
    read = run_task(RULE, 0, 2, True)
    assert read.payload.tolist() == [[0, 2], [0, 2]]
    assert run_task(RULE, 0, 2, False).payload is None
    assert run_task(RULE._replace(payload_bytes=0), 0, 2, True).payload is None


def test_useful_iterations_are_those_of_all_tasks() -> None:
    assert useful_iterations({"width": 4, "steps": 5, "grain": 3}) == 60
    assert useful_iterations({"pattern": "tree", "width": 4, "steps": 4, "grain": 3}) == 33
    assert useful_iterations({"kernel": "empty", "width": 4, "steps": 5}) == 0
    shape = {"kernel": "imbalance", "width": 4, "steps": 5, "grain": 10}
    every = [iterations("imbalance", 10, 2, s, c) for s in range(5) for c in range(4)]
    assert useful_iterations(shape, seed=2) == sum(every)
    assert useful_iterations(shape, seed=3) != sum(every)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"kernel": "empty", "grain": 2}, "grain 0 or 1"),
        ({"kernel": "compute", "grain": 0}, "a grain of at least 1"),
        ({"payload_bytes": 20}, "a multiple of 16"),
        ({"width": 100_000, "steps": 11}, "at most 1,000,000"),
    ],
)
def test_parameters_that_do_not_fit_together(params: dict[str, Any], says: str) -> None:
    for refused in (PATTERN.own_units, useful_iterations):
        with pytest.raises(InputError, match="do not fit together") as caught:
            refused(params)
        assert says in str(caught.value)
    with pytest.raises(InputError):
        PATTERN.build(params, units=1, seed=0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pattern", "ring"),
        ("kernel", "sleep"),
        ("width", 0),
        ("width", 2.5),
        ("steps", -1),
        ("grain", -1),
        ("grain", 10**9),
        ("payload_bytes", -16),
        ("scratch_mib", 0),
    ],
)
def test_parameters_out_of_their_limits(name: str, value: Any) -> None:
    with pytest.raises(ValueError):
        PATTERN.params[name].check(value)


def test_tasks_are_small_and_sent_by_reference() -> None:
    graph = materialized(PATTERN.build({}, units=800, seed=10**15 - 1))
    sizes = [len(cloudpickle.dumps(t)) for t in graph.values() if len(t.dependencies) < 4]
    assert max(sizes) < 900


def test_estimates_grow_with_the_grain() -> None:
    assert PATTERN.unit_cost_s({"grain": 100}) > PATTERN.unit_cost_s({"grain": 1}) > 0
