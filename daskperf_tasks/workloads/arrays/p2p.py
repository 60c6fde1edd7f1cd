"""Peer-to-peer rearrangement: workers send each other pieces, outside the task graph."""

from __future__ import annotations

from daskperf_tasks.errors import InputError


def need_cluster(workload: str) -> None:
    """Raise if there is no cluster, which Dask's peer-to-peer methods need.

    Raises
    ------
    InputError
        When no client is current: in the environments threads and processes.
    """
    from distributed import default_client

    try:
        default_client()
    except ValueError as err:
        raise InputError(
            f"{workload}: method 'p2p' needs a cluster",
            where="an environment without one (threads or processes)",
            expected="environments local or remote",
            todo="take method = 'default' or 'tasks' there",
        ) from err
