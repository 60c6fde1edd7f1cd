"""Aligned columns and wrapped lines for a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from daskperf_tasks.report.spelling import one_line


def columns(rows: Sequence[Sequence[str]], width: int, right: tuple[int, ...] = ()) -> list[str]:
    """Align columns; the widest text column gives way when a line would be too long."""
    cells = [[plain(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    while len(widths) > 1 and not any(row[len(widths) - 1] for row in cells[1:]):
        widths.pop()  # a last column with nothing but its head
    cells = [row[: len(widths)] for row in cells]
    over = 2 + sum(widths) + 2 * (len(widths) - 1) - width
    while over > 0 and max(widths) > 6:
        i = widths.index(max(widths))
        cut = min(over, widths[i] - 6)
        widths[i] -= cut
        over -= cut
    lines = []
    for row in cells:
        parts = [
            _cut(c, w).rjust(w) if i in right else _cut(c, w).ljust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(parts)).rstrip()[:width])
    return lines


def table_width(rows: Sequence[Sequence[str]]) -> int:
    """Columns that a table takes when nothing in it is cut."""
    widest = [max(len(plain(row[i])) for row in rows) for i in range(len(rows[0]))]
    return 2 + sum(widest) + 2 * (len(widest) - 1)


def _cut(text: str, width: int) -> str:
    """Cut the middle out: what tells two names apart is mostly at their ends."""
    if len(text) <= width:
        return text
    left = width // 2
    return f"{text[:left]}…{text[len(text) - (width - left - 1) :]}"


def plain(text: str, limit: int = 400) -> str:
    """Drop control characters: foreign text must not steer the terminal."""
    flat = one_line(text, limit)
    return "".join(c for c in flat if unicodedata.category(c)[0] != "C")


def wrap(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Wrap text to lines of a width; an empty text gives one line."""
    return textwrap.wrap(
        plain(text, 2000), width, initial_indent=first, subsequent_indent=rest
    ) or [first.rstrip()]
