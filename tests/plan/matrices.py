"""Texts and a registry for the tests of planning."""

from __future__ import annotations

from typing import Any

from daskperf_tasks.plan.matrix import Matrix
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.workloads.arrays.chunked_means import CHUNKED_MEANS
from daskperf_tasks.workloads.patterns.pattern import PATTERN
from daskperf_tasks.workloads.registry import load_registry

REGISTRY = load_registry({})

GOOD = """\
[matrix]
name = "nightly"
seed = 7
rounds = 3
repeats = 4
max_attempts = 2
timeout_s = 60

[matrix.warmup]
min_repeats = 1
max_repeats = 3
tolerance = 0.1

[[workload]]
name = "aggregates"
units = 64
environments = ["local", "remote"]
[workload.params]
n = [128, 256]

[[workload]]
name = "integrate"
units = 16
required = false
repeats = 2
timeout_s = 5
environments = [
    "threads",  # and
    "processes",
]
params = { implementation = ["python", "cython"], steps = 1000 }
"""

#: With the workloads of all experiments.
EVERY = {**REGISTRY, "pattern": PATTERN, "chunked-means": CHUNKED_MEANS}

HEAD = """\
[matrix]
name = "x"
rounds = 2
repeats = 3
"""


def experiments(tables: str, **more: Any) -> Matrix:
    """Read a matrix of these tables on two cores, or as ``more`` says."""
    return load_matrix(HEAD + tables, where="x.toml", registry=EVERY, **more)
