"""The task graphs of Table I of Böhm and Beránek (2020) as they are built today, as a table.

``python bench/paper_graphs.py > table.md``: every row at the paper's size, in both
forms, built as for a cluster and counted; nothing is run or timed. Each graph has a
process of limited time and memory, and one that cannot be built says why. The largest
have 200,000 tasks: all of it takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.graph import GraphFacts, GraphForm
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.workloads.graph_counter import GraphCounter, Work
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.registry import load_registry
from daskperf_tasks.workloads.suite.paper import TABLE_I, PaperRow

FORMS: tuple[GraphForm, GraphForm] = ("low-level", "optimized")
BEGIN, END = "<!-- graph table: begin -->", "<!-- graph table: end -->"
#: What Dask fuses of a bag depends on the order of sets; with one seed it is the same always.
HASH_SEED = 0
HEAD = ("graph", "paper", "low-level", "optimized")
#: Stands where a workload has only the other form.
ONLY_OTHER = "–"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of the table; cells are ``tasks / arcs / longest path``, or why there are none."""

    name: str
    paper: str
    cells: Mapping[GraphForm, str]


def work_of(row: PaperRow, form: GraphForm, workloads: Mapping[str, Workload]) -> Work:
    """Return what is to be built for a row; workloads of one form ignore ``form``."""
    workload = workloads[row.workload]
    params = dict(row.params)
    if "graph" in workload.params:
        params["graph"] = form
    counted: Callable[[Mapping[str, object]], int] = getattr(workload, "own_units")  # noqa: B009
    return Work(
        workload=row.workload,
        params=tuple(sorted(params.items())),
        units=counted(params),
        seed=0,
        cluster=True,
    )


def line_of(
    row: PaperRow,
    counter: GraphCounter,
    workloads: Mapping[str, Workload],
    forms: Iterable[GraphForm] = FORMS,
) -> Line:
    """Build a row's graphs and return its line."""
    cells: dict[GraphForm, str] = {}
    one_form = "graph" not in workloads[row.workload].params
    for form in forms:
        try:
            found = counter.count(work_of(row, form, workloads))
        except InputError as err:
            # Its size in this form is more than the workload offers.
            found = Missing(missing=f"not offered: {err.expected}")
        if one_form and isinstance(found, GraphFacts) and found.form != form:
            cells[form] = ONLY_OTHER
        else:
            cells[form] = spelled(found)
    return Line(name=row.name, paper=paper_cell(row), cells=cells)


def spelled(found: GraphFacts | Missing) -> str:
    """Spell a graph's properties.

    Examples
    --------
    >>> spelled(GraphFacts(form="low-level", tasks=1001, arcs=1000, longest_path=1))
    '1,001 / 1,000 / 1'
    """
    if isinstance(found, Missing):
        return found.missing.replace("|", "/")
    return f"{found.tasks:,} / {found.arcs:,} / {found.longest_path:,}"


def paper_cell(row: PaperRow) -> str:
    """Spell the paper's properties; a dot stands for what is not at hand."""
    values = (row.tasks, row.arcs, row.longest_path)
    return " / ".join("·" if v is None else f"{v:,}" for v in values)


def table_md(lines: Iterable[Line]) -> str:
    """Return the table in Markdown."""
    rows = [HEAD, ("---",) * len(HEAD)]
    rows += [(line.name, line.paper, *(line.cells[form] for form in FORMS)) for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def read_table(text: str) -> dict[str, Line]:
    """Read the table between its markers back, by graph.

    Raises
    ------
    ValueError
        When the markers or rows between them are missing.
    """
    _, begin, rest = text.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no table between {BEGIN} and {END}")
    found = {}
    for row in body.strip().splitlines()[2:]:
        name, paper, low, optimized = (cell.strip() for cell in row.strip().strip("|").split("|"))
        found[name] = Line(name=name, paper=paper, cells={"low-level": low, "optimized": optimized})
    if not found:
        raise ValueError("the table has no rows")
    return found


def main(argv: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="rows by name; default: all")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one graph")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB for one graph")
    asked = parser.parse_args(argv)
    unknown = set(asked.names) - {row.name for row in TABLE_I}
    if unknown:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    workloads = load_registry()
    lines = []
    for row in TABLE_I:
        if asked.names and row.name not in asked.names:
            continue
        print(row.name, file=sys.stderr, flush=True)
        with GraphCounter(
            timeout_s=asked.timeout, memory_gib=asked.memory, hash_seed=HASH_SEED
        ) as counter:
            lines.append(line_of(row, counter, workloads))
    print(table_md(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
