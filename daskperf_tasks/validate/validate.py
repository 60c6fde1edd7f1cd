"""Have Great Expectations check a run's tables."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import Stored
from daskperf_tasks.model.experiment import Experiments
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.ids import Side
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Check, Comparison, Summary, Validation
from daskperf_tasks.model.subject import Deployment, SubjectSet
from daskperf_tasks.validate import tables
from daskperf_tasks.validate.documents import document_rows
from daskperf_tasks.validate.suites import EXPECTATIONS, Expect

#: So many offenders are named in a check.
_NAMED = 5


def validate_run(
    plan: Plan,
    blocks: Sequence[BlockResult],
    summaries: Mapping[Side, Summary],
    comparison: Comparison | None,
    preflight: Preflight | None,
    deployment: Deployment | None,
    subjects: SubjectSet | None,
    experiments: Experiments | None = None,
) -> Validation:
    """Check a run against its plan and itself.

    Parameters
    ----------
    plan, blocks, summaries, comparison, preflight, deployment, subjects, experiments
        The run's documents; None (or nothing in it) for those that it did
        not leave. ``blocks`` holds all attempts.

    Returns
    -------
    Validation
        Every expectation with what was found. Failures of the suite
        ``completeness`` say that something is missing; failures of the
        others that something must not be believed.
    """
    rows = run_tables(
        plan, blocks, summaries, comparison, preflight, deployment, subjects, experiments
    )
    checks, version = _check(rows)
    return Validation(
        run_id=plan.run_id,
        success=all(c.success for c in checks),
        checks=checks,
        great_expectations=version,
    )


def run_tables(
    plan: Plan,
    blocks: Sequence[BlockResult],
    summaries: Mapping[Side, Summary],
    comparison: Comparison | None,
    preflight: Preflight | None,
    deployment: Deployment | None,
    subjects: SubjectSet | None,
    experiments: Experiments | None = None,
) -> dict[str, list[tables.Row]]:
    """Return the rows of each table that the suites look at."""
    documents: list[tuple[str, Stored | None]] = [
        ("plan.json", plan),
        ("subject.json", subjects),
        ("deployment.json", deployment),
        ("preflight.json", preflight),
        ("local/summary.json", summaries.get("local")),
        ("remote/summary.json", summaries.get("remote")),
        ("comparison.json", comparison),
        *([("experiments.json", experiments)] if plan.experiments else []),
        *((f"block {b.key}", b) for b in blocks),
    ]
    of_blocks = tables.block_rows(plan, blocks, subjects, preflight)
    of_cells = tables.cell_rows(plan, blocks)
    blocked = preflight is None or preflight.blocked
    return {
        "cells": of_cells,
        "blocks": of_blocks,
        "valid_blocks": [row for row in of_blocks if row["valid"]],
        "samples": tables.sample_rows(blocks),
        "pairs": tables.pair_rows(plan, blocks, comparison),
        "summaries": tables.summary_rows(blocks, summaries),
        "workers": tables.worker_rows(deployment, subjects),
        "experiments": tables.experiment_rows(plan, experiments),
        "documents": [
            {**row, "this_run": plan.run_id} for row in document_rows(plan.run_id, documents)
        ],
        "run": [
            {
                "what": plan.run_id,
                "has_cells": bool(of_cells),
                "measured_though_blocked": blocked and any(b.valid for b in blocks),
            }
        ],
    }


def _check(rows: Mapping[str, list[tables.Row]]) -> tuple[tuple[Check, ...], str]:
    # Read when Great Expectations is imported.
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    import pandas as pd

    with _without_docs_site_notice():
        context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    source = context.data_sources.add_pandas("run")
    results: dict[str, Check] = {}
    for table, table_rows in rows.items():
        wanted = [e for e in EXPECTATIONS if e.table == table]
        if not table_rows:
            # Nothing to look at breaks no promise here; completeness says what is missing.
            results |= {e.name: _nothing_there(e) for e in wanted}
            continue
        batch = source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("all")
        suite = gx.ExpectationSuite(name=table, expectations=[_expectation(gx, e) for e in wanted])
        definition = context.validation_definitions.add(
            gx.ValidationDefinition(name=table, data=batch, suite=context.suites.add(suite))
        )
        outcome = definition.run(
            batch_parameters={"dataframe": pd.DataFrame(table_rows)},
            result_format={
                "result_format": "COMPLETE",
                "unexpected_index_column_names": ["what"],
            },
        )
        by_name = {e.name: e for e in wanted}
        for result in outcome.results:
            expect = by_name[result.expectation_config.meta["name"]]
            results[expect.name] = _to_check(expect, result.to_json_dict())
    return tuple(results[e.name] for e in EXPECTATIONS), str(gx.__version__)


@contextmanager
def _without_docs_site_notice() -> Iterator[None]:
    """Keep one line out of the log: the folder of a documentation site that nobody asked for."""

    def wanted(record: logging.LogRecord) -> bool:
        return "for ephemeral docs site" not in record.getMessage()

    logger = logging.getLogger("great_expectations.data_context.types.base")
    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)


def _expectation(gx: Any, expect: Expect) -> Any:
    kind = getattr(gx.expectations, expect.kind)
    return kind(**expect.options, meta={"name": expect.name})


def _nothing_there(expect: Expect) -> Check:
    return Check(
        suite=expect.suite,
        name=expect.name,
        success=True,
        expected=expect.expected,
        found=f"no {expect.table.replace('_', ' ')} to check",
    )


def _to_check(expect: Expect, result: Mapping[str, Any]) -> Check:
    return Check(
        suite=expect.suite,
        name=expect.name,
        success=bool(result["success"]),
        expected=expect.expected,
        found=found_in_words(result),
    )


def found_in_words(result: Mapping[str, Any]) -> str:
    """Say what Great Expectations found: how many were right, or which were not.

    Parameters
    ----------
    result
        One expectation's result as plain JSON, in the format ``COMPLETE``.
    """
    problem = result.get("exception_info") or {}
    if problem.get("raised_exception"):
        return f"the check itself broke: {problem.get('exception_message')}"
    inner = result.get("result") or {}
    count, bad = inner.get("element_count", 0), inner.get("unexpected_count", 0)
    if not bad:
        return f"all {count} as expected"
    named = [_offender(item) for item in (inner.get("unexpected_index_list") or [])[:_NAMED]]
    more = f"; and {bad - len(named)} more" if bad > len(named) else ""
    return f"{bad} of {count} not: " + "; ".join(named) + more


def _offender(item: Mapping[str, Any]) -> str:
    values = [f"{key} {value}" for key, value in item.items() if key != "what"]
    return f"{item.get('what')}: " + ", ".join(values)
