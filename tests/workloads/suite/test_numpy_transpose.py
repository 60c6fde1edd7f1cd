from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.suite.hashes import words, words_at
from daskperf_tasks.workloads.suite.numpy_transpose import NUMPY, random_block
from tests.workloads.suite.frames_and_texts import check, compute, shape

FORMS = ["optimized", "low-level"]


def by_numpy(size: int, seed: int) -> float:
    """The same question to one array."""
    x = random_block(seed, (0, size), (0, size))
    y = x + x.T
    return float(y[::2, size // 2 :].mean(axis=1).sum())


def test_it_is_a_workload() -> None:
    assert isinstance(NUMPY, Workload)
    assert NUMPY.own_units({}) == 2000**2
    assert NUMPY.unit_cost_s({}) > 0


@pytest.mark.parametrize("graph", FORMS)
@pytest.mark.parametrize("seed", [0, 1, 10**15 - 1])
@pytest.mark.parametrize(("size", "p"), [(2, 1), (3, 1), (20, 10), (101, 7), (300, 4)])
def test_both_forms_give_what_numpy_gives(graph: str, seed: int, size: int, p: int) -> None:
    params = {"size": size, "p": p, "graph": graph}
    results = compute(NUMPY, params, seed)
    assert results[0] == pytest.approx(by_numpy(size, seed), rel=1e-12)
    assert check(NUMPY, results, params, seed).right_units == size * size


def test_a_wrong_sum_is_refused() -> None:
    params = {"size": 100, "p": 5}
    (right,) = compute(NUMPY, params, 3)
    check(NUMPY, (right,), params, 3)
    for wrong in ((right * (1 + 1e-9),), (math.nan,), (), (right, right), (None,), ("1",)):
        with pytest.raises(CorrectnessError, match="sum of the means is wrong"):
            check(NUMPY, wrong, params, 3)
    with pytest.raises(CorrectnessError):
        check(NUMPY, (right,), params, 4)


def test_blocks_are_parts_of_one_matrix() -> None:
    whole = random_block(8, (0, 60), (0, 60))
    assert (random_block(8, (7, 31), (20, 60)) == whole[7:31, 20:]).all()
    assert ((whole >= 0) & (whole < 1)).all()
    assert len(np.unique(whole)) == whole.size
    assert not np.allclose(whole, whole.T)


def test_elements_are_uniform() -> None:
    counts = np.bincount((random_block(1, (0, 1000), (0, 1000)) * 10).astype(int).ravel())
    # Rows share their draws: the spread is that of 1,000 draws, not of a million.
    assert counts == pytest.approx(np.full(10, 1e5), rel=0.1)


def test_words_depend_on_seed_stream_and_index() -> None:
    drawn = [words(seed, stream, 0, 1000) for seed in (0, 1, 10**15 - 1) for stream in (0, 1)]
    assert len(np.unique(np.concatenate(drawn))) == 6000
    index = np.array([[5, 0], [999, 7]], dtype=np.uint64)
    assert (words_at(0, 0, index) == drawn[0][[[5, 0], [999, 7]]]).all()
    bits = np.unpackbits(drawn[0].view(np.uint8)).reshape(1000, 64).mean(axis=0)
    assert bits == pytest.approx(np.full(64, 0.5), abs=0.08)


def test_words_are_splitmix64() -> None:
    """Word i of a stream is what the generator gives whose state is the stream's start."""
    mask = 2**64 - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    state = mix((mix((11 + golden) & mask) + 2) & mask)
    expected = [mix((state + (i + 1) * golden) & mask) for i in range(5)]
    assert words(11, 2, 0, 5).tolist() == expected


@pytest.mark.parametrize(
    ("p", "paper", "optimized", "low_level"),
    [(10, 209, (144, 163, 5), (319, 343, 9)), (50, 4_892, (3567, 4166, 7), (7443, 8067, 11))],
)
def test_the_graphs_beside_the_paper_s(
    p: int, paper: int, optimized: tuple[int, int, int], low_level: tuple[int, int, int]
) -> None:
    params = {"size": 50_000, "p": p}
    assert shape(NUMPY, params) == optimized
    assert shape(NUMPY, params | {"graph": "low-level"}) == low_level
    assert paper - optimized[0] == (p * p + 3 * p) // 2


def test_a_block_is_drawn_once() -> None:
    built = NUMPY.build({"size": 40, "p": 4}, units=1, seed=0)
    drawn = [
        key
        for key in built.collections[0].dask.to_dict()
        if isinstance(key, tuple) and str(key[0]).startswith("random-")
    ]
    assert len(drawn) == 16


def test_blocks_of_less_than_two_rows_are_refused() -> None:
    for ask in (NUMPY.own_units, lambda params: NUMPY.build(params, units=1, seed=0)):
        with pytest.raises(InputError, match="less than two rows"):
            ask({"size": 19, "p": 10})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("size", 1), ("size", 10**6), ("size", 2.5), ("p", 0), ("p", 401), ("graph", "raw")],
)
def test_bad_parameters_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"below|above|type|none of"):
        NUMPY.params[name].check(wrong)
