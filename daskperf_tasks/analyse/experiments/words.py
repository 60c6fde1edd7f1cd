"""Numbers in sentences: three digits, with their interval and unit."""

from __future__ import annotations

import math

from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.results import Estimate


def three(value: float) -> str:
    """Write a number with three significant digits and without trailing zeros.

    Examples
    --------
    >>> [three(v) for v in (0.0, 0.01234, 1.0, 12.345, 1234.6, 2.5e8)]
    ['0', '0.0123', '1', '12.3', '1,235', '2.50e+08']
    """
    size = abs(value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if size >= 1e7 or size < 1e-4:
        return f"{value:.2e}"
    if size >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_interval(value: Estimate | Missing, unit: str = "") -> str:
    """Write an estimate with its interval, or say why there is none.

    Examples
    --------
    >>> with_interval(Estimate(value=0.5, low=0.4, high=0.6, confidence=0.95, n=8), "ms")
    '0.5 ms [0.4, 0.6]'
    """
    if isinstance(value, Missing):
        return f"not known ({value.missing})"
    text = f"{three(value.value)} {unit}".strip()
    if value.low == value.high:
        return text
    return f"{text} [{three(value.low)}, {three(value.high)}]"


def duration(value_s: float) -> str:
    """Write seconds in the unit that keeps the number short.

    Examples
    --------
    >>> duration(2.5), duration(0.0125), duration(3e-6)
    ('2.5 s', '12.5 ms', '3 us')
    """
    if abs(value_s) >= 1 or value_s == 0:
        return f"{three(value_s)} s"
    return f"{three(value_s * 1e3)} ms" if abs(value_s) >= 1e-3 else f"{three(value_s * 1e6)} us"


def listed(names: list[str]) -> str:
    """Write names as one says them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a, x", "b, x"])
    ('a', 'a, b and c', 'a, x; b, x')
    """
    if any("," in n for n in names):
        return "; ".join(names)
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""


def sentence(text: str) -> str:
    """Begin with a capital and end with a full stop.

    Examples
    --------
    >>> sentence("one point has no knee")
    'One point has no knee.'
    """
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def counted(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> counted(1, "thread"), counted(2, "process")
    ('1 thread', '2 processes')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"
