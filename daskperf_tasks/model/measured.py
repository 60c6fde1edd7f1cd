"""A figure or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Stands where a figure should be.

    Examples
    --------
    >>> Missing(missing="the local threaded scheduler moves no bytes").missing
    'the local threaded scheduler moves no bytes'
    """

    #: Why there is no figure, as a reader is told.
    missing: str


#: A number with the unit that its field's name carries, or the reason for its absence.
Measured = float | Missing


def known(value: Measured | None) -> float | None:
    """Return the number, or None where there is only a reason.

    Examples
    --------
    >>> known(2.5), known(Missing(missing="not asked for")), known(None)
    (2.5, None, None)
    """
    return None if value is None or isinstance(value, Missing) else float(value)
