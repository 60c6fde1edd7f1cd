"""The link from a task to the page of the run that it worked on."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseOperatorLink

#: The DAGs whose tasks belong to a run of daskperf.
DAG_IDS = frozenset({"nightly", "on_demand", "optimization_report"})
#: Where the browser is mounted.
PREFIX = "/daskperf"


class RunLink(BaseOperatorLink):  # type: ignore[misc]
    """Leads to the run's page; no link before ``start`` has made the run."""

    name = "daskperf run"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address, or an empty string when there is nothing to lead to."""
        if ti_key.dag_id not in DAG_IDS:
            return ""
        run_id = _run_id_of(ti_key.dag_id, ti_key.run_id)
        return run_page(run_id) if run_id else ""


def run_page(run_id: str) -> str:
    """Return the address of a run's page below this Airflow."""
    from airflow.configuration import conf

    base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return f"{base}{PREFIX}/runs/{quote(run_id, safe='')}"


def _run_id_of(dag_id: str, dag_run_id: str) -> str | None:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.execute(
            XComModel.get_many(
                key="run_id", run_id=dag_run_id, dag_ids=dag_id, task_ids="start"
            ).with_only_columns(XComModel.value)
        ).first()
    if found is None:
        return None
    try:
        value = json.loads(found.value)
    except (TypeError, ValueError):
        value = found.value
    return value if isinstance(value, str) else None
