"""What a walker knows of its surroundings, against the slow twins that look at every centre."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.slow_surroundings import AllCentres, distances_from, watched

SEEDS = st.integers(0, 2**64 - 1)


@given(seed=SEEDS, n=st.integers(1, 80))
@settings(max_examples=25, deadline=None)
def test_the_same_cluster_without_a_grid(kernels: ModuleType, seed: int, n: int) -> None:
    slow, slow_radius = kernels.aggregate_python.aggregate(n, seed, AllCentres)
    fast, radius = kernels.aggregate(n, seed)
    assert slow.tobytes() == fast.tobytes()
    assert slow_radius.hex() == radius.hex()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_larger_cluster_without_a_grid(kernels: ModuleType, seed: int) -> None:
    slow, _ = kernels.aggregate_python.aggregate(500, seed, AllCentres)
    assert slow.tobytes() == kernels.aggregate(500, seed)[0].tobytes()


@given(seed=SEEDS, n=st.integers(2, 150))
@settings(max_examples=15, deadline=None)
def test_no_step_enters_a_monomer_or_misses_one(kernels: ModuleType, seed: int, n: int) -> None:
    seen, _ = kernels.aggregate_python.aggregate(n, seed, watched(kernels))
    assert seen.tobytes() == kernels.aggregate(n, seed)[0].tobytes()


@given(seed=SEEDS, n=st.integers(1, 1500), more=st.sampled_from([0, 32, 96]))
@settings(max_examples=20, deadline=None)
def test_bounds_and_contacts_are_those_of_all_centres(
    kernels: ModuleType, seed: int, n: int, more: int
) -> None:
    model = kernels.aggregate_python
    centres = [tuple(row) for row in kernels.aggregate(n, seed)[0].tolist()]
    half = 64 + more
    fast, slow = kernels.surroundings_python.Surroundings(half), AllCentres(half)
    for centre in centres:
        fast.add(*centre)
        slow.add(*centre)
    random = np.random.default_rng(seed)
    for _ in range(60):
        origin = np.array(centres[random.integers(n)])
        ways = random.normal(size=(2, 3))
        out, u = (ways / np.linalg.norm(ways, axis=1)[:, None]).tolist()
        point = origin + np.array(out) * random.choice([1.0, 1.1, 1.9, 3.0, 9.0, 25.0])
        x, y, z = point.tolist()
        bound, listed = fast.look(x, y, z)
        assert (bound, listed is None) == (lambda b, s: (b, s is None))(*slow.look(x, y, z))
        nearest = distances_from(centres, (x, y, z)).min()
        if listed is None:
            assert nearest >= bound - 1e-9
            continue
        assert min(nearest, bound) == pytest.approx(
            min(model._nearest_squared(listed, x, y, z) ** 0.5, bound), abs=1e-12
        )
        ways = [model._first_contact(some, x, y, z, *u) for some in (listed, centres)]
        assert ways[0] == ways[1] or min(ways) > model.STEP


def test_the_size_of_the_grid_changes_no_bit(kernels: ModuleType) -> None:
    centres = kernels.aggregate(800, 4)[0].tolist()
    grids = [kernels.surroundings_python.Surroundings(half) for half in (32, 64, 160)]
    for grid in grids:
        for centre in centres:
            grid.add(*centre)
    for point in np.random.default_rng(0).uniform(-31, 31, size=(3000, 3)).tolist():
        answers = [grid.look(*point) for grid in grids]
        assert answers[0] == answers[1] == answers[2]


def test_stencil_holds_squared_distances_of_cubes(kernels: ModuleType) -> None:
    stencil = kernels.surroundings_python.stencil()
    assert stencil.shape == (15, 15, 16)
    assert stencil.dtype == np.uint8
    assert (stencil[:, :, 15] == 50).all()
    for place in np.ndindex(15, 15, 15):
        # The nearest corners of two unit cubes whose corners differ by ``apart``.
        apart = [abs(p - 7) for p in place]
        squared = sum(max(a - 1, 0) ** 2 for a in apart)
        assert stencil[place] == (0 if not any(apart) else min(squared + 1, 50))


def test_grids_end_somewhere(kernels: ModuleType) -> None:
    module = kernels.surroundings_python
    halves = [32]
    with pytest.raises(MemoryError, match="radius 1024"):
        while True:
            halves.append(module.larger(halves[-1]))
    assert halves[-1] == module.LARGEST
    assert all(half % 32 == 0 for half in halves)


def test_a_cluster_that_outgrows_its_grid_keeps_its_bits(kernels: ModuleType) -> None:
    plain, _ = kernels.aggregate(3000, 0, "python")
    assert np.linalg.norm(plain, axis=1).max() > 29.0  # the first grid ends there
    assert plain.tobytes() == kernels.aggregate(3000, 0)[0].tobytes()
    assert plain[:2000].tobytes() == kernels.aggregate(2000, 0)[0].tobytes()
