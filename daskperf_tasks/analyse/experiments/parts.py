"""What each kind of experiment makes of its case."""

from __future__ import annotations

from dataclasses import dataclass, field

from daskperf_tasks.model.experiment import SeriesFit
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate

More = dict[str, Estimate | float | Missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The part of a result that differs from kind to kind."""

    model: str
    fits: tuple[SeriesFit, ...] = ()
    recommended: str | Missing
    conclusion: tuple[str, ...]
    #: Label of a point -> its further columns.
    more: dict[str, More] = field(default_factory=dict)


def of_series(series: str, text: str) -> str:
    """Put the series in front of a sentence, if it has a name.

    Examples
    --------
    >>> of_series("", "it ends"), of_series("2 workers", "it ends")
    ('it ends', 'with 2 workers: it ends')
    """
    return f"with {series}: {text}" if series else text
