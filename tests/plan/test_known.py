"""What a workload says of itself is held to what a plan can use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from daskperf_tasks.errors import InputError
from daskperf_tasks.plan.known import own_units, unit_cost_s


class Says:
    """Answers whatever it was given."""

    name = "says"
    version = 1
    params: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, units: object = 1, cost: object = 1.0) -> None:
        self.units, self.cost = units, cost

    def own_units(self, params: Any) -> Any:
        return self.units

    def unit_cost_s(self, params: Any) -> Any:
        return self.cost


@pytest.mark.parametrize("units", [1, 10**18, np.int64(7)])
def test_units_that_can_be_planned(units: Any) -> None:
    counted = own_units(Says(units), {})
    assert counted == units
    assert type(counted) is int


@pytest.mark.parametrize("units", [0, -3, 10**30, 2.5, True, None, "4", math.nan])
def test_units_that_cannot(units: Any) -> None:
    with pytest.raises(InputError, match="own_units of workload 'says' counts no units"):
        own_units(Says(units), {})


@pytest.mark.parametrize("cost", [0, 1, 2.5e-6])
def test_costs_that_can_be_planned(cost: Any) -> None:
    assert unit_cost_s(Says(cost=cost), {}) == cost


@pytest.mark.parametrize("cost", [-1, math.nan, math.inf, None, "1", True])
def test_costs_that_cannot(cost: Any) -> None:
    with pytest.raises(InputError, match="unit_cost_s of workload 'says' is no time"):
        unit_cost_s(Says(cost=cost), {})
