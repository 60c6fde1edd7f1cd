"""What describes a side of a run, written once: its workers, its software, a profile."""

from __future__ import annotations

import json
import tempfile
import traceback
from pathlib import Path
from typing import Any

from daskperf_tasks.collect.fingerprint import fingerprint
from daskperf_tasks.collect.workers import workers_document
from daskperf_tasks.model.ids import Side, side_of
from daskperf_tasks.run.cluster import ClusterEnvironment
from daskperf_tasks.run.environments import Environments
from daskperf_tasks.run.limits import BlockTimeLimit, limited
from daskperf_tasks.run.protocol import GC_POLICY
from daskperf_tasks.run.spec import RoundSpec, Turn
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


def profile(
    spec: RoundSpec, environments: Environments, registry: dict[str, Any], store: ArtifactStore
) -> None:
    """Run every distributed cell once more under Dask's performance report, a file a side.

    The report is inline: it opens without the internet. What is computed here
    is no sample. A side whose profile fails goes without; the log says why.
    """
    for side in _SIDES:
        key = run_key(spec.run_id, side, "performance_report.html")
        turns = [
            t
            for t in spec.turns
            if side_of(t.planned.cell.env) == side
            and isinstance(environments.opened().get(t.planned.cell.env), ClusterEnvironment)
        ]
        if turns and not store.exists(key):
            try:
                store.put(key, _report(turns, environments, registry))
            except (BlockTimeLimit, Exception):
                print(f"no performance report of the {side} side:\n{traceback.format_exc()}")


def _report(turns: list[Turn], environments: Environments, registry: dict[str, Any]) -> bytes:
    from distributed import performance_report

    first = environments.get(turns[0].planned.cell.env)
    assert isinstance(first, ClusterEnvironment)  # the caller chose such turns
    with tempfile.TemporaryDirectory(prefix="daskperf-") as folder:
        file = Path(folder, "report.html")
        with (
            first.connection.client.as_current(),
            performance_report(filename=str(file), mode="inline"),
        ):
            for turn in turns:
                try:
                    _once(turn, environments, registry)
                except Exception as err:  # its block says so already; the others go on
                    print(f"profile: {turn.planned.cell_id}: {type(err).__name__}: {err}")
        return file.read_bytes()


def _once(turn: Turn, environments: Environments, registry: dict[str, Any]) -> None:
    request = turn.planned.request
    env = environments.get(turn.planned.cell.env)
    built = registry[request.workload].build(
        dict(request.params), units=request.units, seed=request.seed
    )
    with limited(request.timeout_s, env.lost):
        try:
            env.begin()
            env.compute(built)
            env.look()
        finally:
            env.end()


def _put(store: ArtifactStore, key: str, document: dict[str, Any]) -> None:
    store.put(key, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
