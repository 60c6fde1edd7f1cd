from __future__ import annotations

from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest


@pytest.mark.parametrize("n", [0, -1, 10_000_000_001, 2**70])
def test_points_outside_the_range(kernels: ModuleType, implementation: str, n: int) -> None:
    with pytest.raises(
        ValueError, match=rf"^n: expected an integer from 1 to 10000000000, found {n}$"
    ):
        kernels.integrate(n, 0.0, implementation)


@pytest.mark.parametrize("n", [0, -1, 65_537, 2**70])
def test_monomers_outside_the_range(kernels: ModuleType, implementation: str, n: int) -> None:
    with pytest.raises(ValueError, match=rf"^n: expected an integer from 1 to 65536, found {n}$"):
        kernels.aggregate(n, 0, implementation)


@pytest.mark.parametrize("value", [1.0, "3", None, True, np.bool_(True), np.array([1, 2]), 1j])
def test_what_is_no_integer(kernels: ModuleType, implementation: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"^n: expected an integer, found "):
        kernels.integrate(value, 0.0, implementation)
    with pytest.raises(ValueError, match=r"^n: expected an integer, found "):
        kernels.aggregate(value, 0, implementation)
    with pytest.raises(ValueError, match=r"^seed: expected an integer, found "):
        kernels.aggregate(3, value, implementation)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seed_outside_the_range(kernels: ModuleType, implementation: str, seed: int) -> None:
    with pytest.raises(
        ValueError, match=rf"^seed: expected an integer from 0 to {2**64 - 1}, found {seed}$"
    ):
        kernels.aggregate(3, seed, implementation)


@pytest.mark.parametrize("phase", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_phase_that_is_not_finite(kernels: ModuleType, implementation: str, phase: float) -> None:
    with pytest.raises(ValueError, match=r"^phase: expected a finite number, found "):
        kernels.integrate(10, phase, implementation)


@pytest.mark.parametrize("phase", ["0.5", None, True, 1j, [0.5]])
def test_phase_that_is_no_number(kernels: ModuleType, implementation: str, phase: object) -> None:
    with pytest.raises(ValueError, match=r"^phase: expected a real number, found .* of type "):
        kernels.integrate(10, phase, implementation)


def test_numbers_of_other_kinds_are_taken(kernels: ModuleType, implementation: str) -> None:
    plain = kernels.integrate(100, 0.5, implementation)
    for n, phase in [(np.int64(100), np.float32(0.5)), (np.uint8(100), Fraction(1, 2))]:
        assert kernels.integrate(n, phase, implementation) == plain
    expected = kernels.aggregate(5, 2**63, implementation)[0].tobytes()
    assert kernels.aggregate(np.int16(5), np.uint64(2**63), implementation)[0].tobytes() == expected


@pytest.mark.parametrize("name", ["fortran", "", None, "Cython", []])
def test_unknown_implementation(kernels: ModuleType, name: object) -> None:
    message = r"^implementation: expected 'cython' or 'python', found "
    with pytest.raises(ValueError, match=message):
        kernels.integrate(10, 0.0, name)
    with pytest.raises(ValueError, match=message):
        kernels.aggregate(10, 0, name)
