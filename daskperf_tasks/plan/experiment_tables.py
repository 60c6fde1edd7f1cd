"""The ``[[experiment]]`` tables of a matrix file, with every mistake at its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar, check_name
from daskperf_tasks.plan import limits
from daskperf_tasks.plan.build import planned
from daskperf_tasks.plan.cells import merged
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.expand import ExperimentError, expand
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.option import nearest
from daskperf_tasks.plan.known import Registry
from daskperf_tasks.plan.limits import Limits, shown
from daskperf_tasks.plan.matrix import ExperimentRow, Matrix
from daskperf_tasks.plan.toml_lines import Path, line_of

#: Keys of every kind; the others are its options.
_KEYS = ("kind", "name", "required", "repeats", "timeout_s")


class Reader(Protocol):
    """Collects the problems of a file."""

    lines: dict[Path, int]

    def problem(self, path: Path, text: str) -> None:
        """Note a problem at a key."""
        ...

    def keys(self, table: Mapping[str, Any], path: Path, valid: Any, name: str) -> None:
        """Note the keys that are not valid."""
        ...

    def optional(self, table: Mapping[str, Any], path: Path, key: str, allowed: Limits) -> Any:
        """Return a number, or None."""
        ...

    def required(self, table: Mapping[str, Any], path: Path) -> bool:
        """Return the key ``required``."""
        ...


def experiment_rows(document: Mapping[str, Any], reader: Reader) -> tuple[ExperimentRow, ...]:
    """Return the tables that can be read; the reader gets what is wrong."""
    tables = document.get("experiment", [])
    if not isinstance(tables, list):
        reader.problem(("experiment",), "'experiment' must be written as tables: [[experiment]]")
        return ()
    if len(tables) > limits.EXPERIMENTS:
        what = f"[[experiment]] stands {len(tables):,} times; the most are {limits.EXPERIMENTS:,}"
        reader.problem(("experiment", limits.EXPERIMENTS), what)
        tables = tables[: limits.EXPERIMENTS]
    rows: dict[str, ExperimentRow] = {}
    first: dict[str, int] = {}
    for i, table in enumerate(tables):
        path: Path = ("experiment", i)
        row = _row(table, path, reader)
        if row is None:
            continue
        if row.name in rows:
            line = line_of(reader.lines, ("experiment", first[row.name]))
            what = f"an experiment named {row.name!r} is already in the table of line {line}"
            reader.problem((*path, "name"), f"{what}: give it a 'name' of its own")
            continue
        rows[row.name], first[row.name] = row, i
    return tuple(rows.values())


def _row(table: Any, path: Path, reader: Reader) -> ExperimentRow | None:
    if not isinstance(table, dict):
        reader.problem(path, "'experiment' must be written as tables: [[experiment]]")
        return None
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        what = f"unknown kind {shown(kind)}" if "kind" in table else "'kind' is missing"
        reader.problem((*path, "kind"), f"{what}{nearest(str(kind), KINDS)}")
        return None
    spec = KINDS[kind]
    known = {o.name: o for o in spec.options}
    reader.keys(table, path, (*_KEYS, *known), f"an experiment of kind {kind!r}")
    options: list[tuple[str, tuple[Scalar, ...]]] = []
    for key in sorted(set(table) & set(known)):
        faults = list(known[key].faults(table[key]))
        for index, text in faults:
            at = (*path, key) if index is None else (*path, key, index)
            reader.problem(at, text)
        if not faults:
            options.append((key, known[key].values(table[key])))
    return ExperimentRow(
        kind=spec.kind,
        name=_name(table, path, kind, reader),
        options=tuple(options),
        required=reader.required(table, path),
        repeats=reader.optional(table, path, "repeats", limits.REPEATS),
        timeout_s=reader.optional(table, path, "timeout_s", limits.TIMEOUT_S),
    )


def _name(table: Mapping[str, Any], path: Path, kind: str, reader: Reader) -> str:
    name = table.get("name", kind)
    try:
        if not isinstance(name, str):
            raise InputError("it must be a string")
        return check_name(name, "experiment")
    except InputError as err:
        what = f"'name' is {shown(name)}: {err.expected or err.message}"
        reader.problem((*path, "name"), what)
        return kind


def misfits(
    matrix: Matrix, *, registry: Registry, allocation: Allocation
) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with experiments whose options are fine one by one."""
    cells, _ = planned(_only_workloads(matrix), registry)
    for i, row in enumerate(matrix.experiments):
        path: Path = ("experiment", i)
        try:
            found = expand(row, matrix, registry=registry, allocation=allocation)
            cells = merged(cells, found.cells, row.name)
        except ExperimentError as err:
            yield ((*path, err.option) if err.option else path), err.message
        except InputError as err:
            where = f"{err.where} ({err.found}, here {err.expected})"
            yield path, f"{err.message}: {where}; {err.todo}"
        for most, what, count in (
            (limits.CELLS, "cells", len(cells)),
            (limits.BLOCKS, "blocks", len(cells) * matrix.rounds),
        ):
            if count > most:
                yield (
                    path,
                    f"with this experiment there are {count:,} {what}; the most are {most:,}",
                )
                return


def _only_workloads(matrix: Matrix) -> Matrix:
    return replace(matrix, experiments=(), only=())
