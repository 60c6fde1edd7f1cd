"""An answer for Airflow's request for the logs of a running task.

The web server reads task logs from the folder that it shares with the
scheduler, yet for a running task it also asks the log server of the host that
runs it. Airflow's own log servers listen on all interfaces and cannot be told
not to, so the stack starts scheduler and triggerer without them. This one says,
on loopback, that there is nothing to add; without it each look at a running
task would put a stack trace into the web server's log.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_LOOPBACK = "127.0.0.1"


def host() -> str:
    """Name that Airflow's processes give for the host they run on."""
    return _LOOPBACK


class _NothingToAdd(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with an empty log."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main(port: int) -> None:
    """Serve until ended."""
    ThreadingHTTPServer((_LOOPBACK, port), _NothingToAdd).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
