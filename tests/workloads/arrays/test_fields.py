from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.arrays.fields import (
    digest,
    digest_of,
    field,
    field_array,
)
from daskperf_tasks.workloads.compare import same_numbers, same_units
from daskperf_tasks.workloads.splitmix import mix, mixed


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_mixing_is_the_same_in_numpy_and_in_python(numbers: list[int]) -> None:
    assert mixed(np.array(numbers, dtype=np.uint64)).tolist() == [mix(n) for n in numbers]


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 30), st.integers(0, 10**15 - 1))
def test_a_field_is_the_same_in_all_chunks(rows: int, columns: int, chunk: int, seed: int) -> None:
    whole = field((0, 0), (rows, columns), seed)
    chunked = field_array((rows, columns), (chunk, chunk), seed)
    assert (chunked.compute(scheduler="sync") == whole).all()
    found = digest_of(chunked).compute(scheduler="sync")
    assert found.dtype == np.uint64
    assert int(found) == digest(whole)


def test_a_field_looks_even_and_depends_on_the_seed() -> None:
    x = field((0, 0), (300, 300), 0)
    assert 0 <= x.min() < x.max() < 1
    counts = np.histogram(x, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 9_000).max() < 6 * np.sqrt(9_000)
    assert abs(np.corrcoef(x[:, :-1].ravel(), x[:, 1:].ravel())[0, 1]) < 0.02
    assert len(np.unique(x)) == x.size
    assert not (x == field((0, 0), (300, 300), 1)).any()


def test_a_digest_notices_a_bit_and_an_exchange() -> None:
    x = field((0, 0), (20, 20), 0)
    changed, exchanged = x.copy(), x.copy()
    changed[3, 4] = np.nextafter(changed[3, 4], 1)
    exchanged[[2, 3]] = exchanged[[3, 2]]
    assert len({digest(x), digest(changed), digest(exchanged), digest(x.T)}) == 4


def test_comparing() -> None:
    same_numbers("x", [np.uint64(2**64 - 1), np.array(3)], [2**64 - 1, 3], "here")
    for wrong in ([1, 2, 3], [1], [], [1, 2.0], [1, None], [1, [2]], [1, "2"]):
        with pytest.raises(CorrectnessError, match="x: the result differs"):
            same_numbers("x", wrong, [1, 2], "here")
    with pytest.raises(CorrectnessError, match="another number of units"):
        same_units("x", 3, 4)
