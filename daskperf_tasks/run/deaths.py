"""What an exit code says about whose fault a process's death is. Pure."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import replace

from daskperf_tasks.model.block import Failure, Outcome, Success, Timeout

_FROM_OUTSIDE = {
    signal.SIGKILL: "by the system when memory ran out, or by somebody",
    signal.SIGTERM: "by somebody who wanted it to end",
    signal.SIGHUP: "with the session that it ran in",
}
#: The measuring process turns SIGTERM into an orderly exit with this code.
TERMINATED = 128 + signal.SIGTERM


def killed_from_outside(codes: Iterable[int]) -> str | None:
    """Return in words that a process was killed from outside; None when it ended of itself.

    A crash of native code raises other signals (SIGSEGV, SIGABRT, SIGFPE,
    SIGILL, SIGBUS), and they come from within.

    Parameters
    ----------
    codes
        Exit codes (negative: the signal) of processes that ended together. The
        one that died first counts; SIGTERM is what the others get from its pool.

    Examples
    --------
    >>> killed_from_outside([-9, -15])
    'killed by SIGKILL: by the system when memory ran out, or by somebody'
    >>> killed_from_outside([-11, -15]) is None
    True
    """
    seen = {-signal.SIGTERM if code == TERMINATED else code for code in codes} - {0}
    if not seen or seen - {-number for number in _FROM_OUTSIDE}:
        return None
    number = next(n for n in (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM) if -n in seen)
    return f"killed by {number.name}: {_FROM_OUTSIDE[number]}"


def explained(outcome: Outcome, memory: str | None) -> Outcome:
    """Return a block's outcome with the reason for its workers' deaths.

    A worker that its nanny ended is for Dask just a worker that left: only the
    nanny knows that the tasks held too much memory, which is no fault of the cluster.

    Parameters
    ----------
    memory
        Which workers were ended for their memory during the block, in words, or None.

    Examples
    --------
    >>> lost = Failure(fault="infra", error_type="WorkerLost", message="w left", traceback="")
    >>> told = explained(lost, "a nanny ended w at 2 GiB")
    >>> told.fault, told.error_type, told.message
    ('product', 'MemoryExceeded', 'a nanny ended w at 2 GiB; w left')
    """
    if memory is None or isinstance(outcome, Success):
        return outcome
    if isinstance(outcome, Timeout):
        outcome = Failure(
            fault="product",
            error_type="Timeout",
            message=f"timeout after {outcome.after_s:.1f} s",
            traceback="",
        )
    return replace(
        outcome,
        fault="product",
        error_type="MemoryExceeded",
        message=f"{memory}; {outcome.message}",
    )


def signal_name(number: int) -> str:
    """Return a signal's name, or its number when it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
