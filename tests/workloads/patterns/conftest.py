from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workloads.patterns.environments import ENVIRONMENTS, Compute, environment


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def compute(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Compute]:
    with environment(request.param, tmp_path_factory.mktemp(request.param)) as opened:
        yield opened
