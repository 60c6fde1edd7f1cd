"""Asking client, scheduler and workers what they are."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

from daskperf_tasks.cluster.address import address_host
from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import ask, call, live_workers, open_client
from daskperf_tasks.cluster.reach import describe
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.facts import Lane, ProcessFacts, Role
from daskperf_tasks.preflight.probe import process_facts


def collect(
    scheduler: str,
    *,
    lane: Lane,
    distributions: Sequence[str],
    located: Sequence[str] = (),
    libraries: Sequence[str] = (),
) -> tuple[ProcessFacts, ...]:
    """Return the facts of the client, the scheduler and every worker, in this order.

    Parameters
    ----------
    scheduler
        Its address.
    lane
        Gives the time limit.
    distributions
        Names whose versions are wanted.
    located
        Names of which the workers also say where they import them from.
    libraries
        Import names that all are asked for: the scheduler reads the graphs, too.

    Raises
    ------
    ClusterError
        When the scheduler or a worker does not answer in time, naming it.
    """
    names, wanted = list(distributions), list(libraries)
    limit = lane.timeout_s
    with open_client(scheduler, timeout_s=limit) as client:
        address = str(client.scheduler.address)
        crew = live_workers(client, timeout_s=limit)
        probe = Sent(process_facts)

        async def of_scheduler() -> Any:
            return await client.run_on_scheduler(probe, names, [], wanted)

        central = call(client, of_scheduler, timeout_s=limit)
        answers = ask(client, probe, crew, names, list(located), wanted, timeout_s=limit)
    silent = [w for w in crew if isinstance(answers[w.label], BaseException)]
    if silent:
        first = answers[silent[0].label]
        raise ClusterError(
            "workers do not answer",
            where=", ".join(f"worker {w.label} at {w.address}" for w in silent),
            expected=f"an answer within {limit:g} s",
            found=describe(first),
            todo="look into the log of that worker; restart it, or take it off the lane",
        ) from first
    own = process_facts(names, [], wanted)
    facts = [
        _facts("client", "client", "", own),
        _facts("scheduler", "scheduler", address, central),
    ]
    for worker in crew:
        facts.append(
            _facts(
                "worker",
                worker.label,
                worker.address,
                answers[worker.label],
                nthreads=worker.nthreads,
                memory=worker.memory_limit_bytes,
                nanny=worker.nanny is not None,
            )
        )
    return tuple(facts)


def is_loopback(address: str) -> bool:
    """Whether an address such as ``tcp://127.0.0.1:8786`` is on the loopback interface.

    Examples
    --------
    >>> is_loopback("tcp://127.0.0.1:8786"), is_loopback("tcp://10.0.0.5:8786")
    (True, False)
    """
    host = address_host(address)
    if host == "localhost" or address.startswith("inproc://"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _facts(
    role: Role,
    name: str,
    address: str,
    answer: dict[str, Any],
    *,
    nthreads: int = 0,
    memory: int = 0,
    nanny: bool = False,
) -> ProcessFacts:
    return ProcessFacts(
        role=role,
        name=name,
        address=address,
        nthreads=nthreads,
        memory_limit_bytes=memory,
        nanny=nanny,
        loopback=is_loopback(address) if address else False,
        **answer,
    )
