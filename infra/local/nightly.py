"""``make nightly``: the embedded stack, one run of the nightly DAG, its summary.

Everything that a person sees of it: each service as it comes up, each stage as
it starts and ends with its time, the summary, where to browse, and where the
time went.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from daskperf_tasks.errors import DaskperfError

from . import stack
from .airflow_client import AirflowClient, TaskState
from .environment import stack_env

DAG_ID = "nightly"
#: Longest time that the run may take, in seconds.
DEADLINE_S = 3600.0

_SHOWN = {
    "running": "...",
    "success": "ok",
    "failed": "FAILED",
    "up_for_retry": "again",
    "skipped": "skipped",
    "upstream_failed": "not run",
}


class _Teller:
    """Prints one line an event, each with the seconds since the start."""

    def __init__(self, begun: float) -> None:
        self.begun = begun
        #: Gives the log of a task that is to be tried again.
        self.log_of: Callable[[TaskState], str] = lambda task: ""

    def line(self, text: str) -> None:
        print(f"{time.monotonic() - self.begun:6.1f} s  {text}", flush=True)

    def task(self, task: TaskState) -> None:
        word = _SHOWN.get(task.state or "")
        if word is None:
            return
        name = task.task_id if task.map_index < 0 else f"{task.task_id} {task.map_index + 1}"
        took = f"  {task.duration_s:.1f} s" if task.duration_s and task.state != "running" else ""
        again = f"  (try {task.try_number})" if task.try_number > 1 else ""
        self.line(f"{name:<14}{word}{took}{again}")
        if task.state == "up_for_retry":
            for line in _error_lines(self.log_of(task)):
                self.line(f"{'':<14}{line}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the nightly job and return its exit code: 0 green, 1 red, 3 infrastructure."""
    parser = argparse.ArgumentParser(prog="make nightly", description=__doc__)
    parser.add_argument("--install-log", type=Path, help="file with the seconds of installing")
    arguments = parser.parse_args(argv)
    begun = time.monotonic()
    teller = _Teller(begun)
    try:
        return _nightly(arguments.install_log, teller)
    except DaskperfError as error:
        print(f"daskperf: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(
            "interrupted; the run goes on in Airflow. `daskperf lane status` shows where, "
            "`make down` ends everything",
            file=sys.stderr,
        )
        return 130


def _nightly(install_log: Path | None, teller: _Teller) -> int:
    installed_s = _take_install_seconds(install_log)
    status = stack.up(progress=teller.line)
    up_s = time.monotonic() - teller.begun
    environment = stack_env(status.home)
    airflow = AirflowClient.from_environment(environment)
    airflow.wait_for_dag(DAG_ID)
    airflow.unpause(DAG_ID)
    dag_run = airflow.trigger(DAG_ID)
    teller.line(f"triggered the DAG {DAG_ID}: {dag_run}")
    teller.log_of = lambda task: airflow.task_log(DAG_ID, dag_run, task)
    triggered = time.monotonic()
    state = airflow.wait(DAG_ID, dag_run, progress=teller.task, deadline_s=DEADLINE_S)
    ran_s = time.monotonic() - triggered

    os.environ.update(environment)
    from daskperf_tasks.reading import show_run
    from daskperf_tasks.settings import read_settings

    run_id = _run_of(airflow, dag_run)
    stages: dict[str, float] = {}
    if run_id is None:
        print("\nthe run ended before it was planned; the logs of its failed tasks:\n")
        for name, text in airflow.failed_task_logs(DAG_ID, dag_run).items():
            print(f"--- {name}\n{_tail(text)}")
    else:
        document, text = show_run(read_settings(), run_id)
        stages = document.get("stage_seconds", {})
        print(f"\n{text}")
        if state != "success":
            for name, text in airflow.failed_task_logs(DAG_ID, dag_run).items():
                print(f"\n--- last lines of {name}\n{_tail(text)}")
    _where_to_browse(environment, status.home, run_id)
    _where_time_went(installed_s, up_s, ran_s, stages)
    return 0 if state == "success" else 1


def _take_install_seconds(log: Path | None) -> float | None:
    """Return the seconds that installing took just now; None when nothing was installed.

    The Makefile writes the file when it installs; it is taken away so that the
    next run does not report it again.
    """
    if log is None or not log.exists():
        return None
    seconds = float(log.read_text(encoding="utf-8"))
    log.unlink()
    return seconds


def _run_of(airflow: AirflowClient, dag_run: str) -> str | None:
    """Return daskperf's run id, which the task ``start`` left; None when it came to none."""
    value = airflow.xcom(DAG_ID, dag_run, "start", "run_id")
    return str(value) if value else None


def _error_lines(log: str) -> list[str]:
    """Return what a task's log says of its failure: the first error with its details."""
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if " error " in line), None)
    if start is None:
        return []
    return [line.split(" error ")[-1].strip() for line in lines[start : start + 5]]


def _tail(text: str, lines: int = 25) -> str:
    return "\n".join(text.splitlines()[-lines:])


def _where_to_browse(environment: dict[str, str], home: Path, run_id: str | None) -> None:
    url = environment["DASKPERF_AIRFLOW_URL"]
    print(f"\nbrowse     {url}/daskperf/" + (f"runs/{run_id}" if run_id else ""))
    print(f"DAG runs   {url}/dags/{DAG_ID}")
    print(
        f"log in     user {environment['DASKPERF_AIRFLOW_USER']}, password in "
        f"{environment['DASKPERF_AIRFLOW_PASSWORDS']}"
    )
    if run_id:
        print(f"again      .venv/bin/daskperf show {run_id}")
    print("stop       make down   (the stack is left running)")


def _where_time_went(
    installed_s: float | None, up_s: float, ran_s: float, stages: dict[str, float]
) -> None:
    print("\nwhere the time went")
    rows = [("installing", installed_s), ("stack up", up_s)]
    rows += [(f"  {name}", seconds) for name, seconds in stages.items()]
    rows += [("  Airflow between the stages", max(0.0, ran_s - sum(stages.values())))]
    rows.insert(2, ("the run", ran_s))
    for name, seconds in rows:
        shown = "nothing to install" if seconds is None else f"{seconds:.1f} s"
        print(f"  {name:<30}{shown:>20}")


if __name__ == "__main__":
    sys.exit(main())
