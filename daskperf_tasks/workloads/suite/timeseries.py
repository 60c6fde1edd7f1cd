"""Random time series of the dataframe workloads: how long, how dense, in how many parts.

The paper's names carry the three parameters: ``groupby-2880-1S-16H`` is 2,880 days,
a row every second, 16 hours a partition. Today's pandas spells ``1S``, ``1H`` and
``1T`` as ``1s``, ``1h`` and ``1min``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.workloads.graphs import GRAPH_PARAM, written_down
from daskperf_tasks.workloads.protocol import Built, ParamSpec

if TYPE_CHECKING:
    import pandas as pd

_START = datetime.datetime(2000, 1, 1)
_SECONDS = {"s": 1, "min": 60, "h": 3600, "D": 86_400}
_SPELLING = re.compile(r"([1-9][0-9]{0,8})(s|min|h|D)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanParam(ParamSpec):
    """A parameter that is a span of time as pandas spells it.

    Examples
    --------
    >>> SpanParam(kind=str, default="1s").check("16h")
    '16h'
    >>> SpanParam(kind=str, default="1s").check("1H")
    Traceback (most recent call last):
    ...
    ValueError: '1H' is no time span: a whole number and s, min, h or D (16h)
    """

    def check(self, value: object) -> Scalar:
        """Return the span as it is spelled, or raise ``ValueError``."""
        taken = ParamSpec.check(self, value)
        seconds(str(taken))
        return taken


def seconds(span: str) -> int:
    """Return the seconds of a span such as ``16h``.

    Raises
    ------
    ValueError
        When it is not spelled as pandas does today.

    Examples
    --------
    >>> seconds("16h")
    57600
    """
    match = _SPELLING.fullmatch(span)
    if match is None:
        raise ValueError(f"{span[:40]!r} is no time span: a whole number and s, min, h or D (16h)")
    return int(match[1]) * _SECONDS[match[2]]


def span_params(*, freq: str, partition: str) -> dict[str, ParamSpec]:
    """Return the parameters of a workload on a time series, for one day by default."""
    return {
        "days": ParamSpec(kind=int, default=1, minimum=1, maximum=36_500),
        "freq": SpanParam(kind=str, default=freq),
        "partition": SpanParam(kind=str, default=partition),
        "graph": GRAPH_PARAM,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A time series of equal partitions."""

    days: int
    #: Time from one row to the next, and time that one partition covers.
    freq: str
    partition: str

    @classmethod
    def of(cls, params: Mapping[str, Scalar]) -> Series:
        """Return what complete parameters say.

        Raises
        ------
        InputError
            When the days are no whole number of partitions, or a partition no whole
            number of rows: Dask would drop the rest without a word.
        """
        series = cls(
            days=int(params["days"]), freq=str(params["freq"]), partition=str(params["partition"])
        )
        length = series.days * _SECONDS["D"]
        for whole, part, words in (
            (length, series.partition, f"{series.days} days are no whole number of partitions"),
            (seconds(series.partition), series.freq, "a partition is no whole number of rows"),
        ):
            if whole % seconds(part):
                raise InputError(
                    f"time series: {words}",
                    expected=f"a span that divides {whole:,} s",
                    found=f"{part} = {seconds(part):,} s",
                    todo="change 'days', 'partition' or 'freq'",
                )
        return series

    @property
    def partitions(self) -> int:
        """Partitions of the data frame."""
        return self.days * _SECONDS["D"] // seconds(self.partition)

    @property
    def rows(self) -> int:
        """Rows of all partitions."""
        return self.days * _SECONDS["D"] // seconds(self.freq)

    def frame(self, seed: int, dtypes: Mapping[str, type] | None = None, **columns: Any) -> Any:
        """Return the Dask data frame; tasks make the rows.

        Parameters
        ----------
        seed
            Of ``dask.datasets.timeseries``; all columns of all partitions follow from it.
        dtypes
            Columns; None for Dask's own (name, id, x, y).
        columns
            More arguments of Dask's generator (``id_lam``).
        """
        from dask.datasets import timeseries

        return timeseries(
            start=_START,
            end=_START + datetime.timedelta(days=self.days),
            freq=self.freq,
            partition_freq=self.partition,
            dtypes=None if dtypes is None else dict(dtypes),
            seed=seed % 2**32,
            **columns,
        )


def partitions_of(frame: Any) -> Iterator[pd.DataFrame]:
    """Yield the partitions of a Dask data frame as pandas has them, one after the other.

    References are computed from them; nothing else of the graph under test is used.
    """
    for part in frame.partitions:
        yield part.compute(scheduler="synchronous")


def as_in_the_paper(collection: Any) -> Built:
    """Return a reduction in the form that Dask's data frames had in 2020.

    Notes
    -----
    Dask then fused what is done to one partition into one task, moved no projection
    and no filter, and shuffled by tasks: the expression is lowered as it is
    written and fused blockwise. ``dask.compute`` of today optimizes the expression but
    does not fuse it (2026.8), and so runs more, smaller tasks.

    Build the collection under ``dask.config.set({"dataframe.shuffle.method": "tasks"})``.
    """
    from dask.dataframe.dask_expr import new_collection

    fused = new_collection(collection.expr.lower_completely().fuse())
    return Built(collections=(written_down(fused),), optimize_graph=False)
