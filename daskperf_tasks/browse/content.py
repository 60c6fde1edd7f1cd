"""How an artifact is served: its type by our own table, and headers that keep it inert.

A stored page is somebody's output. Served plainly it could read the session
cookie of whoever looks at it, so each artifact gets a sandbox of its own:
scripts run (Dask's report needs them), with an origin that owns nothing.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

#: Extension -> content type, for what a browser may show; everything else is downloaded.
_SHOWN = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".md": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".csv": "text/plain; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_DOWNLOADED = {
    ".parquet": "application/vnd.apache.parquet",
    ".whl": "application/zip",
}

#: Of every answer.
COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
#: Of our own pages: nothing but our own style sheet and framed artifacts.
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
ARTIFACT_POLICY = "sandbox allow-scripts"


def content_type(name: str) -> str:
    """Return the content type of an artifact by its extension.

    Examples
    --------
    >>> content_type("report.html"), content_type("a.exe")
    ('text/html; charset=utf-8', 'application/octet-stream')
    """
    suffix = PurePosixPath(name).suffix.lower()
    return _SHOWN.get(suffix) or _DOWNLOADED.get(suffix) or "application/octet-stream"


def artifact_headers(name: str) -> dict[str, str]:
    """Return the headers that an artifact is served with.

    Parameters
    ----------
    name
        Its key below the run.
    """
    path = PurePosixPath(name)
    shown = path.suffix.lower() in _SHOWN
    file = quote(path.name, safe="")
    return {
        **COMMON_HEADERS,
        "Content-Type": content_type(name),
        "Content-Security-Policy": ARTIFACT_POLICY,
        "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{file}",
    }
