"""Checks of the public arguments: what was expected, what was found.

Every bad argument is a ValueError, also one of the wrong type: a caller has one
kind of error to catch for "these arguments make no sense".
"""

from __future__ import annotations

import math
import numbers
import operator

import numpy as np

#: Most points that :func:`daskperf_kernels.integrate` takes (a minute or so, compiled).
MAX_POINTS = 10_000_000_000
#: Most monomers that :func:`daskperf_kernels.aggregate` takes.
MAX_MONOMERS = 65_536


def whole_number(name: str, value: object, lowest: int, highest: int) -> int:
    """Return ``value`` as an int from ``lowest`` to ``highest``, both included.

    Raises
    ------
    ValueError
        Not an integer (a bool is none), or outside the range.
    """
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected an integer, found the bool {value}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"{name}: expected an integer, found {value!r} of type {type(value).__name__}"
        ) from None
    if not lowest <= number <= highest:
        raise ValueError(f"{name}: expected an integer from {lowest} to {highest}, found {number}")
    return number


def finite_number(name: str, value: object) -> float:
    """Return ``value`` as a finite float.

    Raises
    ------
    ValueError
        Not a real number (a bool is none), infinite, NaN, or too large for a float.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ValueError(
            f"{name}: expected a real number, found {value!r} of type {type(value).__name__}"
        )
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a finite number, found one above 1e308") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: expected a finite number, found {number}")
    return number
