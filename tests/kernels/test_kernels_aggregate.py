from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

BOTH = ("cython", "python")
LARGEST_SEED = 2**64 - 1

#: sha256 of the positions' bytes (little endian), and the radius of gyration.
#: A change here is a new version of the workload.
KNOWN = {
    (64, 0): (
        "fa927991e2ee54e4f67c4406f30ecf845efa565d849cfd85f4b86d1152da337f",
        "0x1.9ddede7d26ca3p+1",
    ),
    (64, 1): (
        "37a289b1d675974ce83fe0080501a1f27c3c82e779521d7d0fad7b3989d5d67f",
        "0x1.9691acee22b34p+1",
    ),
    (64, 2): (
        "995a6f14f56472b4b87a714524ea69bb863dd9d9a21c0215b75928a8a8267500",
        "0x1.be9e6e6bad81dp+1",
    ),
    (64, 3): (
        "fee31a9b89192849aecf1e22e8bda6a860cf9de8b17940718bfe78ca69cede47",
        "0x1.9aa079f087d5bp+1",
    ),
    (256, 0): (
        "8bc2069a610d1f46a6c7a9a6966ac42c7ba5eac5ef8fb628947ce920bffdea75",
        "0x1.83121d4358091p+2",
    ),
    (256, 1): (
        "8fedf88ed463fa9eae86630a7a7411b621961a849181a12eb080f16ac5b285b8",
        "0x1.6b2b3f0b859b6p+2",
    ),
    (256, 2): (
        "8b634df8717f20e3289a333b3d74b6279ccdcd7a07cfcf0297bf059fdad4ae9c",
        "0x1.82f48c3da5ae2p+2",
    ),
    (256, 3): (
        "0207c174e21f44387db3b5feab523280baf297cef3d94a1b55e677fde838c42f",
        "0x1.700e8d3dc1274p+2",
    ),
}


def distances(positions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    apart = positions[:, None, :] - positions[None, :, :]
    squared: npt.NDArray[np.float64] = (apart * apart).sum(axis=-1)
    return np.sqrt(squared)


@pytest.mark.parametrize(("n", "seed"), KNOWN)
def test_known_bits(kernels: ModuleType, implementation: str, n: int, seed: int) -> None:
    positions, radius = kernels.aggregate(n, seed, implementation)
    digest = hashlib.sha256(positions.astype("<f8").tobytes()).hexdigest()
    assert (digest, radius.hex()) == KNOWN[n, seed]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 17, 100])
@pytest.mark.parametrize("seed", [0, 1, 12345, 2**63, LARGEST_SEED])
def test_both_implementations_give_the_same_bits(kernels: ModuleType, n: int, seed: int) -> None:
    (compiled, radius), (plain, plain_radius) = (kernels.aggregate(n, seed, i) for i in BOTH)
    assert compiled.tobytes() == plain.tobytes()
    assert radius.hex() == plain_radius.hex()


@given(seed=st.integers(0, LARGEST_SEED), n=st.integers(1, 150))
@settings(max_examples=40, deadline=None)
def test_any_seed_gives_the_same_bits(kernels: ModuleType, seed: int, n: int) -> None:
    (compiled, radius), (plain, plain_radius) = (kernels.aggregate(n, seed, i) for i in BOTH)
    assert compiled.tobytes() == plain.tobytes()
    assert radius.hex() == plain_radius.hex()


def test_what_is_returned(kernels: ModuleType, implementation: str) -> None:
    positions, radius = kernels.aggregate(33, 5, implementation)
    assert type(positions) is np.ndarray
    assert type(radius) is float
    assert positions.shape == (33, 3)
    assert positions.dtype == np.float64
    assert positions.flags.c_contiguous
    assert positions.flags.owndata
    assert not positions[0].any()


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (60, 1), (150, 2), (150, LARGEST_SEED)])
def test_each_monomer_touches_an_earlier_one_and_overlaps_none(
    kernels: ModuleType, implementation: str, n: int, seed: int
) -> None:
    apart = distances(kernels.aggregate(n, seed, implementation)[0])
    for i in range(1, n):
        assert abs(apart[i, :i].min() - 1.0) < 1e-9


@given(seed=st.integers(0, LARGEST_SEED), n=st.integers(2, 600))
@settings(max_examples=40, deadline=None)
def test_contact_holds_for_any_seed_and_size(kernels: ModuleType, seed: int, n: int) -> None:
    apart = distances(kernels.aggregate(n, seed)[0])
    nearest_earlier = [apart[i, :i].min() for i in range(1, n)]
    assert max(abs(d - 1.0) for d in nearest_earlier) < 1e-9


def test_contact_holds_for_the_largest_cluster(kernels: ModuleType) -> None:
    from scipy.spatial import cKDTree

    positions, _ = kernels.aggregate(kernels.MAX_MONOMERS, 11)
    pairs = cKDTree(positions).query_pairs(1.0 + 1e-9, output_type="ndarray")
    apart = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    assert apart.min() >= 1.0 - 1e-9
    assert set(pairs.max(axis=1).tolist()) == set(range(1, kernels.MAX_MONOMERS))


def test_a_longer_run_continues_a_shorter_one(kernels: ModuleType, implementation: str) -> None:
    short = kernels.aggregate(40, 9, implementation)[0]
    long = kernels.aggregate(80, 9, implementation)[0]
    assert long[:40].tobytes() == short.tobytes()


def test_radius_of_gyration(kernels: ModuleType, implementation: str) -> None:
    positions, radius = kernels.aggregate(90, 3, implementation)
    # The mean square distance of all pairs is twice the square of the radius.
    assert radius**2 == pytest.approx((distances(positions) ** 2).mean() / 2.0, rel=1e-12)
    assert kernels.aggregate(1, 3, implementation)[1] == 0.0
    assert kernels.aggregate(2, 3, implementation)[1] == pytest.approx(0.5, abs=1e-15)


def test_other_seeds_give_other_clusters(kernels: ModuleType) -> None:
    seen = {kernels.aggregate(20, seed)[0].tobytes() for seed in range(200)}
    assert len(seen) == 200


def test_growth_has_no_preferred_direction(kernels: ModuleType) -> None:
    second = np.array([kernels.aggregate(2, seed)[0][1] for seed in range(4000)])
    # Uniform over the sphere: mean 0, covariance 1/3; five standard errors.
    assert np.abs(second.mean(axis=0)).max() < 5 * (1 / 3 / 4000) ** 0.5
    assert np.abs(np.cov(second.T) - np.eye(3) / 3).max() < 5 * (4 / 45 / 4000) ** 0.5


def gyration_of_beginnings(
    positions: npt.NDArray[np.float64], sizes: list[int]
) -> npt.NDArray[np.float64]:
    """The radii of gyration of the first monomers: a cluster holds all smaller ones."""
    sums = positions.cumsum(axis=0)
    squares = (positions**2).sum(axis=1).cumsum()
    means = np.array([squares[n - 1] / n - ((sums[n - 1] / n) ** 2).sum() for n in sizes])
    radii: npt.NDArray[np.float64] = np.sqrt(means)
    return radii


def fractal_dimension(kernels: ModuleType, sizes: list[int], seeds: range) -> tuple[float, float]:
    """D of n ~ radius^D and its standard error: one slope a cluster, clusters independent."""
    slopes = np.array(
        [
            np.polyfit(
                np.log(sizes),
                np.log(gyration_of_beginnings(kernels.aggregate(sizes[-1], seed)[0], sizes)),
                1,
            )[0]
            for seed in seeds
        ]
    )
    error = slopes.std(ddof=1) / len(slopes) ** 0.5
    return float(1.0 / slopes.mean()), float(error / slopes.mean() ** 2)


@pytest.mark.parametrize(
    ("smallest", "largest", "clusters"),
    [(2**8, 2**12, 40), pytest.param(2**11, 2**16, 60, marks=pytest.mark.deep)],
)
def test_fractal_dimension_is_that_of_diffusion_limited_aggregation(
    kernels: ModuleType, smallest: int, largest: int, clusters: int
) -> None:
    """Published: 2.50 +- 0.01.

    Tolman and Meakin, Physical Review A 40, 428, 1989, off-lattice in three
    dimensions; the mean field gives (d^2 + 1) / (d + 1) = 2.5 (Muthukumar, Physical
    Review Letters 50, 839, 1983). Ballistic growth would give 3, cluster-cluster
    growth less than 2.
    """
    sizes = [2**k for k in range(17) if smallest <= 2**k <= largest]
    dimension, error = fractal_dimension(kernels, sizes, range(clusters))
    assert error < 0.02
    assert abs(dimension - 2.50) < 3.0 * (error**2 + 0.01**2) ** 0.5


def test_a_walker_comes_back_with_the_density_of_the_poisson_kernel(kernels: ModuleType) -> None:
    model = kernels.aggregate_python
    random = model.Xoshiro(1)
    start = np.array([1.0, -2.0, 2.0])  # distance 3 from the middle of a sphere of radius 2
    landed = np.array([model._return_to_sphere(random, *start, 3.0, 2.0) for _ in range(20_000)])
    assert np.abs(np.linalg.norm(landed, axis=1) - 2.0).max() < 1e-12
    # For a Brownian walker that does come back, the mean is R^2/r along the start.
    expected = start / 3.0 * (2.0**2 / 3.0)
    standard_error = landed.std(axis=0) / 20_000**0.5
    assert (np.abs(landed.mean(axis=0) - expected) < 5 * standard_error).all()


def test_threads_do_not_disturb_each_other(kernels: ModuleType) -> None:
    alone = [kernels.aggregate(120, seed)[0].tobytes() for seed in range(24)]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda seed: kernels.aggregate(120, seed)[0].tobytes(), range(24))
        assert list(together) == alone


def test_random_numbers_are_those_of_the_published_generators(kernels: ModuleType) -> None:
    model = kernels.random_python
    counter, words = 1234567, []
    for _ in range(5):
        counter, word = model.splitmix(counter)
        words.append(word)
    assert words == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    random = model.Xoshiro(0)
    random.state = (1, 2, 3, 4)
    assert [random.next_uint64() for _ in range(10)] == [
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
        16172922978634559625,
        8476171486693032832,
        10595114339597558777,
        2904607092377533576,
    ]
