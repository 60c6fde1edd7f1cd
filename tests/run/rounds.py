"""Plans and specs of small rounds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psutil

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.codec import loads
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.plan.build import make_plan
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.run.spec import Layout, RoundSpec, round_spec
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.workloads.registry import load_registry
from tests import sample_documents

from .odd_workloads import SPEC

RUN = "20261130T010203Z-616263"


def small_plan(
    cells: Iterable[tuple[str, str]],
    *,
    units: int = 6,
    repeats: int = 2,
    timeout_s: float = 20.0,
    max_attempts: int = 1,
    warmups: int = 0,
) -> Plan:
    """A plan of one round over (workload, environment) cells."""
    text = f"""
    [matrix]
    name = "small"
    rounds = 1
    repeats = {repeats}
    max_attempts = {max_attempts}
    timeout_s = {timeout_s}
    warmup = {{ min_repeats = 0, max_repeats = {warmups} }}
    """
    for name, env in cells:
        text += f'[[workload]]\nname = "{name}"\nunits = {units}\nenvironments = ["{env}"]\n'
    return plan_of_text(text, SPEC)


def plan_of_text(text: str, workloads: str) -> Plan:
    """The plan of a matrix of these workloads (module:OBJECT, ...)."""
    registry = load_registry({"DASKPERF_WORKLOADS": workloads})
    return make_plan(
        load_matrix(text, where="small", registry=registry),
        run_id=RUN,
        created_at="2026-11-30T01:02:03+00:00",
        trigger="cli",
        commit="unknown",
        arms=("subject",),
        registry=registry,
    )


def small_spec(
    plan: Plan,
    ledger: Path,
    *,
    scheduler: str = "",
    layout: Layout | None = None,
    open_timeout_s: float = 40.0,
) -> RoundSpec:
    from dataclasses import replace

    subject = replace(sample_documents.subject(), import_name="")
    return round_spec(
        plan,
        plan.rounds[0],
        subject=subject,
        wheel_folder="",
        scheduler=scheduler,
        layout=layout or Layout(workers=2, threads=2),
        ledger=str(ledger),
        open_timeout_s=open_timeout_s,
    )


def blocks_of(store: FilesystemStore) -> dict[tuple[str, str, int], BlockResult]:
    """(workload, environment, attempt) -> block."""
    found = {}
    for item in store.list(f"profiles/{RUN}/blocks/"):
        block = loads(store.get(item.key), BlockResult)
        workload = block.cell_id.split("/")[0]
        env = block.cell_id.split("env=")[1].split(";")[0]
        found[workload, env, block.attempt] = block
    return found


def measuring_processes() -> list[int]:
    """Measuring processes below this one, with all of theirs; zombies too."""
    found = []
    for child in psutil.Process(os.getpid()).children(recursive=True):
        try:
            words = " ".join(child.cmdline())
            if "round_main" in words or child.status() == psutil.STATUS_ZOMBIE:
                found.append(child.pid)
        except psutil.NoSuchProcess:
            continue
    return found
