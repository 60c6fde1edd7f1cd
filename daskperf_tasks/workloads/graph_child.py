"""Builds graphs and counts them: ``python -m daskperf_tasks.workloads.graph_child BYTES``.

Building runs the code of any workload and may take any time and memory, so it has
a process of its own, of at most BYTES of address space. Questions come as JSON
lines on standard input::

    {"workload": "join", "params": {"days": 1}, "units": 86400, "seed": 0, "cluster": true}

and each gets a line on standard output, ``{"ok": {...}}`` with the properties of
the graph or ``{"error": "why not"}``. What workloads print goes to standard error.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.registry import load_registry


class Builder:
    """Builds what it is asked for; a scheduler without workers stands for a cluster."""

    def __init__(self) -> None:
        self._workloads = load_registry()
        self._client: Any = None

    def count(self, question: Mapping[str, Any]) -> GraphFacts:
        """Build a repeat and count its graph, with the shuffle that a user there has."""
        name = question["workload"]
        if name not in self._workloads:
            raise InputError(f"workload {name!r} is not installed here")
        workload = self._workloads[name]
        with self._cluster().as_current() if question["cluster"] else nullcontext():
            built = workload.build(
                question["params"], units=question["units"], seed=question["seed"]
            )
            return graph_facts(built)

    def _cluster(self) -> Any:
        if self._client is None:
            from distributed import Client, LocalCluster

            cluster = LocalCluster(
                n_workers=0,
                processes=False,
                protocol="tcp",
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            self._client = Client(cluster, set_as_default=False)
        return self._client


def main(argv: list[str]) -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    limit = int(argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    builder = Builder()
    for line in sys.stdin:
        try:
            said: dict[str, Any] = {"ok": asdict(builder.count(json.loads(line)))}
        except MemoryError:
            said = {"error": f"more than {limit / 2**30:.3g} GiB of memory"}
        except InputError as err:
            said = {"error": " ".join(str(err).split())[:400]}
        except (Exception, SystemExit) as err:
            said = {"error": " ".join(f"{type(err).__name__}: {err}".split())[:400]}
        print(json.dumps(said), file=answers, flush=True)
    # Not by way of exit: threads of the scheduler and of workloads are not waited for.
    answers.close()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv)
