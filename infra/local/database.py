"""Airflow's database: brought up to date when it is new or Airflow is."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from .services import airflow_program
from .state import Layout, write_private

#: Name of the step in logs and messages.
NAME = "airflow-database"


def command() -> tuple[str, ...]:
    """What brings the database up to date."""
    return (airflow_program(), "db", "migrate")


def is_current(layout: Layout) -> bool:
    """Did this version of Airflow finish its migration of this database?"""
    stamp = _stamp(layout)
    database = layout.airflow / "airflow.db"
    if not (stamp.exists() and database.exists()):
        return False
    return stamp.read_text(encoding="utf-8").strip() == version("apache-airflow")


def set_aside_unfinished(layout: Layout) -> None:
    """Move a database away whose first migration never finished: it holds nothing yet.

    A second migration would trip over the tables that the first one made.
    """
    if _stamp(layout).exists():
        return
    for suffix in ("", "-wal", "-shm"):
        path = layout.airflow / f"airflow.db{suffix}"
        if path.exists():
            path.replace(path.with_name(f"unfinished.db{suffix}"))


def mark_current(layout: Layout) -> None:
    """Remember that the migration is finished."""
    write_private(_stamp(layout), version("apache-airflow") + "\n")


def _stamp(layout: Layout) -> Path:
    return layout.airflow / "migrated_with"
