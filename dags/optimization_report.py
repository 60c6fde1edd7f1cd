"""By hand: serial or parallel, Python or Cython, and which version to use on this lane."""

from __future__ import annotations

from airflow.sdk import DAG

from daskperf_tasks.airflow.chain import wire_chain
from daskperf_tasks.airflow.forms import experiment_params

DOC = """
### The optimization report

Measures the same work as serial Python, serial Cython, parallel Python with processes and
parallel Cython with threads, checks every result, and recommends one version with its next
bottleneck. Empty fields mean the defaults; the work is the same for all four whatever is chosen.

`daskperf report optimization` does the same on the command line. The report of the run has table,
plot and recommendation.
"""

with DAG(
    dag_id="optimization_report",
    schedule=None,
    start_date=None,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    params=experiment_params("optimization"),
    tags=["daskperf"],
    description="Measure four versions of the same work, recommend one.",
    doc_md=DOC,
):
    wire_chain(trigger="optimization_report", experiment="optimization")
