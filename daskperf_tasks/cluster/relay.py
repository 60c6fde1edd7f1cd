"""Reaching a nanny through the scheduler (sent by source).

The scheduler's own broadcast finds nannies by their workers, so a nanny whose
worker cannot start is out of its reach: just the one that has to be mended.
"""

from __future__ import annotations

from typing import Any


async def relay(
    nanny: str, function: bytes, args: bytes, kwargs: bytes, limit_s: float, dask_scheduler: Any
) -> Any:
    """Run a pickled function in a nanny's process; runs on the scheduler.

    Raises
    ------
    Exception
        Whatever the function raised there, or why the nanny was not reached.
    """
    from distributed.core import clean_exception, rpc

    options = dask_scheduler.connection_args
    async with rpc(nanny, timeout=limit_s, connection_args=options) as there:
        answer = await there.run(function=function, args=args, kwargs=kwargs)
    if answer["status"] == "OK":
        return answer["result"]
    _, error, _ = clean_exception(**answer)
    raise error
