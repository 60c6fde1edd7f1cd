"""How much there is to compute with: what experiments take when they are not told."""

from __future__ import annotations

from dataclasses import dataclass

from daskperf_tasks.model.ids import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The cores of this process, and the workers of the lane as far as they are known."""

    #: Cores that this process may run on.
    cores: int = 2
    #: Workers of the lane; None: unknown.
    workers: int | None = None
    #: Threads of each of them; None: unknown.
    threads: int | None = None

    def usual(self, env: Environment) -> int:
        """Return how many workers of an environment to use.

        Examples
        --------
        >>> Allocation(cores=4, workers=3).usual("processes"), Allocation(cores=4).usual("remote")
        (4, 4)
        """
        if env in ("threads", "processes"):
            return self.cores
        return (self.threads if env == "remote-threads" else self.workers) or self.cores

    def most(self, env: Environment) -> int | None:
        """Return how many workers of an environment there are; None: unknown.

        Examples
        --------
        >>> Allocation(cores=2, workers=3, threads=8).most("threads")
        8
        >>> Allocation(cores=2).most("remote") is None
        True
        """
        if env == "threads":
            return max(self.cores, self.threads or 0)
        if env == "processes":
            return max(self.cores, self.workers or 0)
        return self.threads if env == "remote-threads" else self.workers


def doubling(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4 and so on up to ``most``, which is the last.

    Examples
    --------
    >>> doubling(1), doubling(4), doubling(6)
    ((1,), (1, 2, 4), (1, 2, 4, 6))
    """
    values = [2**i for i in range(most.bit_length()) if 2**i < most]
    return (*values, most)
