"""How figures are written for people: three digits, intervals, reasons for what is missing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure as it stands in a table."""

    text: str
    #: ``[low, high]``, empty when there is none or all values are equal.
    interval: str = ""
    #: Coverage of the interval and number of values, empty when there is none.
    detail: str = ""
    #: Why there is no figure; empty when there is one.
    reason: str = ""

    @property
    def full(self) -> str:
        """Text with interval, or a dash."""
        return f"{self.text} {self.interval}".strip()


DASH = "–"


def number(value: float) -> str:
    """Write a number with three significant digits and no exponent where it can be read.

    Examples
    --------
    >>> [number(x) for x in (0.0, 0.01234, 1.0, 12.345, 1234.6, 1.2e9)]
    ['0', '0.0123', '1.00', '12.3', '1,235', '1.20e+09']
    """
    size = abs(value)
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    if size >= 1e7 or size < 1e-4:
        return f"{value:.2e}"
    if size >= 1000:
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(size)))
    return f"{value:.{digits}f}"


def figure(value: Estimate | Measured) -> Figure:
    """Turn an estimate, a number or a reason into what a table shows."""
    if isinstance(value, Missing):
        return Figure(text=DASH, reason=value.missing)
    if isinstance(value, Estimate):
        return Figure(
            text=number(value.value),
            interval=""
            if value.low == value.high
            else f"[{number(value.low)}, {number(value.high)}]",
            detail=f"{value.confidence:.0%} interval, n = {value.n}",
        )
    return Figure(text=number(value))


def ratio(value: Estimate | Measured) -> Figure:
    """The same for a ratio, with the sign of multiplication in front."""
    found = figure(value)
    if found.reason:
        return found
    return Figure(text=f"×{found.text}", interval=found.interval, detail=found.detail)


def seconds(value: float) -> str:
    """Write how long a stage took, as one says it: tenths of a second, then minutes.

    Examples
    --------
    >>> seconds(0.0018), seconds(12.34), seconds(59.97), seconds(119.7), seconds(3725.0)
    ('0.0 s', '12.3 s', '1 min 0 s', '2 min 0 s', '1 h 2 min')
    """
    if round(value, 1) < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s"


def size(value: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(512), size(2048), size(3 * 2**20)
    ('512 B', '2.0 KiB', '3.0 MiB')
    """
    if value < 1024:
        return f"{value:.0f} B"
    for unit in ("KiB", "MiB"):
        value /= 1024
        if value < 1024:
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} GiB"


def one_line(text: str, limit: int = 400) -> str:
    """Put foreign text on one line of bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


#: A reason as it stands where there is little room; notes and report have it whole.
BRIEF = 160


def brief(text: str) -> str:
    """Cut a reason to one line for a banner, a terminal or a message.

    Examples
    --------
    >>> brief("a" * 200)[-4:], len(brief("a " * 200)), brief("short")
    ('aaa…', 158, 'short')
    """
    flat = one_line(text, 10 * BRIEF)
    if len(flat) <= BRIEF:
        return flat
    kept = flat[: BRIEF - 1]
    whole = kept[: kept.rfind(" ")] if " " in kept[BRIEF // 2 :] else kept
    return whole.rstrip(" ,;:") + "…"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "cell"), counted(2, "cell"), counted(0, "pass", "passes")
    ('1 cell', '2 cells', '0 passes')
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
