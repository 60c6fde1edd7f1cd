"""Child of ``harness_overhead.py``: computes a cell when told to, and says how long it took.

``python overhead_turns.py harness|bare`` reads a round spec (one line of JSON)
and then cell numbers from standard input, a line each; it answers every
number with the makespan in seconds. ``harness`` measures as daskperf does;
``bare`` is the shortest script that computes the same graph with Dask.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context
from typing import Any

import dask
import dask.multiprocessing
import dask.threaded
from distributed import Client, LocalCluster

from daskperf_tasks.model.codec import loads
from daskperf_tasks.run.block import Seen, one_repeat
from daskperf_tasks.run.environments import Environments
from daskperf_tasks.run.limits import limited
from daskperf_tasks.run.spec import RoundSpec, Turn
from daskperf_tasks.workloads.registry import load_registry

SLOT = "daskperf-slot"


class Harness:
    """Daskperf's own repeats."""

    def __init__(self, spec: RoundSpec) -> None:
        self.environments = Environments(spec)

    def makespan_s(self, turn: Turn, workload: Any, built: Any) -> float:
        request = turn.planned.request
        env = self.environments.get(turn.planned.cell.env)
        seen = Seen()
        with limited(request.timeout_s, env.lost):
            env.begin(None)
            seen.first = seen.last = env.look()
            sample, _ = one_repeat(env, built, workload, request, seen, "measure")
            env.end()
        return sample.makespan_s

    def close(self) -> None:
        self.environments.close()


class Bare:
    """What a user would write."""

    def __init__(self, spec: RoundSpec) -> None:
        self.spec = spec

    def makespan_s(self, turn: Turn, workload: Any, built: Any) -> float:
        env = turn.planned.cell.env
        options: dict[str, Any] = {}
        if env in ("threads", "processes"):
            compute = self.pool(env)
        else:
            client = self.client("local" if env == "local" else "remote")
            if env == "remote-threads":
                info = client.scheduler_info(n_workers=-1)["workers"]
                options["workers"] = [min(info, key=lambda a: str(info[a]["name"]))]
            if env == "remote-processes":
                client.run(_slot)
                options["resources"] = {SLOT: 1}

            def compute(collections: Any, **more: Any) -> Any:
                return client.gather(client.compute(collections, traverse=False, **options, **more))

        start = time.perf_counter()
        results = compute(built.collections, optimize_graph=built.optimize_graph)
        seconds = time.perf_counter() - start
        request = turn.planned.request
        workload.check(tuple(results), dict(request.params), units=request.units, seed=request.seed)
        return seconds

    @cache  # noqa: B019  # one object for the life of the process
    def client(self, side: str) -> Client:
        layout = self.spec.layout
        if side == "remote":
            client = Client(self.spec.scheduler, set_as_default=False)
            client.wait_for_workers(layout.workers, timeout=60)
            return client
        cluster = LocalCluster(
            n_workers=layout.workers,
            threads_per_worker=layout.threads,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
        )
        return Client(cluster, set_as_default=False)

    @cache  # noqa: B019
    def pool(self, env: str) -> Callable[..., Any]:
        layout = self.spec.layout
        if env == "threads":
            threads = ThreadPoolExecutor(layout.threads)
            return lambda c, **more: dask.compute(
                *c, scheduler=dask.threaded.get, pool=threads, traverse=False, **more
            )
        processes = ProcessPoolExecutor(layout.workers, mp_context=get_context("spawn"))
        return lambda c, **more: dask.compute(
            *c,
            scheduler=dask.multiprocessing.get,
            pool=processes,
            chunksize=1,
            traverse=False,
            **more,
        )

    def close(self) -> None:
        """The parent ends this process group."""


async def _slot(dask_worker: Any) -> None:
    await dask_worker.set_resources(**{SLOT: 1})


def main(mode: str) -> None:
    """Answer turns until standard input ends."""
    spec = loads(sys.stdin.readline(), RoundSpec)
    registry = load_registry()
    runner = Harness(spec) if mode == "harness" else Bare(spec)
    built = {}
    for line in sys.stdin:
        number = int(line)
        turn = spec.turns[number]
        request = turn.planned.request
        workload = registry[request.workload]
        if number not in built:
            built[number] = workload.build(
                dict(request.params), units=request.units, seed=request.seed
            )
        print(f"makespan {runner.makespan_s(turn, workload, built[number])!r}", flush=True)
    runner.close()


if __name__ == "__main__":
    main(sys.argv[1])
