"""What an exit code says about whose fault a process's death is. Pure."""

from __future__ import annotations

import signal
from collections.abc import Iterable

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


def signal_name(number: int) -> str:
    """Return a signal's name, or its number when it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
