"""``bag-n-p``: all pairs of people, filtered and reduced: pure Python on dictionaries.

People older than 30 are paired with each other; of the pairs whose first is older than the
second, the letters of the second's name are counted. The people are made in the tasks and are
the same ones whatever p.

Properties of the graphs beside those of Böhm and Beránek 2020, Table I (tasks; seen with Dask
2026.8):

===========  ======  ===============  =============
cell         paper   ``"optimized"``  ``"low-level"``
===========  ======  ===============  =============
bag-25K-10   236     136 or less      536
bag-25K-50   5,458   2,958 or less    12,959
bag-25K-100  21,631  11,631 or less   51,631
bag-25K-200  86,116  46,116 or less   206,117
===========  ======  ===============  =============

The paper has p^2 tasks more than ``optimized``: Dask of 2020 left the product of two partitions
a task of its own, today's fuses it with what follows. "Or less", by at most p: some partitions'
makers are fused with their filter, others not. Dask's linear fusion comes to them in the order
of a set, which the hashes of the process decide (``PYTHONHASHSEED``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.graphs import GRAPH_PARAM
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.people import AGES, Person, name_length, some_people

_PARAMS: Mapping[str, ParamSpec] = {
    "n": ParamSpec(kind=int, default=1_000, minimum=2, maximum=100_000),
    # Not 1: Dask (2026.8) then fuses the filter into the product with itself, where both
    # sides share one iterator, and finds no pair at all.
    "p": ParamSpec(kind=int, default=10, minimum=2, maximum=400),
    "graph": GRAPH_PARAM,
}
_AGE = 30


def is_older(person: Person) -> bool:
    """Return whether a person is older than 30."""
    return bool(person["age"] > _AGE)


def first_is_older(pair: tuple[Person, Person]) -> bool:
    """Return whether the first of two is older than the second."""
    return bool(pair[0]["age"] > pair[1]["age"])


@dataclass(frozen=True, slots=True)
class Bag:
    """Letters in the names of those whom somebody older than 30 is paired with."""

    name: str = "bag"
    version: int = 1
    unit: str = "pair"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """People, partitions that they are in, and the form of the graph."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time for a pair: about half of them are of two older than 30."""
        return 2e-7

    def own_units(self, params: Params) -> int:
        """Return n^2, the pairs of all people."""
        n, _ = self._sizes(params)
        return n * n

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the number of letters."""
        import dask.bag as db
        from dask.base import tokenize

        n, p = self._sizes(params)
        source = f"people-{tokenize(seed, n, p)}"
        bounds = [i * n // p for i in range(p + 1)]
        tasks = {(source, i): (some_people, seed, bounds[i], bounds[i + 1]) for i in range(p)}
        older = db.Bag(tasks, source, p).filter(is_older)
        pairs = older.product(older).filter(first_is_older)
        letters = pairs.pluck(1).map(name_length).sum()
        optimize = _full(self, params)["graph"] == "optimized"
        return Built(collections=(letters,), optimize_graph=optimize)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare with the sum over ages, for which no pair is made."""
        n, _ = self._sizes(params)
        expected = _letters(n, seed)
        if len(results) != 1 or type(results[0]) is not int or results[0] != expected:
            raise CorrectnessError(
                "bag: the number of letters is wrong",
                where=f"seed {seed}, {n} people",
                expected=str(expected),
                found=repr(results)[:200],
            )
        return Checked(
            right_units=n * n,
            text=f"{expected:,} letters, as by the numbers of people of each age",
        )

    def _sizes(self, params: Params) -> tuple[int, int]:
        full = _full(self, params)
        n, p = int(full["n"]), int(full["p"])
        if p > n:
            raise InputError(
                "workload 'bag': more partitions than people",
                expected=f"p of at most n = {n:,}",
                found=f"p = {p:,}",
            )
        return n, p


@functools.lru_cache(maxsize=16)
def _letters(n: int, seed: int) -> int:
    oldest = AGES[1]
    people = [0] * (oldest + 1)
    letters = [0] * (oldest + 1)
    for person in some_people(seed, 0, n):
        people[person["age"]] += 1
        letters[person["age"]] += name_length(person)
    ages = range(_AGE + 1, oldest + 1)
    return sum(people[age] * sum(letters[_AGE + 1 : age]) for age in ages)


BAG = Bag()
