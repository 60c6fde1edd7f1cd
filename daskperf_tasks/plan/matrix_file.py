"""Matrix files (TOML) -> :class:`Matrix`, with every mistake named by its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daskperf_tasks.errors import InputError, MatrixError
from daskperf_tasks.model.ids import ENVIRONMENTS, Scalar, check_name, check_value, spell
from daskperf_tasks.model.plan import Warmup
from daskperf_tasks.plan import limits
from daskperf_tasks.plan.experiment_tables import experiment_rows, misfits
from daskperf_tasks.plan.experiments.allocation import Allocation
from daskperf_tasks.plan.experiments.option import nearest as _near
from daskperf_tasks.plan.known import Registry, own_units
from daskperf_tasks.plan.limits import Limits, shown
from daskperf_tasks.plan.matrix import Matrix, WorkloadRow
from daskperf_tasks.plan.matrix_source import parse_matrix, read_matrix
from daskperf_tasks.plan.toml_lines import Path, key_lines, line_of

__all__ = ["load_matrix", "read_matrix"]

_MATRIX_KEYS = (
    "name",
    "seed",
    "rounds",
    "repeats",
    "max_attempts",
    "timeout_s",
    "warmup",
    "only",
)
_WARMUP_KEYS = ("min_repeats", "max_repeats", "tolerance")
_ROW_KEYS = (
    "name",
    "units",
    "required",
    "environments",
    "workers",
    "params",
    "repeats",
    "timeout_s",
)
#: So many mistakes are told; more help nobody.
_TOLD = 20


def load_matrix(
    text: str, *, where: str, registry: Registry, allocation: Allocation | None = None
) -> Matrix:
    """Read a matrix file.

    Parameters
    ----------
    text
        The file's text.
    where
        Its path, for messages.
    registry
        Workloads by name.
    allocation
        How many workers there are, for experiments.

    Raises
    ------
    MatrixError
        Naming for every mistake the file and line, the key or value, and the
        nearest valid one.
    """
    text = text.removeprefix("\ufeff")
    document = parse_matrix(text, where)
    reader = _Reader(where, key_lines(text), registry, allocation or Allocation())
    matrix = reader.matrix(document, text)
    reader.finish()
    assert matrix is not None  # finish() raised otherwise
    return matrix


class _Reader:
    """Collects all problems of a document before it gives up."""

    def __init__(
        self, where: str, lines: dict[Path, int], registry: Registry, allocation: Allocation
    ) -> None:
        self.where = where
        self.allocation = allocation
        self.lines = lines
        self.registry = registry
        self.problems: list[tuple[int, str]] = []

    def problem(self, path: Path, text: str) -> None:
        self.problems.append((line_of(self.lines, path), text))

    def finish(self) -> None:
        if self.problems:
            ordered = sorted(self.problems)
            found = [f"{self.where}:{line}: {text}" for line, text in ordered[:_TOLD]]
            if len(ordered) > _TOLD:
                found.append(f"... and {len(ordered) - _TOLD} more")
            raise MatrixError(
                "\n".join(found), todo="correct it and check it with `daskperf plan MATRIX`"
            )

    def keys(self, table: Mapping[str, Any], path: Path, valid: Iterable[str], name: str) -> None:
        unknown = [key for key in table if key not in valid]
        for key in unknown[:_TOLD]:
            self.problem((*path, key), f"unknown key {shown(key)} in {name}{_near(key, valid)}")
        if len(unknown) > _TOLD:
            self.problem(path, f"{len(unknown) - _TOLD} more unknown keys in {name}")

    def number(
        self, table: Mapping[str, Any], path: Path, key: str, default: Any, allowed: Limits
    ) -> Any:
        kind = int if allowed.whole else float
        if key not in table:
            if default is not None:
                return default
            self.problem(path, f"{key!r} is missing: give {allowed.text}")
            return kind(max(allowed.low, 1))
        value = table[key]
        if value not in allowed:
            self.problem((*path, key), f"{key!r} must be {allowed.text}, not {shown(value)}")
            return kind(max(allowed.low, 1))
        return kind(value)

    def optional(self, table: Mapping[str, Any], path: Path, key: str, allowed: Limits) -> Any:
        return self.number(table, path, key, None, allowed) if key in table else None

    def matrix(self, document: dict[str, Any], text: str) -> Matrix | None:
        self.keys(document, (), ("matrix", "workload", "experiment"), "the file")
        head = document.get("matrix")
        path: Path = ("matrix",)
        if not isinstance(head, dict):
            self.problem(path, "the table [matrix] is missing")
            head = {}
        self.keys(head, path, _MATRIX_KEYS, "[matrix]")
        warmup = self.warmup(head.get("warmup", {}))
        only = head.get("only", [])
        if not isinstance(only, list) or not all(isinstance(p, str) for p in only):
            self.problem((*path, "only"), "'only' must be a list of patterns of cell ids")
            only = []
        if len(only) > limits.PATTERNS:
            what = f"'only' has {len(only):,} patterns; the most are {limits.PATTERNS:,}"
            self.problem((*path, "only"), what)
        rows = document.get("workload", [])
        if not isinstance(rows, list) or not (rows or "experiment" in document):
            what = "no [[workload]] and no [[experiment]] table: there is nothing to measure"
            self.problem(("workload",), what)
            rows = []
        if len(rows) > limits.WORKLOADS:
            what = f"[[workload]] stands {len(rows):,} times; the most are {limits.WORKLOADS:,}"
            self.problem(("workload", limits.WORKLOADS), what)
            rows = rows[: limits.WORKLOADS]
        built = [self.row(row, ("workload", i)) for i, row in enumerate(rows)]
        rounds = self.number(head, path, "rounds", 3, limits.ROUNDS)
        if self.few_enough(built, rounds):
            self.duplicates(built)
            self.own_counts(built)
        matrix = Matrix(
            name=self.name(head, path),
            seed=self.number(head, path, "seed", 0, limits.SEED),
            rounds=rounds,
            repeats=self.number(head, path, "repeats", 5, limits.REPEATS),
            max_attempts=self.number(head, path, "max_attempts", 2, limits.MAX_ATTEMPTS),
            timeout_s=self.number(head, path, "timeout_s", 60.0, limits.TIMEOUT_S),
            warmup=warmup,
            workloads=tuple(row for row in built if row is not None),
            experiments=experiment_rows(document, self),
            only=tuple(only),
            text=text,
        )
        if not self.problems:
            wrong = misfits(matrix, registry=self.registry, allocation=self.allocation)
            for where, what in wrong:
                self.problem(where, what)
        return None if self.problems else matrix

    def name(self, head: Mapping[str, Any], path: Path) -> str:
        value = head.get("name")
        try:
            if not isinstance(value, str):
                raise InputError("it must be a string")
            return check_name(value, "matrix")
        except InputError as err:
            what = f"'name' is {shown(value)}" if "name" in head else "'name' is missing"
            self.problem((*path, "name"), f"{what}: {err.expected or err.message}")
            return "unnamed"

    def warmup(self, table: Any) -> Warmup:
        path: Path = ("matrix", "warmup")
        if not isinstance(table, dict):
            self.problem(path, "'warmup' must be a table: [matrix.warmup]")
            return Warmup()
        self.keys(table, path, _WARMUP_KEYS, "[matrix.warmup]")
        usual = Warmup()
        low = self.number(table, path, "min_repeats", usual.min_repeats, limits.WARMUP_REPEATS)
        most = max(usual.max_repeats, low)
        high = self.number(table, path, "max_repeats", most, limits.WARMUP_REPEATS)
        if high < low:
            self.problem((*path, "max_repeats"), f"'max_repeats' {high} is below 'min_repeats'")
        tolerance = self.number(table, path, "tolerance", usual.tolerance, limits.TOLERANCE)
        return Warmup(min_repeats=low, max_repeats=high, tolerance=tolerance)

    def row(self, table: Any, path: Path) -> WorkloadRow | None:
        if not isinstance(table, dict):
            self.problem(path, "'workload' must be written as tables: [[workload]]")
            return None
        self.keys(table, path, _ROW_KEYS, "[[workload]]")
        name = table.get("name")
        if not isinstance(name, str) or name not in self.registry:
            what = f"unknown workload {shown(name)}" if "name" in table else "'name' is missing"
            at = (*path, "name") if "name" in table else path
            self.problem(at, f"{what}{_near(str(name), self.registry)}")
            return None
        return WorkloadRow(
            name=name,
            units=self.units(table, path, name),
            required=self.required(table, path),
            environments=self.environments(table, path),
            workers=self.workers(table, path),
            params=self.params(table.get("params", {}), (*path, "params"), name),
            repeats=self.optional(table, path, "repeats", limits.REPEATS),
            timeout_s=self.optional(table, path, "timeout_s", limits.TIMEOUT_S),
        )

    def required(self, table: Mapping[str, Any], path: Path) -> bool:
        value = table.get("required", True)
        if not isinstance(value, bool):
            what = f"'required' must be true or false, not {shown(value)}"
            self.problem((*path, "required"), what)
        return bool(value)

    def units(self, table: Mapping[str, Any], path: Path, name: str) -> int | None:
        if getattr(self.registry[name], "own_units", None) is None:
            units: int = self.number(table, path, "units", None, limits.UNITS)
            return units
        if "units" in table:
            what = f"workload {name!r} counts its units by its parameters: leave 'units' out"
            self.problem((*path, "units"), what)
        return None

    def workers(self, table: Mapping[str, Any], path: Path) -> tuple[int, ...]:
        given = table.get("workers", [])
        path = (*path, "workers")
        values = given if isinstance(given, list) else [given]
        if "workers" in table and (not values or len(values) > limits.CELLS):
            self.problem(path, f"'workers' must be a number or up to {limits.CELLS:,} of them")
            return ()
        for i, value in enumerate(values):
            spot = (*path, i) if isinstance(given, list) else path
            if value not in limits.NUMBER_OF_WORKERS:
                allowed = limits.NUMBER_OF_WORKERS.text
                self.problem(spot, f"'workers' must be {allowed}, not {shown(value)}")
            elif value in values[:i]:
                self.problem(spot, f"'workers' lists {value} twice")
        return tuple(dict.fromkeys(v for v in values if v in limits.NUMBER_OF_WORKERS))

    def environments(self, table: Mapping[str, Any], path: Path) -> tuple[Any, ...]:
        path = (*path, "environments") if "environments" in table else path
        values = table.get("environments")
        if not isinstance(values, list) or not values:
            what = "is missing" if values is None else "must be a list that is not empty"
            self.problem(path, f"'environments' {what}: choose of {', '.join(ENVIRONMENTS)}")
            return ()
        if len(values) > len(ENVIRONMENTS):
            what = f"'environments' lists {len(values):,}; there are only {len(ENVIRONMENTS)}"
            self.problem(path, what)
            return ()
        for i, value in enumerate(values):
            if value not in ENVIRONMENTS:
                near = _near(str(value), ENVIRONMENTS)
                self.problem((*path, i), f"unknown environment {shown(value)}{near}")
            elif value in values[:i]:
                self.problem((*path, i), f"environment {value!r} is listed twice")
        return tuple(v for v in values if v in ENVIRONMENTS)

    def params(
        self, table: Any, path: Path, name: str
    ) -> tuple[tuple[str, tuple[Scalar, ...]], ...]:
        if not isinstance(table, dict):
            self.problem(path, "'params' must be a table: [workload.params]")
            return ()
        known = self.registry[name].params
        rows = []
        for key, given in sorted(table.items()):
            at = (*path, key)
            if key not in known:
                what = f"workload {name!r} has no parameter {shown(key)}"
                self.problem(at, f"{what}{_near(key, known)}")
                continue
            values = given if isinstance(given, list) else [given]
            if len(values) > limits.CELLS:
                what = f"has {len(values):,} values; the most are {limits.CELLS:,}"
                self.problem(at, f"parameter {key!r} of {name!r} {what}")
                continue
            if not values:
                self.problem(at, f"parameter {key!r} of {name!r} has an empty list of values")
            taken: dict[str, Scalar] = {}
            for i, value in enumerate(values):
                spot = (*at, i) if isinstance(given, list) else at
                try:
                    checked = check_value(known[key].check(value), f"parameter {key!r}")
                except (ValueError, InputError) as err:
                    why = f"{err.expected}" if isinstance(err, InputError) else str(err)
                    self.problem(spot, f"parameter {key!r} of {name!r}: {why}")
                    continue
                if spell(checked) in taken:
                    what = f"parameter {key!r} of {name!r}: {shown(value)} is listed twice"
                    self.problem(spot, what)
                taken[spell(checked)] = checked
            rows.append((key, tuple(taken.values())))
        return tuple(rows)

    def few_enough(self, rows: list[WorkloadRow | None], rounds: int) -> bool:
        """Count cells and blocks without making one; False when there are too many."""
        total = 0
        for i, row in enumerate(rows):
            total += row.cells if row else 0
            if total > limits.CELLS:
                self.problem(
                    ("workload", i),
                    f"this table makes {row.cells if row else 0:,} cells, {total:,} with those "
                    f"above it; the most are {limits.CELLS:,} in all",
                )
                return False
        if total * rounds > limits.BLOCKS:
            self.problem(
                ("matrix", "rounds"),
                f"{rounds:,} rounds of {total:,} cells are {total * rounds:,} blocks; "
                f"the most are {limits.BLOCKS:,}",
            )
            return False
        return True

    def own_counts(self, rows: list[WorkloadRow | None]) -> None:
        """Let workloads that count their units say what does not fit together."""
        for i, row in enumerate(rows):
            if row is None or row.units is not None:
                continue
            for point in row.points():
                try:
                    own_units(self.registry[row.name], dict(point))
                except (InputError, ValueError) as err:
                    told = f"workload {row.name!r} with {dict(point)}: {_in_one_line(err)}"
                    self.problem(("workload", i), told)

    def duplicates(self, rows: list[WorkloadRow | None]) -> None:
        seen: dict[object, int] = {}
        for i, row in enumerate(rows):
            for point in row.points() if row else ():
                for env, workers in row.places() if row else ():
                    key = (row.name if row else "", point, env, workers)
                    first = seen.setdefault(key, i)
                    if first != i:
                        line = line_of(self.lines, ("workload", first))
                        self.problem(
                            ("workload", i),
                            f"workload {key[0]!r} with {dict(point)} in {env!r} is already "
                            f"in the table of line {line}",
                        )


def _in_one_line(err: InputError | ValueError) -> str:
    if not isinstance(err, InputError):
        return str(err)
    told = [err.message]
    told += [f"expected {err.expected}"] if err.expected else []
    told += [f"found {err.found}"] if err.found else []
    told += [err.todo] if err.todo else []
    return "; ".join(told)
