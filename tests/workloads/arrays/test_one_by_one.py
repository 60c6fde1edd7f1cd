"""What is particular to single workloads on arrays."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.arrays import chunked_means, sliding_window, stencil
from daskperf_tasks.workloads.arrays.chunked_means import CHUNKED_MEANS, chunk_bytes, limits
from daskperf_tasks.workloads.arrays.fields import digest, field
from daskperf_tasks.workloads.arrays.rechunk import RECHUNK
from daskperf_tasks.workloads.arrays.sliding_window import SLIDING_WINDOW
from daskperf_tasks.workloads.arrays.stencil import STENCIL
from tests.workloads.patterns.environments import check, environment, facts, on_threads


def test_a_jacobi_step_in_plain_python() -> None:
    size, seed = 9, 3
    before = field((0, 0), (size, size), seed).tolist()

    def at(i: int, j: int) -> float:
        return before[i][j] if 0 <= i < size and 0 <= j < size else 0.0

    after = [
        [
            ((at(i - 1, j) + at(i + 1, j)) + (at(i, j - 1) + at(i, j + 1))) * 0.25
            for j in range(size)
        ]
        for i in range(size)
    ]
    assert stencil._reference(size, 1, seed) == digest(np.array(after))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 24), st.integers(2, 24), st.integers(1, 4), st.integers(0, 10**6))
def test_stencils_of_all_sizes(size: int, chunk: int, steps: int, seed: int) -> None:
    params = {"size": size, "chunk": chunk, "steps": steps}
    check(STENCIL, on_threads(STENCIL, params, seed), params, seed)


def test_a_stencil_without_its_neighbours_is_refused() -> None:
    params = {"size": 20, "chunk": 10, "steps": 2}
    plate = da.from_array(field((0, 0), (20, 20), 0), chunks=10)
    for _ in range(2):
        plate = plate.map_blocks(lambda b: stencil.jacobi_step(np.pad(b, 1))[1:-1, 1:-1])
    with pytest.raises(CorrectnessError):
        check(STENCIL, (digest(plate.compute(scheduler="sync")),), params)


@pytest.mark.parametrize("method", ["default", "tasks", "p2p"])
@pytest.mark.parametrize("graph", ["optimized", "low-level"])
def test_all_methods_of_rechunking_in_a_cluster(
    tmp_path_factory: pytest.TempPathFactory, cluster: Any, method: str, graph: str
) -> None:
    params = {"size": 100, "chunk": 9, "method": method, "graph": graph}
    check(RECHUNK, cluster(RECHUNK, params, 2), params, 2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with environment("cluster", Path(tmp_path_factory.mktemp("rechunk"))) as compute:
        yield compute


def test_rechunking_peer_to_peer_needs_a_cluster() -> None:
    with pytest.raises(InputError, match="rechunk: method 'p2p' needs a cluster"):
        RECHUNK.build({"method": "p2p"}, units=1, seed=0)


def test_rechunking_moves_every_chunk_into_every_other() -> None:
    found = facts(RECHUNK, {"size": 64, "chunk": 16, "method": "tasks", "graph": "low-level"})
    sources, splits, joins, digests, total = 4, 16, 4, 4, 2
    assert found.tasks >= sources + splits + joins + digests + total - 1
    assert found.arcs >= 3 * splits - joins


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_windows_of_all_sizes(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 300))
    window = data.draw(st.integers(1, length))
    params = {"length": length, "chunk": data.draw(st.integers(1, length)), "window": window}
    seed = data.draw(st.integers(0, 10**6))
    check(SLIDING_WINDOW, on_threads(SLIDING_WINDOW, params, seed), params, seed)


@pytest.mark.parametrize("window", [1, 2, 5, 8, 50])
def test_moving_means_and_maxima_in_plain_python(window: int) -> None:
    values = [float(int(v * 1024)) for v in field((0,), (50,), 6).tolist()]
    windows = [values[i : i + window] for i in range(50 - window + 1)]
    expected = tuple(
        digest(np.array(series), (0,))
        for series in ([sum(w) / window for w in windows], [max(w) for w in windows])
    )
    assert sliding_window._reference(50, window, 6) == expected


def test_the_workshops_column_means_are_those_of_dask() -> None:
    params = {"size": 60, "chunk": 25}
    x = da.random.default_rng(8).normal(size=(60, 60), chunks=(25, 25))
    (means,) = on_threads(CHUNKED_MEANS, params, 8)
    assert (means == (x * x).mean(axis=0).compute(scheduler="sync")).all()
    columns, expected = chunked_means._reference(60, 25, 8)
    assert (columns.start, columns.stop) == (25, 50)
    np.testing.assert_allclose(
        expected, (x.compute(scheduler="sync") ** 2).mean(axis=0)[columns], rtol=1e-13
    )


def test_column_means_that_are_off_are_refused() -> None:
    params = {"size": 400, "chunk": 100}
    (means,) = on_threads(CHUNKED_MEANS, params)
    for column, factor, says in (
        (250, 1 + 1e-11, "differs from NumPy's"),
        (0, 2.5, "so far from 1"),
        (399, 0.1, "so far from 1"),
        (7, np.nan, "so far from 1"),
    ):
        wrong = means.copy()
        wrong[column] *= factor
        with pytest.raises(CorrectnessError, match=says):
            check(CHUNKED_MEANS, (wrong,), params)
    for wrong in (means[:-1], means.reshape(20, 20), means.astype(np.float32)):
        with pytest.raises(CorrectnessError, match="another shape"):
            check(CHUNKED_MEANS, (wrong,), params)


def test_limits_narrow_with_the_size_and_hold_by_simulation() -> None:
    low, high, _ = limits(50)
    assert low < limits(5_000)[0] < 1 < limits(5_000)[1] < high
    means = np.random.default_rng(0).chisquare(50, size=100_000) / 50
    assert low < means.min()
    assert means.max() < high


def test_facts_of_the_exercise() -> None:
    assert chunk_bytes({"size": 100, "chunk": 1_000}) == 8 * 100**2
    built = CHUNKED_MEANS.build({"size": 800, "chunk": 100, "graph": "low-level"}, units=1, seed=0)
    assert built.collections[0].npartitions == 8
    found = facts(CHUNKED_MEANS, {"size": 800, "chunk": 100, "graph": "low-level"})
    assert found.tasks > 3 * 64


def test_the_reference_of_large_chunks_is_made_in_pieces() -> None:
    chunked_means._reference.cache_clear()
    tracemalloc.start()
    try:
        chunked_means._reference(2_000, 2_000, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2_000**2
