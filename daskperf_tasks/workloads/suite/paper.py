"""The paper's Table I: the properties of its task graphs.

Source: S. Böhm and J. Beránek, "Runtime vs Scheduler: Analyzing Dask's Overheads", WORKS 2020,
Table I (Dask of 2020). What stands here as None is in that table but was not at hand when this
one was written. The names are the paper's; parameters are in the spelling of the workloads
beside this file (frequencies ``1s``, ``1h``, ``1min`` for the paper's ``1S``, ``1H``, ``1T``) and
leave the form of the graph open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from daskperf_tasks.model.ids import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One row of Table I; None is a property that is not known here."""

    #: As the paper spells it.
    name: str
    workload: str
    params: Mapping[str, Scalar]
    tasks: int
    #: Dependencies between tasks.
    arcs: int | None = None
    mean_output_kib: float | None = None
    mean_task_ms: float | None = None
    #: Arcs on the longest path.
    longest_path: int | None = None


#: Tasks, arcs, mean output in KiB, mean task in ms, arcs on the longest path.
_Facts = tuple[int, int | None, float | None, float | None, int | None]


def _row(name: str, facts: _Facts, **params: Scalar) -> PaperRow:
    tasks, arcs, mean_output_kib, mean_task_ms, longest_path = facts
    return PaperRow(
        name=name,
        workload=name.split("-")[0],
        params=MappingProxyType(params),
        tasks=tasks,
        arcs=arcs,
        mean_output_kib=mean_output_kib,
        mean_task_ms=mean_task_ms,
        longest_path=longest_path,
    )


def _only(tasks: int) -> _Facts:
    return tasks, None, None, None, None


#: ``merge-n`` and ``merge_slow-n-t`` have n + 1 tasks and n arcs for every n; here they
#: stand with the n that the paper's figures show most.
TABLE_I: tuple[PaperRow, ...] = (
    _row("merge-100K", (100_001, 100_000, 0.027, 0.006, 1), n=100_000),
    _row("merge_slow-5K-0.1", (5_001, 5_000, 0.023, 100, 1), n=5_000, t=0.1),
    _row("merge_slow-20K-0.1", (20_001, 20_000, 0.023, 100, 1), n=20_000, t=0.1),
    _row("tree-15", (32_767, 32_766, 0.027, 0.007, 14), e=15),
    _row("xarray-25", (552, 862, 55.7, 3.1, 10), c=25),
    _row("xarray-5", (9_258, 14_976, 3.3, 0.4, 10), c=5),
    _row("bag-25K-10", _only(236), n=25_000, p=10),
    _row("bag-25K-50", _only(5_458), n=25_000, p=50),
    _row("bag-25K-100", _only(21_631), n=25_000, p=100),
    _row("bag-25K-200", _only(86_116), n=25_000, p=200),
    _row("numpy-50K-10", _only(209), size=50_000, p=10),
    _row("numpy-50K-50", _only(4_892), size=50_000, p=50),
    _row("numpy-50K-100", _only(19_334), size=50_000, p=100),
    _row("numpy-50K-200", _only(77_067), size=50_000, p=200),
    _row(
        "groupby-2880-1S-16H",
        (22_842, 31_481, 1_005, 11.9, 9),
        days=2_880,
        freq="1s",
        partition="16h",
    ),
    _row(
        "groupby-1440-1S-1H",
        (182_682, 251_801, 64.3, 3.8, 10),
        days=1_440,
        freq="1s",
        partition="1h",
    ),
    _row("groupby-90-1S-8H", (1_434, 1_973, 501, 7.7, 7), days=90, freq="1s", partition="8h"),
    _row("join-1-1S-1H", (673, 1_224, 15.3, 33, 5), days=1, freq="1s", partition="1h"),
    _row("join-1-1S-1T", (72_001, 125_568, 3.7, 1.7, 11), days=1, freq="1s", partition="1min"),
    _row("vectorizer-1M-300", (301, 0, 10_226, 1_504, 0), n=1_000_000, p=300),
    _row("wordbag-100K-50", (250, 200, 5_136, 301, 2), n=100_000, p=50),
)
