"""The check that the text workloads share: partitions counted again in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Checked, Params
from daskperf_tasks.workloads.suite.corpus import TOLERANCE, cuts, recounted


def check_partitions(
    name: str,
    results: tuple[Any, ...],
    full: Params,
    seed: int,
    *,
    possible: Callable[[object, int], bool],
    rule: str,
    reference: Callable[[int, int], Any],
    is_near: Callable[[Any, Any], bool],
    method: str,
) -> Checked:
    """Hold every partition to what any must have, and some to their reference.

    Parameters
    ----------
    name
        Of the workload.
    full
        All its parameters; ``n`` documents are cut into ``p`` partitions.
    possible
        (result, rows) -> whether a partition of so many rows can have it.
    rule
        What ``possible`` demands, in words.
    reference
        (first document, last plus one) -> the right result.
    is_near
        (right result, result) -> whether they are equal within the tolerance.
    method
        How the reference is made, in words.

    Raises
    ------
    CorrectnessError
        Naming the partition that is wrong.
    """
    parts = cuts(full)
    if len(results) != len(parts):
        raise CorrectnessError(
            f"{name}: a partition is missing or one too many",
            expected=f"{len(parts)} partitions",
            found=str(len(results)),
        )
    for i, ((first, stop), found) in enumerate(zip(parts, results, strict=True)):
        if not possible(found, stop - first):
            raise CorrectnessError(
                f"{name}: no {stop - first} documents can have this result",
                where=f"partition {i}, seed {seed}, {full}",
                expected=rule,
                found=repr(found)[:300],
            )
    again = recounted(full)
    for i in again:
        expected = reference(*parts[i])
        if not is_near(expected, results[i]):
            raise CorrectnessError(
                f"{name}: the rows differ from {method}",
                where=f"partition {i}, seed {seed}, {full}",
                expected=repr(expected),
                found=repr(results[i]),
            )
    rest = "" if len(again) == len(parts) else "; the others hold what any must"
    return Checked(
        right_units=parts[-1][1],
        text=f"{len(again)} of {len(parts)} partitions equal {method} within {TOLERANCE:g} an "
        f"entry{rest}",
    )
