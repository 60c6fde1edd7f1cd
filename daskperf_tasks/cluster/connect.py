"""A client of a scheduler, or an error that says what to look at, in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.address import address_host
from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.reach import describe, greet, no_answer
from daskperf_tasks.cluster.relay import relay

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorker:
    """A worker as the scheduler knows it at a moment."""

    #: Stays the same over restarts: the name given at its start, else the nanny's address.
    label: str
    name: str
    address: str
    #: Host part of the address.
    host: str
    #: Address of its nanny, or None.
    nanny: str | None
    nthreads: int
    #: Bytes, 0 for none.
    memory_limit_bytes: int
    status: str


@contextlib.contextmanager
def open_client(scheduler: str, *, timeout_s: float) -> Iterator[Client]:
    """Yield a synchronous client that is not the default one.

    Parameters
    ----------
    scheduler
        Address such as ``tcp://host:8786``.
    timeout_s
        Seconds within which the scheduler has to answer.

    Raises
    ------
    InputError
        When that is no address.
    ClusterError
        When it does not answer; see :func:`daskperf_tasks.cluster.reach.greet`.
    """
    from distributed import Client

    deadline = time.monotonic() + timeout_s
    greet(scheduler, timeout_s=timeout_s)
    left = max(1.0, deadline - time.monotonic())
    try:
        client = Client(scheduler, set_as_default=False, timeout=left)
    except (OSError, ImportError, ValueError) as err:
        raise no_answer(scheduler, timeout_s, describe(err)) from err
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=min(5.0, timeout_s))


def call(client: Client, function: Any, *args: Any, timeout_s: float, **kwargs: Any) -> Any:
    """Await ``function(*args, **kwargs)`` in the client's loop within a limit.

    Raises
    ------
    ClusterError
        When the scheduler does not answer in time or the connection breaks.
    """
    try:
        return client.sync(function, *args, callback_timeout=timeout_s, **kwargs)
    except (TimeoutError, OSError) as err:
        address = getattr(client.scheduler, "address", "unknown")
        raise no_answer(str(address), timeout_s, describe(err)) from err


def live_workers(client: Client, *, timeout_s: float) -> tuple[LiveWorker, ...]:
    """Return all workers that the scheduler knows now, by label."""
    identity = call(client, client.scheduler.identity, n_workers=-1, timeout_s=timeout_s)
    found = (_live(address, facts) for address, facts in identity["workers"].items())
    return tuple(sorted(found, key=lambda w: w.label))


def ask(
    client: Client,
    function: Any,
    workers: tuple[LiveWorker, ...],
    *args: Any,
    timeout_s: float,
    nanny: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run a function in each worker's (or nanny's) process, each with its own limit.

    Returns
    -------
    dict
        Label -> result, or the exception that it raised: one silent worker
        does not hide the others.
    """
    from distributed.protocol.pickle import dumps

    async def one(worker: LiveWorker) -> Any:
        try:
            if nanny:
                packed = (dumps(function), dumps(args), dumps(kwargs))
                there = client.run_on_scheduler(Sent(relay), worker.nanny, *packed, timeout_s)
                return await asyncio.wait_for(there, timeout_s)
            running = client.run(function, *args, workers=[worker.address], **kwargs)
            answers = await asyncio.wait_for(running, timeout_s)
        except Exception as err:
            return err
        return answers.get(worker.address, OSError("it left while it was asked"))

    async def all_of_them() -> list[Any]:
        return list(await asyncio.gather(*(one(w) for w in workers)))

    answers = call(client, all_of_them, timeout_s=timeout_s + 5.0)
    return {w.label: a for w, a in zip(workers, answers, strict=True)}


def _live(address: str, facts: dict[str, Any]) -> LiveWorker:
    name = str(facts["name"])
    nanny = facts.get("nanny")
    return LiveWorker(
        label=str(nanny or address) if name == address else name,
        name=name,
        address=address,
        host=address_host(address),
        nanny=nanny,
        nthreads=int(facts["nthreads"]),
        memory_limit_bytes=int(facts.get("memory_limit") or 0),
        status=str(facts.get("status", "running")),
    )
