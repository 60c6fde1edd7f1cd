"""By hand: the same chain, with what a person asks for in the form."""

from __future__ import annotations

from airflow.sdk import DAG

from daskperf_tasks.airflow.chain import wire_chain
from daskperf_tasks.airflow.forms import run_params

DOC = """
### A run on demand

Trigger it and fill in the form: which matrix, which sizes, how many repeats, which wheel, which
cluster. Empty fields mean what the matrix and the lane file say. The run waits while another one
has the lane.

By REST or command line the same fields are the keys of `conf`; a key that is not in the form is
refused by the first task, with the nearest valid one.
"""

with DAG(
    dag_id="on_demand",
    schedule=None,
    start_date=None,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=False,
    params=run_params(),
    tags=["daskperf"],
    description="Measure a chosen matrix, wheel and cluster now.",
    doc_md=DOC,
):
    wire_chain(trigger="on_demand")
