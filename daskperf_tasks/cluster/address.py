"""What a scheduler's address has to look like."""

from __future__ import annotations

import re

from daskperf_tasks.errors import InputError

PROTOCOLS = ("tcp", "tls", "ws", "wss", "ucx")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?|\[[0-9A-Fa-f:.]+(%\w+)?\]")


def scheduler_address(text: str, *, where: str | None = None) -> str:
    """Return a scheduler's address with its protocol, ``tcp`` when none is given.

    Parameters
    ----------
    text
        Such as ``tcp://10.0.0.5:8786`` or ``node-a:8786``.
    where
        The place where it was written, for the error.

    Raises
    ------
    InputError
        When it cannot be the address of a scheduler.

    Examples
    --------
    >>> scheduler_address("node-a:8786"), scheduler_address("tls://[::1]:8786")
    ('tcp://node-a:8786', 'tls://[::1]:8786')
    """
    head, mark, rest = text.strip().rpartition("://")
    protocol = head if mark else "tcp"
    host, _, port = rest.rpartition(":")
    if protocol not in PROTOCOLS:
        raise _wrong(text, where, f"the protocol {protocol!r}, not {' or '.join(PROTOCOLS[:2])}")
    if not _HOST.fullmatch(host):
        raise _wrong(text, where, "no host with a port" if not host else f"the host {host!r}")
    if not re.fullmatch(r"[0-9]{1,9}", port) or not 0 < int(port) < 2**16:
        raise _wrong(text, where, f"the port {port!r}, not 1 to 65535")
    return f"{protocol}://{rest}"


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


def _wrong(text: str, where: str | None, found: str) -> InputError:
    return InputError(
        f"{text!r} is not the address of a Dask scheduler",
        where=where,
        expected="protocol, host and port, such as tcp://10.0.0.5:8786",
        found=found,
        todo="copy the address that `dask scheduler` prints when it starts",
    )
