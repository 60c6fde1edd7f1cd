"""What is expected of each table, in words and as Great Expectations expectations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Table = Literal[
    "cells",
    "blocks",
    "valid_blocks",
    "samples",
    "pairs",
    "summaries",
    "workers",
    "experiments",
    "documents",
    "run",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """One expectation.

    ``kind`` is the name of a class of ``great_expectations.expectations``,
    ``options`` its arguments.
    """

    suite: str
    name: str
    table: Table
    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    expected: str


def _equal(suite: str, name: str, table: Table, a: str, b: str, expected: str) -> Expect:
    return Expect(
        suite=suite,
        name=name,
        table=table,
        kind="ExpectColumnPairValuesToBeEqual",
        options={"column_A": a, "column_B": b, "ignore_row_if": "either_value_is_missing"},
        expected=expected,
    )


def _is(suite: str, name: str, table: Table, column: str, value: Any, expected: str) -> Expect:
    return Expect(
        suite=suite,
        name=name,
        table=table,
        kind="ExpectColumnValuesToBeInSet",
        options={"column": column, "value_set": [value]},
        expected=expected,
    )


def _unique(name: str, table: Table, column: str, expected: str) -> Expect:
    return Expect(
        suite="keys",
        name=name,
        table=table,
        kind="ExpectColumnValuesToBeUnique",
        options={"column": column},
        expected=expected,
    )


def _between(name: str, column: str, expected: str, **limits: Any) -> Expect:
    return Expect(
        suite="ranges",
        name=name,
        table="samples",
        kind="ExpectColumnValuesToBeBetween",
        options={"column": column, **limits},
        expected=expected,
    )


#: The suite ``completeness`` says what is missing; the others what must not be believed.
EXPECTATIONS: tuple[Expect, ...] = (
    _equal(
        "completeness",
        "every required cell is measured in every round",
        "cells",
        "rounds_valid",
        "rounds_planned",
        "a valid block of each required cell and wheel in each planned round",
    ),
    _equal(
        "completeness",
        "every required cell has all its samples",
        "cells",
        "samples_valid",
        "samples_planned",
        "planned rounds times planned repeats measured samples",
    ),
    _is(
        "completeness",
        "all documents are there",
        "documents",
        "present",
        True,
        "plan, subject, deployment, preflight, summaries, comparison, planned experiments",
    ),
    _is(
        "completeness",
        "every planned point of an experiment is answered",
        "experiments",
        "answer",
        "yes",
        "a makespan or the reason for none, for each planned point",
    ),
    _is(
        "completeness",
        "there is something to check",
        "run",
        "has_cells",
        True,
        "a plan with at least one required cell",
    ),
    _unique("no attempt is stored twice", "blocks", "key", "each idempotency key once"),
    _unique(
        "no block counts twice",
        "valid_blocks",
        "place",
        "at most one valid attempt for each cell, wheel and round",
    ),
    _unique("no sample is stored twice", "samples", "key", "each repeat of a block once"),
    _is(
        "keys",
        "every block is in the plan",
        "blocks",
        "in_plan",
        True,
        "cell, wheel and round of each block as planned",
    ),
    _equal(
        "inputs",
        "every block computed the planned request",
        "blocks",
        "request_hash",
        "planned_hash",
        "the request hash of the plan",
    ),
    _equal(
        "inputs",
        "every valid block has the planned repeats",
        "valid_blocks",
        "repeats",
        "planned_repeats",
        "as many measured samples as repeats planned",
    ),
    _equal(
        "inputs",
        "local and remote are planned alike",
        "pairs",
        "local_request",
        "remote_request",
        "equal inputs, seeds, warm-up and repeats on both sides",
    ),
    _equal(
        "inputs",
        "local and remote were measured alike",
        "pairs",
        "local_measured",
        "remote_measured",
        "equal request hashes and repeats in the blocks of both sides",
    ),
    _is(
        "inputs",
        "the comparison compares equal inputs",
        "pairs",
        "said_equal",
        True,
        "same_inputs true for each pair",
    ),
    _between("makespans are positive", "makespan_s", "above 0 s", min_value=0, strict_min=True),
    _between("all results are right", "success_rate", "1, nothing less", min_value=1, max_value=1),
    _between("units are counted", "units", "at least 1", min_value=1),
    _between("tasks are counted", "tasks", "at least 1", min_value=1),
    _between(
        "threads are not busier than busy",
        "busy_fraction",
        "task wall time / (threads x makespan) from 0 to 1.05",
        min_value=0,
        max_value=1.05,
    ),
    _between("CPU times are not negative", "task_cpu_s", "0 s or more", min_value=0),
    _between("bytes moved are not negative", "transfer_bytes", "0 or more", min_value=0),
    _between("memory is positive", "peak_rss_mib", "above 0", min_value=0, strict_min=True),
    Expect(
        suite="ranges",
        name="tasks use no more CPU than their threads have",
        table="samples",
        kind="ExpectColumnPairValuesAToBeGreaterThanB",
        options={
            "column_A": "task_cpu_limit_s",
            "column_B": "task_cpu_s",
            "or_equal": True,
            "ignore_row_if": "either_value_is_missing",
        },
        expected="task CPU time at most threads x makespan, clocks' ticks allowed for",
    ),
    Expect(
        suite="ranges",
        name="blocks have threads",
        table="valid_blocks",
        kind="ExpectColumnValuesToBeBetween",
        options={"column": "threads", "min_value": 1},
        expected="at least 1",
    ),
    _equal(
        "subject",
        "every block ran under the chosen wheel",
        "valid_blocks",
        "subject_sha256",
        "promised_sha256",
        "the sha256 in subject.json",
    ),
    _equal(
        "subject",
        "every block imported the chosen version",
        "valid_blocks",
        "subject_version",
        "promised_version",
        "the version in subject.json",
    ),
    _equal(
        "subject",
        "every worker imports the chosen version",
        "workers",
        "version",
        "promised_version",
        "the version in subject.json on each worker after the switch",
    ),
    _is(
        "subject",
        "every worker imports installed files",
        "workers",
        "files_installed",
        True,
        "the file hash of one of the installs",
    ),
    _equal(
        "layout",
        "every valid block had the lane's threads",
        "valid_blocks",
        "threads",
        "lane_threads",
        "remote: the threads of all workers; remote-processes: one a worker; remote-threads: "
        "those of one; locally the same numbers",
    ),
    _equal(
        "layout",
        "every valid block ran in the lane's processes",
        "valid_blocks",
        "processes",
        "lane_processes",
        "as many processes as preflight saw workers, one where tasks are bound to one",
    ),
    _equal(
        "layout",
        "every valid block had the lane's workers",
        "valid_blocks",
        "members",
        "lane_members",
        "the workers that preflight saw, by name and threads, before and after; locally as many",
    ),
    _equal(
        "lane",
        "no worker came or went in a valid block",
        "valid_blocks",
        "members_before",
        "members_after",
        "the same worker processes before and after",
    ),
    _is(
        "lane",
        "nothing was measured that preflight forbade",
        "run",
        "measured_though_blocked",
        False,
        "no valid block in a run that preflight blocked",
    ),
    _equal(
        "summaries",
        "summaries count the raw samples",
        "summaries",
        "samples_summarised",
        "samples_raw",
        "as many samples as the valid blocks have",
    ),
    _equal(
        "documents",
        "all documents are of this run",
        "documents",
        "run_id",
        "this_run",
        "the run's id in each document",
    ),
    _is(
        "documents",
        "schemas and versions hold",
        "documents",
        "reads_back",
        "yes",
        "each document reads back as it was, at its schema's version",
    ),
    _is(
        "documents",
        "no number is NaN or infinite",
        "documents",
        "not_finite",
        "",
        "a figure or the reason for its absence",
    ),
)
