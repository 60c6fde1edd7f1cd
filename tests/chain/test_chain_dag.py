"""The real DAG on real parts, run the way that a developer does: ``airflow dags test``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.chain.conftest import CHECKOUT, Bench


def test_the_on_demand_dag_end_to_end(bench: Bench, tmp_path: Path) -> None:
    home = tmp_path / "airflow"
    env = {
        **bench.env,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(CHECKOUT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(CHECKOUT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
    }

    def airflow(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "airflow", *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=280,
            cwd=tmp_path,
        )

    migrated = airflow("db", "migrate")
    assert migrated.returncode == 0, migrated.stderr[-2000:]
    conf = json.dumps({"matrix": "smoke", "repeats": 3})
    tested = airflow("dags", "test", "on_demand", "--conf", conf)
    log = tested.stdout + tested.stderr
    assert tested.returncode == 0, log[-6000:]

    [run] = bench.run("list", "--json").document["runs"]
    assert (run["state"], run["green"], run["matrix"]) == ("complete", True, "smoke")
    plan = bench.artifact(run["run_id"], "plan.json")
    assert plan["trigger"] == "on_demand"
    assert {c["request"]["repeats"] for c in plan["cells"]} == {3}
    assert bench.run("verify", run["run_id"]).code == 0
    # The log is for people, and holds no secret.
    assert "round 1 of 1, subject" in log
    assert bench.env["AWS_SECRET_ACCESS_KEY"] not in log

    refused = airflow("dags", "test", "on_demand", "--conf", json.dumps({"repeat": 3}))
    assert refused.returncode != 0
    assert "repeats" in refused.stdout + refused.stderr
