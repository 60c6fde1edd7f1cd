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
        "17dd1aa33bc3e34fc62c443326a6f97e8a5aae3d4a0a7e32e4daaae999fc9886",
        "0x1.b5d5ef5988aa1p+1",
    ),
    (64, 1): (
        "54d9fa752bfdba5465ccb001c14fafd13170594068a8bef19b6c15cbcff58f5f",
        "0x1.f0196ce236d3ep+1",
    ),
    (64, 2): (
        "9cc176f8cc6b6e5ada065802269ba03d836049cc44313d682a9f8c1b4f407d40",
        "0x1.aea614a1f90c9p+1",
    ),
    (64, 3): (
        "e973e4a2fb8ae710d0d2b198b5673c83196cb055f62d744f3d0a130d431a3d3d",
        "0x1.8bd0e1d9e457ap+1",
    ),
    (256, 0): (
        "153e3105fedded69957ae82b2b8f31137963005493d53c6c5dec55b8a5c8b440",
        "0x1.7e19ab7fc06e1p+2",
    ),
    (256, 1): (
        "c14f4bfcad8eea3bdd3876f2dd64557772100a8f78a950effc74bf2bf333757b",
        "0x1.a2aaf8e8fd90dp+2",
    ),
    (256, 2): (
        "8ba9e4abd6fbad98633de6784c245ef7ada1be0fe039d041cc1dcd2514d9ecea",
        "0x1.74c3f233d20c5p+2",
    ),
    (256, 3): (
        "41a4bec5f8944c1f6091066b1a9dd05a4f5127d840f71cd4b848ba67f171c5bc",
        "0x1.6fa8fa918c236p+2",
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


@given(seed=st.integers(0, LARGEST_SEED), n=st.integers(1, 40))
@settings(max_examples=50, deadline=None)
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


@given(seed=st.integers(0, LARGEST_SEED))
@settings(max_examples=40, deadline=None)
def test_contact_holds_for_any_seed(kernels: ModuleType, seed: int) -> None:
    apart = distances(kernels.aggregate(200, seed)[0])
    nearest_earlier = [apart[i, :i].min() for i in range(1, 200)]
    assert max(abs(d - 1.0) for d in nearest_earlier) < 1e-9


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


def test_fractal_dimension_is_that_of_diffusion_limited_aggregation(kernels: ModuleType) -> None:
    # n grows as radius^D with D near 2.5 in three dimensions (Tolman and Meakin
    # 1989); ballistic growth would give 3, cluster-cluster growth less than 2.
    sizes = np.array([64, 128, 256, 512])
    mean_logs = [
        np.mean([np.log(kernels.aggregate(int(n), seed)[1]) for seed in range(60)]) for n in sizes
    ]
    assert 2.35 < np.polyfit(mean_logs, np.log(sizes), 1)[0] < 2.65


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
