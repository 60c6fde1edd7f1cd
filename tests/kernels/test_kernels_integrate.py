from __future__ import annotations

from fractions import Fraction
from math import floor, pi
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

BOTH = ("cython", "python")

KNOWN = {
    (100, 0.0): "0x1.921fb54422de0p+1",
    (1000, 0.25): "0x1.921fb54442d19p+1",
    (4096, 0.125): "0x1.921fb54442d19p+1",
}


@pytest.mark.parametrize(("n", "phase"), KNOWN)
def test_known_bits(kernels: ModuleType, implementation: str, n: int, phase: float) -> None:
    assert kernels.integrate(n, phase, implementation).hex() == KNOWN[n, phase]


@given(n=st.integers(100, 3000), phase=st.floats(-10, 10))
@settings(max_examples=60, deadline=None)
def test_result_is_pi_for_every_phase(kernels: ModuleType, n: int, phase: float) -> None:
    results = [kernels.integrate(n, phase, name) for name in BOTH]
    assert results[0].hex() == results[1].hex()
    assert abs(results[0] - pi) < 1e-9


@given(n=st.integers(64, 5000), phase=st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_error_bound_that_is_documented(kernels: ModuleType, n: int, phase: float) -> None:
    assert abs(kernels.integrate(n, phase) - pi) <= 7.0 / n**5 + 1e-14


@given(n=st.integers(1, 40), phase=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_any_finite_phase_gives_equal_bits(kernels: ModuleType, n: int, phase: float) -> None:
    results = [kernels.integrate(n, phase, name) for name in BOTH]
    assert results[0].hex() == results[1].hex()
    assert 0.0 <= results[0] < 8.0


@pytest.mark.parametrize("n", [1023, 1024, 1025, 2048, 5000])
def test_blocks_of_the_sum_have_no_seam(kernels: ModuleType, implementation: str, n: int) -> None:
    assert abs(kernels.integrate(n, 0.3, implementation) - pi) < 1e-13


def exact_rule(n: int, phase: float) -> Fraction:
    """The rule in exact arithmetic, straight from its definition."""
    total = Fraction(0)
    for i in range(n):
        x = (Fraction(2 * i + 1, 2) / n + Fraction(phase)) % 1
        w = x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4)
        slope = 630 * x**4 * (1 - x) ** 4
        total += 4 * slope / (1 + w**2)
    return total / n


@pytest.mark.parametrize("n", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("phase", [0.0, 0.25, 0.9999, -3.3, 1e-300])
def test_agrees_with_exact_arithmetic(
    kernels: ModuleType, implementation: str, n: int, phase: float
) -> None:
    exact = exact_rule(n, phase)
    assert kernels.integrate(n, phase, implementation) == pytest.approx(float(exact), rel=1e-13)


def test_whole_periods_do_not_matter(kernels: ModuleType, implementation: str) -> None:
    start = kernels.integrate(10, 0.375, implementation)
    for periods in (-(2**40), -1, 1, 7, 2**40):
        assert kernels.integrate(10, 0.375 + periods, implementation) == start


def test_tiny_negative_phase_is_phase_zero(kernels: ModuleType, implementation: str) -> None:
    assert -1e-30 - floor(-1e-30) == 1.0  # the rounding that has to be caught
    zero = kernels.integrate(11, 0.0, implementation)
    assert kernels.integrate(11, -1e-30, implementation) == zero


def test_many_points(kernels: ModuleType) -> None:
    assert abs(kernels.integrate(30_000_000, 0.123) - pi) < 1e-12
