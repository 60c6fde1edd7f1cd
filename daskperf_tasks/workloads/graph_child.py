"""Builds graphs and counts them: ``python -m daskperf_tasks.workloads.graph_child BYTES``.

Building runs the code of any workload and may take any time and memory, so it has
a process of its own, of at most BYTES of address space. Questions
(:mod:`daskperf_tasks.workloads.questions`) are such::

    {"workload": "join", "params": {"days": 1}, "units": 86400, "seed": 0, "cluster": true}

and answers the properties of the graph.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from functools import cached_property
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.graph import GraphFacts
from daskperf_tasks.workloads.graphs import graph_facts
from daskperf_tasks.workloads.protocol import Workload
from daskperf_tasks.workloads.questions import answer_questions
from daskperf_tasks.workloads.registry import load_registry


class Builder:
    """Builds what it is asked for; a scheduler without workers stands for a cluster."""

    def __init__(self) -> None:
        self._client: Any = None

    @cached_property
    def _workloads(self) -> Mapping[str, Workload]:
        # With the first question, when what an import prints goes nowhere else any more.
        return load_registry()

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
    limit = int(argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    builder = Builder()

    def says(err: BaseException) -> str:
        if isinstance(err, MemoryError):
            return f"more than {limit / 2**30:.3g} GiB of memory"
        text = str(err) if isinstance(err, InputError) else f"{type(err).__name__}: {err}"
        return " ".join(text.split())[:400]

    answer_questions(lambda question: asdict(builder.count(question)), says)
    # Not by way of exit: threads of the scheduler and of workloads are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv)
