"""A matrix: which workloads and experiments, with which parameters, where, how often."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from daskperf_tasks.model.experiment import Kind
from daskperf_tasks.model.ids import Environment, Scalar
from daskperf_tasks.model.plan import Warmup


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRow:
    """One ``[[workload]]`` table: a workload with lists to be multiplied out."""

    name: str
    #: Units of work in one repeat; None: the workload counts them by its parameters.
    units: int | None
    #: Whether the run is red when one of its cells gives no valid sample.
    required: bool
    environments: tuple[Environment, ...]
    #: Parameter -> its values, sorted by name.
    params: tuple[tuple[str, tuple[Scalar, ...]], ...]
    #: How many workers of each environment to use, each a cell; empty: all there are.
    workers: tuple[int, ...] = ()
    #: None: as in ``[matrix]``.
    repeats: int | None = None
    #: None: as in ``[matrix]``.
    timeout_s: float | None = None

    @property
    def cells(self) -> int:
        """How many cells it makes, counted without making one."""
        points = math.prod(len(values) for _, values in self.params)
        return points * len(self.places())

    def places(self) -> tuple[tuple[Environment, int | None], ...]:
        """Return every environment with every number of workers (None: all there are)."""
        return tuple((e, w) for w in self.workers or (None,) for e in self.environments)

    def points(self) -> Iterator[tuple[tuple[str, Scalar], ...]]:
        """Yield every combination of the parameters, in the order of the file."""
        names = [name for name, _ in self.params]
        for values in itertools.product(*(values for _, values in self.params)):
            yield tuple(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRow:
    """One ``[[experiment]]`` table: a question, with the options that were given."""

    kind: Kind
    #: Distinct within a matrix.
    name: str
    #: Option -> its values, sorted by name; the others have their defaults.
    options: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    #: Whether the run is red when one of its cells gives no valid sample.
    required: bool = True
    #: None: as in ``[matrix]``.
    repeats: int | None = None
    #: None: as in ``[matrix]``.
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A matrix file that was found to be right; limits: :mod:`daskperf_tasks.plan.limits`."""

    name: str
    #: Seed of the order of cells and of the workloads' inputs.
    seed: int
    #: Passes over all cells, each in a measuring process of its own.
    rounds: int
    #: Measured repeats of a cell in one round.
    repeats: int
    #: How often an invalid or failed block is measured again, the first time included.
    max_attempts: int
    #: Limit for one block in seconds.
    timeout_s: float
    warmup: Warmup = field(default_factory=Warmup)
    workloads: tuple[WorkloadRow, ...]
    experiments: tuple[ExperimentRow, ...] = ()
    #: Patterns (``fnmatch``) of cell ids or labels; empty: all cells.
    only: tuple[str, ...] = ()
    #: The file's text; after an override, the text of the changed matrix.
    text: str
