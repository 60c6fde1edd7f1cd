"""Texts and a registry for the tests of planning."""

from __future__ import annotations

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
