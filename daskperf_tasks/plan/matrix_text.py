"""A :class:`Matrix` written back as TOML: a changed matrix stays repeatable from its plan."""

from __future__ import annotations

import json

from daskperf_tasks.plan.matrix import Matrix


def render(matrix: Matrix) -> str:
    """Return TOML that :func:`load_matrix` reads as the same matrix."""
    w = matrix.warmup
    out = [
        "[matrix]",
        f"name = {_toml(matrix.name)}",
        f"seed = {matrix.seed}",
        f"rounds = {matrix.rounds}",
        f"repeats = {matrix.repeats}",
        f"max_attempts = {matrix.max_attempts}",
        f"timeout_s = {_toml(matrix.timeout_s)}",
    ]
    if matrix.only:
        out.append(f"only = {_toml(list(matrix.only))}")
    out += [
        "",
        "[matrix.warmup]",
        f"min_repeats = {w.min_repeats}",
        f"max_repeats = {w.max_repeats}",
        f"tolerance = {_toml(w.tolerance)}",
    ]
    for row in matrix.workloads:
        out += [
            "",
            "[[workload]]",
            f"name = {_toml(row.name)}",
            *([] if row.units is None else [f"units = {row.units}"]),
            f"required = {_toml(row.required)}",
            f"environments = {_toml(list(row.environments))}",
        ]
        if row.workers:
            out.append(f"workers = {_toml(list(row.workers))}")
        if row.repeats is not None:
            out.append(f"repeats = {row.repeats}")
        if row.timeout_s is not None:
            out.append(f"timeout_s = {_toml(row.timeout_s)}")
        if row.params:
            out.append("[workload.params]")
            out += [f"{name} = {_toml(list(values))}" for name, values in row.params]
    for experiment in matrix.experiments:
        out += [
            "",
            "[[experiment]]",
            f"kind = {_toml(experiment.kind)}",
            f"name = {_toml(experiment.name)}",
            f"required = {_toml(experiment.required)}",
        ]
        if experiment.repeats is not None:
            out.append(f"repeats = {experiment.repeats}")
        if experiment.timeout_s is not None:
            out.append(f"timeout_s = {_toml(experiment.timeout_s)}")
        out += [
            f"{name} = {_toml(values[0] if len(values) == 1 else list(values))}"
            for name, values in experiment.options
        ]
    return "\n".join(out) + "\n"


def _toml(value: object) -> str:
    # JSON and TOML spell these the same: strings, numbers, booleans and lists of them.
    return json.dumps(value, ensure_ascii=True)
