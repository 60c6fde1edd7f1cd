"""What a workload is: how to bring your own, see the built-in ones beside this file.

A workload names its parameters, builds the Dask collections of one repeat, and
checks the result. The functions that its tasks call must be importable on the
workers: a function of ``__main__`` would be pickled by value into every task,
and the time of that would be measured too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from daskperf_tasks.model.ids import Scalar

Params = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamSpec:
    """A parameter of a workload.

    Examples
    --------
    >>> ParamSpec(kind=int, default=128, minimum=2).check(256)
    256
    >>> ParamSpec(kind=str, default="a", choices=("a", "b")).check("c")
    Traceback (most recent call last):
    ...
    ValueError: 'c' is none of 'a', 'b'
    """

    #: ``int``, ``float``, ``str`` or ``bool``.
    kind: type
    #: Taken when a matrix does not give it; it is then not in the cell's id, so a new
    #: default needs a new version of the workload.
    default: Scalar
    choices: tuple[Scalar, ...] = ()
    minimum: float | None = None
    maximum: float | None = None

    def check(self, value: object) -> Scalar:
        """Return the value if it fits, else raise ``ValueError`` saying why not."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            # Before anything else: a float cannot hold every int, nor repr spell it.
            self._check_limits(value)
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, self.kind) or (isinstance(value, bool) and self.kind is not bool):
            raise ValueError(f"{_shown(value)} is not of type {self.kind.__name__}")
        if self.choices and value not in self.choices:
            raise ValueError(f"{_shown(value)} is none of {', '.join(map(repr, self.choices))}")
        taken: Scalar = value  # type: ignore[assignment]  # kind is one of the scalars
        return taken

    @property
    def limits(self) -> str:
        """The limits of a number in words; empty when it has none.

        Examples
        --------
        >>> ParamSpec(kind=int, default=128, minimum=2, maximum=65536).limits
        '2 to 65,536'
        """
        parts = ("from", self.minimum), ("to", self.maximum)
        said = [f"{word} {_spelled(x)}" for word, x in parts if x is not None]
        return " ".join(said).removeprefix("from ") if len(said) == 2 else "".join(said)

    def _check_limits(self, number: int | float) -> None:
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError(f"{number} is not finite")
        for word, limit in (("below", self.minimum), ("above", self.maximum)):
            if limit is not None and (number < limit if word == "below" else number > limit):
                raise ValueError(f"{_shown(number)} is {word} {_spelled(limit)}")
        if isinstance(number, int) and abs(number) >= _LARGEST:
            raise ValueError(f"{_shown(number)} is too large for a number")


#: What a column of whole numbers can hold.
_LARGEST = 2**63


def _spelled(limit: float) -> str:
    return f"{limit:,.0f}" if limit == int(limit) else f"{limit:g}"


def _shown(value: object) -> str:
    """Spell a value that does not fit, whatever it is: huge integers have no repr."""
    if isinstance(value, int) and abs(value) > 10**40:
        return "a number of more than 40 digits"
    text = repr(value[:80] if isinstance(value, str | list) else value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The work of one repeat, not computed yet."""

    #: Dask collections; computed together, their results go to ``check`` in this order.
    collections: tuple[Any, ...]
    #: Whether Dask optimizes the graph first. Say False for graphs that have nothing to
    #: fuse or cull (culling walks all wanted keys once per layer), and for those that are
    #: to be run as they are written down. Reports call the two forms of a graph
    #: ``optimized`` and ``low-level``.
    optimize_graph: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the check of a result found."""

    #: Units whose result is right.
    right_units: int
    #: What the result was compared with, for the report.
    text: str


@runtime_checkable
class Workload(Protocol):
    """A unit of work that can be measured in every environment.

    Two more members are optional:

    ``libraries: tuple[str, ...]``
        Import names of third-party packages that must be installed on driver and
        workers (``("xarray",)``); see :func:`libraries_of`.
    ``own_units(params) -> int``
        How many units these parameters make, where the parameters say it (``merge``
        of n tasks). A matrix then gives no ``units``; see
        :func:`daskperf_tasks.plan.known.own_units`.
    """

    @property
    def name(self) -> str:
        """Name in matrix files and cell ids: lower case letters, digits, - and _."""
        ...

    @property
    def version(self) -> int:
        """Goes up when the same parameters mean other work; a new series starts."""
        ...

    @property
    def unit(self) -> str:
        """What throughput counts, in the singular (``aggregate``)."""
        ...

    @property
    def requires(self) -> tuple[str, ...]:
        """Import names of the wheel under test that the tasks use; empty: none of it."""
        ...

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Parameters by name."""
        ...

    def unit_cost_s(self, params: Params) -> float:
        """Return roughly the CPU seconds of one unit; only estimates use it."""
        ...

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the work of one repeat; equal arguments give equal work."""
        ...

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the results with their reference.

        Called after every repeat, outside the timed part: keep what is
        expensive (a slow reference) in a cache.

        Raises
        ------
        CorrectnessError
            When the result is wrong as a whole and must not be timed.
        """
        ...


def with_defaults(workload: Workload, given: Params) -> dict[str, Scalar]:
    """Return all parameters: the given ones, and the defaults of the others."""
    return {name: given.get(name, spec.default) for name, spec in workload.params.items()}


def libraries_of(workload: Workload) -> tuple[str, ...]:
    """Return the import names of what must be installed wherever the workload's tasks run."""
    return tuple(getattr(workload, "libraries", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """Independent tasks of one function in one layer: the shape of an embarrassing workload."""

    #: Prefix of the keys, shown by the dashboard and in task streams.
    name: str
    function: Any
    #: Arguments of each task.
    arguments: tuple[tuple[Any, ...], ...] = field(default=())

    def built(self) -> Built:
        """Return one ``Delayed`` a task, all in a single layer."""
        from dask.base import tokenize

        layer = f"{self.name}-{tokenize(self.name, self.arguments)}"
        keys = [(layer, i) for i in range(len(self.arguments))]
        tasks = {
            key: (self.function, *args) for key, args in zip(keys, self.arguments, strict=True)
        }
        return in_one_layer(layer, tasks, *keys)


def in_one_layer(layer: str, tasks: Mapping[Any, Any], *wanted: Any) -> Built:
    """Return the tasks as a single layer that Dask leaves as it is.

    Parameters
    ----------
    layer
        Name of the layer.
    tasks
        By their keys.
    wanted
        Keys of the results.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    graph = HighLevelGraph.from_collections(layer, tasks)
    return Built(
        collections=tuple(Delayed(key, graph, layer=layer) for key in wanted),
        optimize_graph=False,
    )
