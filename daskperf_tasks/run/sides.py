"""What describes a side of a run, written once: its workers, its software, a profile."""

from __future__ import annotations

import json
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daskperf_tasks.collect.fingerprint import fingerprint
from daskperf_tasks.collect.workers import workers_document
from daskperf_tasks.model.ids import Side, side_of
from daskperf_tasks.model.plan import PlannedCell
from daskperf_tasks.run.cluster import ClusterEnvironment
from daskperf_tasks.run.contract import built_by
from daskperf_tasks.run.done import report_key
from daskperf_tasks.run.environments import Environments
from daskperf_tasks.run.limits import BlockTimeLimit, limited
from daskperf_tasks.run.protocol import GC_POLICY
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.store.keys import run_key
from daskperf_tasks.store.protocol import ArtifactStore

_SIDES: tuple[Side, ...] = ("local", "remote")


def describe(spec: RoundSpec, environments: Environments, store: ArtifactStore) -> None:
    """Write ``workers.json`` and ``environment.json`` of the sides that are open, if missing."""
    for side in _SIDES:
        opened = {n: e for n, e in environments.opened().items() if side_of(n) == side}
        if not opened:
            continue
        key = run_key(spec.run_id, side, "workers.json")
        if not store.exists(key):
            workers = [w for name in sorted(opened) for w in opened[name].workers()]
            _put(store, key, workers_document(side, topology(spec, side), workers))
        key = run_key(spec.run_id, side, "environment.json")
        if not store.exists(key):
            document = {
                "schema": "daskperf.environment",
                "version": 1,
                "side": side,
                "gc_policy": GC_POLICY,
                "driver": fingerprint(),
            }
            clusters = [e for e in opened.values() if isinstance(e, ClusterEnvironment)]
            if clusters:
                client = clusters[0].connection.client
                document["scheduler"] = client.run_on_scheduler(fingerprint)
                document["workers"] = client.run(fingerprint)
            _put(store, key, document)


def topology(spec: RoundSpec, side: Side) -> str:
    """Return the worker layout in words."""
    layout = spec.layout
    text = f"{layout.workers} worker processes x {layout.threads} threads"
    if side == "remote":
        return f"{text} behind {spec.scheduler}"
    return f"{text} on the driver's host (local cluster; pools of the same sizes)"


def open_for(cells: Sequence[PlannedCell], environments: Environments) -> None:
    """Open the environments of cells; what cannot be opened stays closed, the log says why."""
    for env in sorted({c.cell.env for c in cells}):
        try:
            environments.ready(env)
        except Exception:
            print(f"{env} cannot be opened for the profiled pass:\n{traceback.format_exc()}")
            environments.drop(env)


def profile(
    cells: Sequence[PlannedCell],
    spec: RoundSpec,
    environments: Environments,
    registry: dict[str, Any],
    store: ArtifactStore,
) -> None:
    """Run distributed cells once more under Dask's performance report, a file a side.

    The report is inline: it opens without the internet. What is computed here
    is no sample. A side whose profile fails goes without; the log says why.
    """
    for side in _SIDES:
        here = [
            c
            for c in cells
            if side_of(c.cell.env) == side
            and isinstance(environments.opened().get(c.cell.env), ClusterEnvironment)
        ]
        if here:
            try:
                store.put(report_key(spec, side), _report(here, environments, registry))
            except (BlockTimeLimit, Exception):
                print(f"no performance report of the {side} side:\n{traceback.format_exc()}")


def _report(
    cells: list[PlannedCell], environments: Environments, registry: dict[str, Any]
) -> bytes:
    from distributed import performance_report

    first = environments.get(cells[0].cell.env)
    assert isinstance(first, ClusterEnvironment)  # the caller chose such cells
    with tempfile.TemporaryDirectory(prefix="daskperf-") as folder:
        file = Path(folder, "report.html")
        with (
            first.connection.client.as_current(),
            performance_report(filename=str(file), mode="inline"),
        ):
            for planned in cells:
                try:
                    _once(planned, environments, registry)
                except Exception as err:  # its block was valid; the others go on
                    print(f"profile: {planned.cell_id}: {type(err).__name__}: {err}")
        return file.read_bytes()


def _once(planned: PlannedCell, environments: Environments, registry: dict[str, Any]) -> None:
    request = planned.request
    env = environments.get(planned.cell.env)
    with limited(request.timeout_s, env.lost):
        try:
            with env.current():
                built = built_by(registry[request.workload], request)
            env.begin(planned.cell.workers)
            env.compute(built)
            env.look()
        finally:
            env.end()


def _put(store: ArtifactStore, key: str, document: dict[str, Any]) -> None:
    store.put(key, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
