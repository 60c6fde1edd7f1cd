"""What a task graph looks like, as Table I of the paper on Dask's overheads describes its graphs.

Böhm and Beránek, "Runtime vs Scheduler: Analyzing Dask's Overheads", WORKS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ``optimized``: as Dask optimizes it for its users (culled, fused, high-level expressions).
#: ``low-level``: every task as the collection wrote it down, as the paper had it.
GraphForm = Literal["optimized", "low-level"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts:
    """Properties of the graph of one repeat, counted in the graph as run."""

    form: GraphForm
    tasks: int
    #: Dependencies between tasks.
    arcs: int
    #: Arcs on the longest path.
    longest_path: int
