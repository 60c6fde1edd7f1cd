"""A round's log is published: what a workload prints must not fill the store."""

from __future__ import annotations

from pathlib import Path

#: The most that is kept of a log: a quarter from its beginning, the rest from its end.
LOG_BYTES = 16 * 2**20
#: Characters that are kept of a line that is quoted.
_LINE = 500


def last_lines(text: str, most: int) -> str:
    """Return the end of a text for a block's document, long lines cut.

    Examples
    --------
    >>> last_lines("a\\nb\\nc", 2)
    'b\\nc'
    """
    return "\n".join(line[:_LINE] for line in text.splitlines()[-most:])


def trim(path: Path, limit_bytes: int = LOG_BYTES) -> None:
    """Cut a file's middle out when it is longer than the limit, and say so in its place."""
    size = path.stat().st_size
    if size <= limit_bytes:
        return
    head = limit_bytes // 4
    tail = limit_bytes - head
    part = path.with_name(f"{path.name}.part")
    with path.open("rb") as source, part.open("wb") as target:
        target.write(source.read(head))
        target.write(f"\n... {size - head - tail:,} bytes left out ...\n".encode())
        source.seek(size - tail)
        target.write(source.read())
    part.replace(path)
