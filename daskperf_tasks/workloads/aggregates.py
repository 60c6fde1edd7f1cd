"""Clusters of monomers grown by diffusion: uneven tasks, throughput in aggregates a second.

A cluster of 128 takes about 0.4 milliseconds, little more than Dask needs for a
task, so a task grows several: what is measured shall be the kernel, not the
scheduler.

Version 2: the kernel finds its way with cell lists and its time grows little
faster than n; the clusters are others than those of version 1, of the same model.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec, TaskList
from daskperf_tasks.workloads.protocol import with_defaults as _full

#: Up to this size a unit is grown again in plain Python; above, that takes too long.
_REFERENCE_LIMIT = 512
#: The most monomers that ``daskperf_kernels.aggregate`` takes.
_LARGEST = 65_536
_PARAMS: Mapping[str, ParamSpec] = {
    "n": ParamSpec(kind=int, default=128, minimum=2, maximum=_LARGEST),
    "per_task": ParamSpec(kind=int, default=16, minimum=1, maximum=100_000),
}

#: Radius of gyration in monomer diameters, and a digest of the positions' bytes.
Unit = tuple[float, str]


def some_aggregates(n: int, first: int, stop: int) -> list[Unit]:
    """Grow the clusters of the seeds ``first`` to ``stop`` (excluded) where the task runs.

    The positions stay there, their digests return.
    """
    from daskperf_kernels import aggregate

    grown = []
    for seed in range(first, stop):
        positions, radius = aggregate(n, seed)
        grown.append((radius, _digest(positions)))
    return grown


@dataclass(frozen=True, slots=True)
class Aggregates:
    """``units`` clusters of ``n`` monomers with the seeds seed, seed + 1, ..."""

    name: str = "aggregates"
    version: int = 2
    unit: str = "aggregate"
    requires: tuple[str, ...] = ("daskperf_kernels",)

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Monomers of a cluster, and clusters that one task grows."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the fit to n = 128 to 65,536: about 2.7 microseconds a monomer at 128."""
        return 1.9e-6 * math.pow(float(_full(self, params)["n"]), 1.074)

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return one task for every ``per_task`` clusters."""
        full = _full(self, params)
        n, size = int(full["n"]), int(full["per_task"])
        last = seed + units
        arguments = tuple((n, first, min(first + size, last)) for first in range(seed, last, size))
        return TaskList(name="aggregate", function=some_aggregates, arguments=arguments).built()

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare one cluster with the plain-Python reference, all with what any must hold."""
        n = int(_full(self, params)["n"])
        clusters: list[Unit] = [unit for task in results for unit in task]
        if len(clusters) != units:
            raise CorrectnessError(
                "aggregates: a cluster is missing or one too many",
                expected=f"{units} clusters",
                found=str(len(clusters)),
            )
        # Monomers touch and do not overlap: none is longer than a straight rod, and none
        # denser than the densest packing (a ball of n spheres of diameter 1; halved,
        # because few centres lie further inside than a continuum would).
        longest = math.sqrt((n * n - 1) / 12) * (1 + 1e-12)
        ball = 0.5 * (n / 0.7405) ** (1 / 3)
        shortest = 0.5 * math.sqrt(3 / 5) * ball
        for i, (radius, _) in enumerate(clusters):
            if not shortest <= radius <= longest:
                raise CorrectnessError(
                    "aggregates: no cluster can have this radius of gyration",
                    where=f"seed {seed + i}, n={n}",
                    expected=f"{shortest:.4g} to {longest:.4g} monomer diameters",
                    found=f"{radius:.6g}",
                )
        if units > 1 and len({digest for _, digest in clusters}) != units:
            raise CorrectnessError(
                "aggregates: two seeds gave the same cluster", where=f"n={n}, seed {seed} on"
            )
        if n > _REFERENCE_LIMIT:
            return Checked(
                right_units=units,
                text=f"all {units} clusters hold the invariants; n={n} is too large to grow "
                "one again in plain Python",
            )
        expected = _reference(n, seed)
        if tuple(clusters[0]) != expected:
            raise CorrectnessError(
                "aggregates: the cluster differs from its plain-Python reference",
                where=f"seed {seed}, n={n}",
                expected=f"radius {expected[0]!r}, positions {expected[1][:16]}",
                found=f"radius {clusters[0][0]!r}, positions {clusters[0][1][:16]}",
                todo="same seed must give the same bits in both implementations",
            )
        return Checked(
            right_units=units,
            text=f"cluster of seed {seed} equals the plain-Python reference bit for bit; "
            f"all {units} hold the invariants",
        )


@functools.lru_cache(maxsize=64)
def _reference(n: int, seed: int) -> Unit:
    from daskperf_kernels import aggregate

    positions, radius = aggregate(n, seed, "python")
    return radius, _digest(positions)


def _digest(positions: Any) -> str:
    return hashlib.sha256(positions.tobytes()).hexdigest()


AGGREGATES = Aggregates()
