"""``up``, ``down`` and ``status`` on the command line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence

from daskperf_tasks.errors import DaskperfError

from . import stack
from .status import StackStatus


def parser() -> argparse.ArgumentParser:
    """Arguments of the three commands."""
    top = argparse.ArgumentParser(prog="daskperf lane", description=__doc__)
    commands = top.add_subparsers(dest="action", required=True)
    helps = {
        "up": "start what does not run yet, heal what is not fit for use",
        "down": "end everything that was started; data stays",
        "status": "say what runs; exit 1 unless all that was started is fit for use",
    }
    for name, text in helps.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--home", help="state folder (default: DASKPERF_HOME or .daskperf)")
        command.add_argument("--json", action="store_true", help="machine-readable on stdout")
        if name == "up":
            command.add_argument(
                "--no-airflow", action="store_true", help="only the object server and Dask"
            )
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns
    -------
    int
        0 done, 1 not all is fit for use, 2 bad input, 3 a service failed.
    """
    arguments = parser().parse_args(argv)
    begun = time.monotonic()

    def progress(line: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {line}", file=sys.stderr, flush=True)

    try:
        found = _act(arguments, progress)
    except DaskperfError as error:
        if arguments.json:
            print(json.dumps(error.document, indent=2))
        print(f"daskperf: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(
            "daskperf: interrupted; what was started so far goes on: "
            "`daskperf lane up` finishes, `daskperf lane down` ends it",
            file=sys.stderr,
        )
        return 130
    print(json.dumps(found.to_json(), indent=2) if arguments.json else found)
    return 1 if arguments.action == "status" and not _is_fit(found) else 0


def _act(arguments: argparse.Namespace, progress: stack.Progress) -> StackStatus:
    if arguments.action == "up":
        return stack.up(arguments.home, airflow=not arguments.no_airflow, progress=progress)
    if arguments.action == "down":
        return stack.down(arguments.home, progress=progress)
    return stack.status(arguments.home)


def _is_fit(found: StackStatus) -> bool:
    started = [s for s in found.services if s.state != "stopped"]
    return bool(started) and all(s.state == "running" and not s.wanting for s in started)
