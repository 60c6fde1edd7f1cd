"""What an object server that was killed leaves behind."""

from __future__ import annotations

from .state import Layout

#: rclone writes an upload under such a name and renames it when it is whole.
_PATTERN = ".rclone_temp_*"


def clear(layout: Layout) -> None:
    """Remove the hidden halves of uploads; only while no object server runs."""
    for path in (layout.home / "objects").rglob(_PATTERN):
        if path.is_file():
            path.unlink(missing_ok=True)
