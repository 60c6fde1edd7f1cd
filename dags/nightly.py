"""Every night: build the kernels, measure the matrix, publish what came out."""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable

from daskperf_tasks.airflow.chain import wire_chain
from daskperf_tasks.airflow.forms import run_params

DOC = """
### The nightly run

Builds the wheel, puts it on every worker of the lane, measures the matrix local and remote,
compares with the night before and publishes a report. Without being asked otherwise it takes
`matrix/nightly.toml` and the latest wheel.

- **green**: everything required was measured, validated and published.
- **red**: the log of the task `gate` says why in words. The report is published all the same.
- The link *daskperf run* in a task's details leads to the run's page.
- A task can be cleared safely: blocks that were measured are not measured again.
"""

with DAG(
    dag_id="nightly",
    # No start date: with one, a DAG that was just made would start a run for the night before.
    # The few minutes let a first run come that was due while the DAG was being read again.
    schedule=CronTriggerTimetable(
        "0 2 * * *", timezone="UTC", run_immediately=timedelta(minutes=5)
    ),
    start_date=None,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    params=run_params(),
    tags=["daskperf"],
    description="Deploy the latest wheel, measure it local and remote, judge it, publish.",
    doc_md=DOC,
):
    wire_chain(trigger="nightly")
