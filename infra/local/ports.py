"""Ports on loopback: the customary one when it is free, else another."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

LOOPBACK = "127.0.0.1"

#: Customary ports by what they are for.
PREFERRED = {
    "object-server": 9000,
    "dask-scheduler": 8786,
    "dask-dashboard": 8787,
    "airflow-web": 8080,
    "airflow-task-logs": 8793,
}

#: Below the range that Linux hands out to outgoing connections.
_OTHERS = range(20000, 32000)


def is_free(port: int) -> bool:
    """Could a server listen on this port of loopback now?"""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose(wanted: int, taken: Collection[int]) -> int:
    """Take ``wanted`` when it is free, else a free port at random.

    Parameters
    ----------
    wanted
        Port that is tried first.
    taken
        Ports that are spoken for, though nobody may be listening yet.

    Raises
    ------
    OSError
        No free port was found.
    """
    if wanted not in taken and is_free(wanted):
        return wanted
    for port in random.sample(_OTHERS, 400):
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free port on {LOOPBACK}")


def holder(port: int) -> str:
    """Who listens on a port, in words; other users' processes may stay unnamed."""
    import psutil

    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return "a process that this user may not see"
    for connection in connections:
        if connection.status != psutil.CONN_LISTEN or tuple(connection.laddr)[1:] != (port,):
            continue
        if connection.pid is None:
            return "a process of another user"
        try:
            process = psutil.Process(connection.pid)
            command = " ".join(process.cmdline())[:120] or process.name()
        except psutil.Error:
            command = "no longer there"
        return f"pid {connection.pid} ({command})"
    return "a process that this user may not see"
