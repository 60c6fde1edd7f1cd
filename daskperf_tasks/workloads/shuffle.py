"""A dataframe shuffled by a key column: all rows of a key end up in one partition.

What returns is not the rows but four sums over the partitions; with those of the rows
computed without Dask they tell a lost, doubled, changed or misplaced row.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.arrays.p2p import need_cluster
from daskperf_tasks.workloads.compare import refuse, same_numbers, same_units
from daskperf_tasks.workloads.graphs import GRAPH_PARAM, written_down
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.splitmix import mix, mixed

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_METHODS = ("default", "p2p", "tasks", "disk")
#: Rows that the reference holds at a time.
_SLAB = 500_000
_PARAMS: Mapping[str, ParamSpec] = {
    "rows": ParamSpec(kind=int, default=1_000_000, minimum=1, maximum=1_000_000_000),
    "partitions": ParamSpec(kind=int, default=16, minimum=1, maximum=4_096),
    "keys": ParamSpec(kind=int, default=10_000, minimum=1, maximum=10_000_000),
    "columns": ParamSpec(kind=int, default=4, minimum=0, maximum=64),
    "method": ParamSpec(kind=str, default="default", choices=_METHODS),
    "graph": GRAPH_PARAM,
}
#: Names of the sums, in their order.
_SUMS = ("rows", "keys", "key_digest", "row_digest")


def row_bytes(params: Params) -> int:
    """Return the bytes of a row in memory: its key and its columns, 8 bytes each.

    Examples
    --------
    >>> row_bytes({}), row_bytes({"columns": 0})
    (40, 8)
    """
    return 8 * (1 + int(_full(SHUFFLE, params)["columns"]))


def some_rows(part: int, partitions: int, rows: int, keys: int, values: int, seed: int) -> Any:
    """Make one partition of the dataframe where the task runs.

    Row r has the key ``mix(r + mix(seed + 1)) mod keys``, and each column another mix of
    that number: the same rows whatever the partitions. (An argument named ``columns`` would
    be Dask's to set.)
    """
    import numpy as np
    import pandas as pd

    first, stop = rows * part // partitions, rows * (part + 1) // partitions
    numbers = mixed(np.arange(first, stop, dtype=np.uint64) + np.uint64(mix(seed + 1)))
    data: dict[str, NDArray[np.int64]] = {"key": (numbers % np.uint64(keys)).astype(np.int64)}
    for c in range(values):
        data[f"v{c}"] = mixed(numbers + np.uint64(c + 1)).view(np.int64)
    return pd.DataFrame(data)


def partition_sums(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a partition's rows, its distinct keys, and digests of both.

    The digests are sums modulo 2^64, the same in whatever order the rows are.
    """
    import numpy as np
    import pandas as pd

    rows = np.zeros(len(frame), dtype=np.uint64)
    for c, name in enumerate(sorted(frame.columns)):
        rows = mixed(rows + mixed(frame[name].to_numpy().view(np.uint64)) + np.uint64(c))
    distinct = frame["key"].unique()
    sums = [
        np.array([len(frame), len(distinct)], dtype=np.int64),
        np.array([mixed(distinct.view(np.uint64)).sum(dtype=np.uint64)]).view(np.int64),
        np.array([rows.sum(dtype=np.uint64)]).view(np.int64),
    ]
    return pd.DataFrame(np.concatenate(sums).reshape(1, 4), columns=list(_SUMS))


def total_sums(parts: pd.DataFrame) -> pd.DataFrame:
    """Return the sums of several partitions (int64, wrapping) as one row."""
    import numpy as np

    return parts.iloc[:1].assign(**{n: parts[n].to_numpy().sum(dtype=np.int64) for n in _SUMS})


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``rows`` rows in ``partitions`` partitions, shuffled by their keys."""

    name: str = "shuffle"
    version: int = 1
    unit: str = "row"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Size of the dataframe, method of the shuffle, and the form of the graph.

        A row is a key and ``columns`` numbers of 8 bytes each. The method ``default`` is Dask's
        choice: peer to peer in a cluster, by way of the disk without one. ``p2p`` needs a
        cluster; ``disk`` must not have one, as its workers may not share a disk.
        """
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return about 300 ns a row, and 50 ns a column of it."""
        return 3e-7 + 5e-8 * float(_full(self, params)["columns"])

    def own_units(self, params: Params) -> int:
        """Return the number of rows."""
        return _shape(params)[0]

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return one row of sums over all partitions after the shuffle.

        Raises
        ------
        InputError
            When there are fewer rows than partitions, or the method does not fit the
            environment or the form of the graph.
        """
        import dask.dataframe as dd

        rows, partitions, keys, columns = _shape(params)
        full = _full(self, params)
        low_level = full["graph"] == "low-level"
        method = _method(str(full["method"]), low_level)
        common = (partitions, rows, keys, columns, seed)
        meta = some_rows(0, partitions, 0, keys, columns, seed)
        frame = dd.from_map(
            some_rows, range(partitions), args=common, meta=meta, enforce_metadata=False
        )
        shuffled = frame.shuffle("key", npartitions=partitions, shuffle_method=method)
        sums = shuffled.reduction(
            partition_sums, aggregate=total_sums, combine=total_sums, meta=partition_sums(meta)
        )
        if low_level:
            return Built(collections=(written_down(sums),), optimize_graph=False)
        return Built(collections=(sums,))

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the sums with those of the same rows, made in one piece by NumPy.

        Each partition counts its distinct keys. Their sum is the number of distinct keys of
        all rows only if no key is in two partitions.
        """
        rows, partitions, keys, columns = _shape(params)
        same_units("shuffle", units, rows)
        where = f"{rows} rows, {partitions} partitions, {columns} columns, seed {seed}"
        found = _numbers(results)
        same_numbers("shuffle", found, _reference(rows, keys, columns, seed), where)
        return Checked(
            right_units=units,
            text=f"all {rows} rows are there once, unchanged, and each of {found[1]} keys in "
            "one partition, by digests computed without Dask",
        )


@functools.lru_cache(maxsize=16)
def _reference(rows: int, keys: int, columns: int, seed: int) -> tuple[int, int, int, int]:
    """Return the sums that a right shuffle has, in the order of ``_SUMS``."""
    import numpy as np

    seen = np.zeros(keys, dtype=bool)
    names = sorted(["key", *(f"v{c}" for c in range(columns))])
    total = 0
    for first in range(0, rows, _SLAB):
        index = np.arange(first, min(first + _SLAB, rows), dtype=np.uint64)
        number = mixed(index + np.uint64(mix(seed + 1)))
        key = number % np.uint64(keys)
        seen[key] = True
        digest = np.zeros(len(index), dtype=np.uint64)
        for c, name in enumerate(names):
            value = key if name == "key" else mixed(number + np.uint64(int(name[1:]) + 1))
            digest = mixed(digest + mixed(value) + np.uint64(c))
        total += int(digest.sum(dtype=np.uint64))
    distinct = np.flatnonzero(seen).astype(np.uint64)
    of_keys = int(mixed(distinct).sum(dtype=np.uint64))
    return rows, len(distinct), _signed(of_keys), _signed(total)


def _signed(number: int) -> int:
    """Return the number of 64 bits with sign that has the same bits."""
    return (number + 2**63) % 2**64 - 2**63


def _numbers(results: tuple[Any, ...]) -> list[Any]:
    import pandas as pd

    (only,) = results if len(results) == 1 else (None,)
    if not isinstance(only, pd.DataFrame) or only.shape != (1, 4):
        return [only]
    return [only[name].iloc[0] for name in _SUMS if name in only.columns]


def _method(method: str, low_level: bool) -> str | None:
    """Return the method as Dask takes it, if it fits where the shuffle is to run."""
    if method == "p2p":
        need_cluster("shuffle")
        if low_level:
            raise refuse("shuffle", "method 'tasks' or 'default' for a low-level graph", "'p2p'")
    if method == "disk" and _in_cluster():
        raise InputError(
            "shuffle: method 'disk' needs all tasks on one disk",
            where="a cluster, whose workers may not share one",
            expected="environments threads or processes",
            todo="take method = 'default' or 'p2p' there",
        )
    if method == "default":
        return "tasks" if low_level else None
    return method


def _in_cluster() -> bool:
    try:
        need_cluster("shuffle")
    except InputError:
        return False
    return True


def _shape(params: Params) -> tuple[int, int, int, int]:
    full = _full(SHUFFLE, params)
    rows, partitions = int(full["rows"]), int(full["partitions"])
    if rows < partitions:
        raise refuse(
            "shuffle",
            "at least as many rows as partitions",
            f"{rows} rows, {partitions} partitions",
        )
    return rows, partitions, int(full["keys"]), int(full["columns"])


SHUFFLE = Shuffle()
