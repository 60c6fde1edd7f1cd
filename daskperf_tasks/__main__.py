"""``python -m daskperf_tasks``: the command line."""

from __future__ import annotations

from daskperf_tasks.cli import main

main(prog_name="daskperf")
