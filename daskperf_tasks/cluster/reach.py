"""One short exchange with a scheduler, or an error that says what is in the way.

distributed's own client reports a closed port, a silent listener and a web
server alike, or waits for them without end. Here each has its own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
import time
from typing import Any

from daskperf_tasks.cluster.address import address_host, scheduler_address
from daskperf_tasks.errors import ClusterError

#: A scheduler that is just starting is waited for so long, where nothing listens yet.
_STARTING_S = 3.0
#: Time for what listens to say something, in seconds.
_SAY_S = 0.5
#: Makes a web server complain. Shorter than the eight bytes that a Dask listener
#: waits for, which thus takes it for a connection that was closed early.
_NONSENSE = b"?\r\n\r\n"


def greet(scheduler: str, *, timeout_s: float) -> None:
    """Make sure that a Dask scheduler answers at an address.

    Raises
    ------
    InputError
        When it is no address.
    ClusterError
        Saying whether the host is unknown, nothing listens, the listener is
        silent, or is something else.
    """
    _exchange(scheduler, timeout_s, None)


def run_there(scheduler: str, function: Any, *args: Any, timeout_s: float) -> Any:
    """Run a function in the scheduler's event loop, without a client of the cluster.

    A client would register, keep a connection with a heartbeat and start
    threads: too much beside a measurement.

    Raises
    ------
    InputError, ClusterError
        As :func:`greet`.
    Exception
        Whatever the function raised there.
    """
    from distributed.core import clean_exception
    from distributed.protocol.pickle import dumps

    message = {"op": "run_function", "function": dumps(function), "args": dumps(args)}
    answer = _exchange(scheduler, timeout_s, message)
    if answer["status"] == "OK":
        return answer["result"]
    _, error, _ = clean_exception(**answer)
    raise error


def no_answer(scheduler: str, timeout_s: float, found: str) -> ClusterError:
    """Return the error of a scheduler that is there and does not answer."""
    return ClusterError(
        "the scheduler does not answer",
        where=f"scheduler {scheduler}",
        expected=f"an answer within {timeout_s:g} s",
        found=found,
        todo="look into the log of the `dask scheduler` there: it may hang or be overloaded; "
        "check that no other program listens on that port",
    )


def describe(err: BaseException) -> str:
    """Return an exception as one short text."""
    text = str(err) or type(err).__name__
    cause = err.__cause__
    if cause is not None and str(cause):
        text += f" ({cause})"
    return f"{type(err).__name__}: {text}" if type(err).__name__ not in text else text


def _exchange(scheduler: str, timeout_s: float, message: dict[str, Any] | None) -> Any:
    """Greet the scheduler and send one message, in a thread with a loop of its own."""
    address = scheduler_address(scheduler)
    outcome: list[Any] = []

    async def talk() -> Any:
        deadline = time.monotonic() + timeout_s
        try:
            return await asyncio.wait_for(_talk(address, message, timeout_s), timeout_s)
        except ClusterError:
            raise
        except Exception as err:
            left = max(2 * _SAY_S, deadline - time.monotonic())
            raise await _explained(address, timeout_s, err, left) from err

    def run() -> None:
        try:
            outcome.append((True, asyncio.run(talk())))
        except BaseException as err:
            outcome.append((False, err))

    thread = threading.Thread(target=run, name="daskperf-greet", daemon=True)
    thread.start()
    thread.join(timeout_s + 5.0)
    if not outcome:
        raise no_answer(address, timeout_s, "no answer")
    well, answer = outcome[0]
    if not well:
        raise answer
    return answer


async def _talk(address: str, message: dict[str, Any] | None, timeout_s: float) -> Any:
    from distributed.comm import connect
    from distributed.core import send_recv
    from distributed.security import Security

    options = Security().get_connection_args("client")
    try:
        comm = await connect(address, timeout=min(_STARTING_S, timeout_s), **options)
    except OSError as err:
        known = await _in_the_way(address, timeout_s)
        if known is not None:
            raise known from err
        comm = await connect(address, timeout=timeout_s, **options)
    try:
        identity = await send_recv(comm, op="identity", reply=True)
        if not (isinstance(identity, dict) and "workers" in identity):
            what = identity.get("type") if isinstance(identity, dict) else None
            raise _no_scheduler(address, f"a Dask {what or 'process that is none'}")
        if message is None:
            return None
        return await send_recv(comm, reply=True, **message)
    finally:
        with contextlib.suppress(OSError):
            await comm.close()


async def _explained(address: str, timeout_s: float, err: Exception, left_s: float) -> ClusterError:
    known = None
    with contextlib.suppress(TimeoutError):
        known = await asyncio.wait_for(_in_the_way(address, left_s), left_s)
    if known is not None:
        return known
    if isinstance(err, TimeoutError):
        return no_answer(address, timeout_s, "the connection was accepted and nothing was said")
    if isinstance(err, OSError):
        return no_answer(address, timeout_s, describe(err))
    return _no_scheduler(address, "bytes that are no greeting of Dask")


async def _in_the_way(address: str, timeout_s: float) -> ClusterError | None:
    """Return why no scheduler can be reached, or None when something listens and is silent."""
    host, port = address_host(address), int(address.rpartition(":")[2])
    where = f"scheduler {address}"
    try:
        opening = asyncio.open_connection(host, port)
        reader, writer = await asyncio.wait_for(opening, min(_STARTING_S, timeout_s))
    except ConnectionRefusedError:
        lane = "; `daskperf lane up` starts the embedded lane" if _is_here(host) else ""
        return ClusterError(
            "nothing listens at the scheduler's address",
            where=where,
            expected=f"a scheduler that listens on port {port} of {host}",
            found="the connection was refused",
            todo=f"check that `dask scheduler` runs there and on that port{lane}",
        )
    except socket.gaierror as err:
        return ClusterError(
            "the scheduler's host name is unknown",
            where=where,
            expected=f"a host {host} that this host can look up",
            found=err.strerror or str(err),
            todo="correct the name in the lane file or after --scheduler, or give the IP address",
        )
    except (TimeoutError, OSError) as err:
        return ClusterError(
            "the scheduler's host cannot be reached",
            where=where,
            expected=f"a connection to port {port} of {host}",
            found="no reply" if isinstance(err, TimeoutError) else str(err),
            todo="check that the host is up, and firewalls and routes between here and there",
        )
    try:
        said = await _hear(reader)
        if not said:
            writer.write(_NONSENSE)
            said = await _hear(reader)
    finally:
        writer.close()
    if said.startswith(b"\x15\x03") and not address.startswith("tls"):
        return _no_scheduler(address, "something that speaks TLS", "try tls:// for tcp://; ")
    line = said.partition(b"\n")[0].strip()
    if re.fullmatch(rb"[\x20-\x7e]{4,}", line):
        return _no_scheduler(address, repr(line[:60].decode()))
    return None


async def _hear(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(200), _SAY_S)
    except (TimeoutError, OSError):
        return b""


def _no_scheduler(address: str, found: str, hint: str = "") -> ClusterError:
    return ClusterError(
        "something that is no Dask scheduler answers",
        where=f"scheduler {address}",
        expected="the greeting of a Dask scheduler",
        found=found,
        todo=f"{hint}correct the port: `dask scheduler` prints its address when it starts, and its "
        "dashboard has another one",
    )


def _is_here(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")
