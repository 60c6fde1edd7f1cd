"""Comparing the numbers that a workload returned with those that are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskperf_tasks.errors import CorrectnessError, InputError


def same_numbers(
    workload: str, results: Sequence[Any], expected: Sequence[int], where: str
) -> None:
    """Raise unless the results are these whole numbers, to the bit.

    Parameters
    ----------
    results
        Python's or NumPy's scalars, or arrays of no axes.

    Raises
    ------
    CorrectnessError
        When one is another number, missing, or no whole number.

    Examples
    --------
    >>> import numpy as np
    >>> same_numbers("x", (np.array(3, dtype=np.uint64), 4), (3, 4), "here")
    """
    found = [_whole(result) for result in results]
    if found != list(expected):
        raise CorrectnessError(
            f"{workload}: the result differs from its reference",
            where=where,
            expected=", ".join(map(str, expected)),
            found=", ".join(map(str, found)) or "nothing",
        )


def is_near(results: Sequence[Any], expected: float, within: float) -> bool:
    """Return whether the results are one number, and that near the expected one."""
    return (
        len(results) == 1
        and isinstance(results[0], float)
        and abs(float(results[0]) - expected) <= within
    )


def near_number(
    wrong: str, results: Sequence[Any], expected: float, within: float, where: str, unit: str = ""
) -> None:
    """Raise unless the results are one number, and that near the expected one.

    Parameters
    ----------
    wrong
        What is wrong if they are not, with the workload's name.
    within
        How far it may be away.
    unit
        Of the number, for the message.

    Raises
    ------
    CorrectnessError
        When it is further away, no float, or not alone.

    Examples
    --------
    >>> near_number("x: the sum is wrong", (1.5,), 1.4, 0.2, "here")
    """
    if not is_near(results, expected, within):
        raise CorrectnessError(
            wrong,
            where=where,
            expected=f"{expected!r}{unit} within {within:.3g}",
            found=repr(results)[:200],
        )


def same_units(workload: str, units: int, expected: int) -> None:
    """Raise unless the repeat counts as many units as its parameters make.

    Raises
    ------
    CorrectnessError
        When it counts others.
    """
    if units != expected:
        raise CorrectnessError(
            f"{workload}: another number of units than the parameters make",
            expected=str(expected),
            found=str(units),
        )


def refuse(workload: str, expected: str, found: str) -> InputError:
    """Return the error for parameters that do not fit together."""
    return InputError(
        f"{workload}: the parameters do not fit together", expected=expected, found=found
    )


def _whole(value: Any) -> int | str:
    import numpy as np

    try:
        number = np.asarray(value)
    except (TypeError, ValueError):
        return type(value).__name__
    if number.ndim or number.dtype.kind not in "iu":
        return repr(value)[:60]
    return int(number)
