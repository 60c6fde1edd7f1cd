"""A time limit for the main thread that costs the timed part nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: Seconds between looks at what may have been lost.
_WATCH_S = 1.0


class BlockTimeLimit(BaseException):
    """The block's time is up. Not an ``Exception``, so that no workload catches it."""


class WorkerLost(BaseException):
    """Waiting for the result is pointless."""


@contextmanager
def limited(seconds: float, lost: Callable[[], str | None]) -> Iterator[None]:
    """Raise in the main thread when the time is up or something is lost.

    Parameters
    ----------
    seconds
        The limit.
    lost
        Returns what was lost, or None; called once a second in a signal
        handler, so it must only look at what is known already.

    Raises
    ------
    BlockTimeLimit, WorkerLost
    """
    deadline = time.monotonic() + seconds

    def ring(_signal: int, _frame: FrameType | None) -> None:
        what = lost()
        if what is not None:
            raise WorkerLost(what)
        left = deadline - time.monotonic()
        if left <= 0:
            raise BlockTimeLimit
        signal.setitimer(signal.ITIMER_REAL, min(_WATCH_S, left))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(_WATCH_S, max(seconds, 0.001)))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
