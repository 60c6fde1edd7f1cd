"""A client of a scheduler, or an error that says what to look at, in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.relay import relay
from daskperf_tasks.errors import ClusterError

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
    ClusterError
        When it does not answer, whether nothing listens, or something accepts
        the connection and stays silent (which distributed itself waits for
        without end).
    """
    from distributed import Client

    deadline = time.monotonic() + timeout_s
    _greet(scheduler, timeout_s)
    left = max(1.0, deadline - time.monotonic())
    try:
        client = Client(scheduler, set_as_default=False, timeout=left)
    except (OSError, ImportError, ValueError) as err:
        raise no_answer(scheduler, timeout_s, _reason(err)) from err
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=min(5.0, timeout_s))


def no_answer(scheduler: str, timeout_s: float, found: str) -> ClusterError:
    """Return the error of a scheduler that does not answer."""
    return ClusterError(
        "the scheduler does not answer",
        where=f"scheduler {scheduler}",
        expected=f"an answer within {timeout_s:g} s",
        found=found,
        todo="check that `dask scheduler` runs there, that address and port are right and "
        "reachable from this host, and that no other program listens on that port",
    )


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
        raise no_answer(str(address), timeout_s, _reason(err)) from err


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


def describe(error: BaseException) -> str:
    """Return an exception as one short text."""
    return _reason(error)


def address_host(address: str) -> str:
    """Return the host part of an address.

    Examples
    --------
    >>> address_host("tls://[::1]:8786"), address_host("tcp://node-a:8786")
    ('::1', 'node-a')
    """
    place = address.rpartition("://")[2]
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.rpartition(":")[0] or place


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


def _greet(scheduler: str, timeout_s: float) -> None:
    """Exchange distributed's handshake with a scheduler, in a thread with a loop of its own."""
    outcome: list[BaseException] = []

    async def handshake() -> None:
        from distributed.comm import connect
        from distributed.security import Security

        options = Security().get_connection_args("client")
        comm = await connect(scheduler, timeout=timeout_s, **options)
        await comm.close()

    def run() -> None:
        try:
            asyncio.run(asyncio.wait_for(handshake(), timeout_s))
        except BaseException as err:
            outcome.append(err)

    thread = threading.Thread(target=run, name="daskperf-greet", daemon=True)
    thread.start()
    thread.join(timeout_s + 5.0)
    if thread.is_alive():
        raise no_answer(scheduler, timeout_s, "no answer")
    if outcome:
        err = outcome[0]
        if isinstance(err, TimeoutError):
            found = "the connection was accepted and nothing was said"
        else:
            found = _reason(err)
        raise no_answer(scheduler, timeout_s, found) from err


def _reason(err: BaseException) -> str:
    text = str(err) or type(err).__name__
    cause = err.__cause__
    if cause is not None and str(cause):
        text += f" ({cause})"
    return f"{type(err).__name__}: {text}" if type(err).__name__ not in text else text
