"""What a run is going to measure, decided before anything is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from daskperf_tasks.model.codec import Document, Stored, canonical_hash, register_upgrade
from daskperf_tasks.model.experiment import PlannedExperiment
from daskperf_tasks.model.ids import Arm, Cell, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """When warming up ends: stable or at its cap."""

    min_repeats: int = 1
    max_repeats: int = 3
    #: Stable once two successive makespans differ by less than this fraction.
    tolerance: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one block computes; local and remote get the same object.

    It names no environment and no wheel, so that its hash is equal on both
    sides exactly when inputs, seeds, warm-up and repeats are.
    """

    workload: str
    version: int
    params: tuple[tuple[str, Scalar], ...]
    seed: int
    #: Units of work in one repeat (for example clusters grown), the numerator of throughput.
    units: int
    warmup: Warmup
    repeats: int
    #: Limit for the whole block.
    timeout_s: float

    @property
    def hash(self) -> str:
        """sha256 of the canonical JSON."""
        return canonical_hash(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """A cell with the request that every one of its blocks carries."""

    cell_id: str
    cell: Cell
    request: Request
    request_hash: str
    #: The run is red when a required cell has no valid samples.
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One pass over all cells under one wheel, in one measuring process.

    A round holds one block of every cell; cells are in a seeded order that
    differs from round to round, and the arms alternate, so that drift of the
    machine hits all alike.
    """

    index: int
    arm: Arm
    #: Ids of the cells in the order of measuring.
    order: tuple[str, ...]
    #: Whether each cell's block ends with one profiled repeat (not a sample).
    profile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Stored):
    """The whole night on paper (``plan.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.plan"
    VERSION: ClassVar[int] = 2

    run_id: str
    created_at: str
    matrix_name: str
    matrix_sha256: str
    #: The matrix file's text, so that the run can be repeated without the file.
    matrix_text: str
    seed: int
    arms: tuple[Arm, ...]
    cells: tuple[PlannedCell, ...]
    rounds: tuple[Round, ...]
    #: How often an invalid or failed block is measured again.
    max_attempts: int
    #: Expected time of measuring.
    estimate_s: float
    #: How the run was started: ``cli``, ``nightly``, ``on_demand``.
    trigger: str
    #: Commit of the checkout that made the plan, or why it is unknown.
    commit: str
    #: Questions that some of the cells answer together.
    experiments: tuple[PlannedExperiment, ...] = ()

    def cell(self, cell_id: str) -> PlannedCell:
        """Return a planned cell by its id (KeyError when it is not in the plan)."""
        for planned in self.cells:
            if planned.cell_id == cell_id:
                return planned
        raise KeyError(cell_id)


@register_upgrade(Plan.SCHEMA, 1)
def _upgrade_to_2(document: Document) -> Document:
    # Version 1 had no experiments.
    return document | {"experiments": []}
