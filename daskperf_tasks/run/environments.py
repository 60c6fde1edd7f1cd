"""Where blocks run: what an environment offers, and how they are opened, once a round."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from daskperf_tasks.collect.task_stream import TaskRow
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.ids import Environment, Side, side_of
from daskperf_tasks.run.cluster import ClusterEnvironment, Connection, WorkersMissing
from daskperf_tasks.run.look import Look
from daskperf_tasks.run.single import ProcessesEnvironment, ThreadsEnvironment
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.run.traces import State
from daskperf_tasks.workloads.protocol import Built

__all__ = ["Environments", "Look", "RunEnvironment", "TaskRow"]

#: Seconds to wait for workers that have not come back in all the time there was.
_MOMENT_S = 3.0


class RunEnvironment(Protocol):
    """An open environment."""

    def shape(self, members: Sequence[Member]) -> tuple[int, int]:
        """Return how many tasks can run at once on these workers, and in how many processes."""
        ...

    def layout_fault(self, members: Sequence[Member]) -> str | None:
        """Say how these workers differ from those that a block needs."""
        ...

    def make_ready(self, patience_s: float) -> None:
        """Wait until the workers are those that a block needs; see ``Environments.ready``."""
        ...

    @property
    def subject_version(self) -> str:
        """Version of the subject that its processes import."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that opening it gave."""
        ...

    def begin(self, workers: int | None) -> None:
        """Make ready for a block on so many workers (None: all).

        Raises
        ------
        InputError
            When there are fewer.
        """
        ...

    def current(self) -> AbstractContextManager[Any]:
        """Let collections that are built inside see the cluster, as a user's would."""
        ...

    def compute(self, built: Built) -> tuple[Any, ...]:
        """Compute the collections: the timed part, and nothing but it."""
        ...

    def look(self) -> Look:
        """Release the last results and read all running totals."""
        ...

    def members(self) -> tuple[Member, ...]:
        """Return who computes at this moment."""
        ...

    def lost(self) -> str | None:
        """Say what makes waiting for the result pointless, without asking anybody."""
        ...

    def memory_kills(self) -> str | None:
        """Say which workers were ended since ``begin`` because they held too much memory."""
        ...

    def idle(self) -> bool:
        """Whether nothing of the last block runs any more, after a moment's patience."""
        ...

    def states(self) -> dict[str, State]:
        """Return what each of its processes keeps for all code that runs in it."""
        ...

    def renew(self, names: Collection[str]) -> None:
        """Restart those of its processes that outlive this one."""
        ...

    def end(self) -> None:
        """Undo what ``begin`` did."""
        ...

    def workers(self) -> list[dict[str, Any]]:
        """Return worker metadata for ``workers.json``."""
        ...


@dataclass(slots=True)
class Environments:
    """Opens each environment when it is first needed, and closes all in the end."""

    spec: RoundSpec
    _open: dict[Environment, RunEnvironment] = field(default_factory=dict)
    _connections: dict[Side, Connection] = field(default_factory=dict)
    #: Sides whose workers were waited for in vain.
    _given_up: set[Side] = field(default_factory=set)

    def get(self, env: Environment) -> RunEnvironment:
        """Return the open environment, opening it if need be.

        Raises
        ------
        InfraError, ProductError
            When it cannot be opened, or imports another subject.
        """
        if env not in self._open:
            self._open[env] = self._make(env)
        return self._open[env]

    def ready(self, env: Environment) -> RunEnvironment:
        """Return the open environment with all its workers there, each with the right wheel.

        A worker that is missing is waited for, once in earnest: while it stays
        away, the blocks after that wait only a moment.

        Raises
        ------
        InfraError, ProductError
            When it cannot be opened, a worker stays away or one too many is there,
            or a worker imports another subject.
        """
        side = side_of(env)
        try:
            found = self.get(env)
            found.make_ready(self._patience_s(side))
        except WorkersMissing:
            self._given_up.add(side)
            raise
        self._given_up.discard(side)
        return found

    def _patience_s(self, side: Side) -> float:
        usual = self.spec.open_timeout_s
        return min(_MOMENT_S, usual) if side in self._given_up else usual

    def _make(self, env: Environment) -> RunEnvironment:
        if env == "threads":
            return ThreadsEnvironment(self.spec)
        if env == "processes":
            return ProcessesEnvironment(self.spec)
        return ClusterEnvironment(self.connection("local" if env == "local" else "remote"), env)

    def connection(self, side: Side) -> Connection:
        """Return the connection to a side's cluster, opening it if need be."""
        if side not in self._connections:
            opener = Connection.local if side == "local" else Connection.remote
            self._connections[side] = opener(self.spec, self._patience_s(side))
        return self._connections[side]

    def opened(self) -> dict[Environment, RunEnvironment]:
        """Return what is open."""
        return dict(self._open)

    def drop(self, env: Environment) -> None:
        """Close an environment that cannot be trusted any more; the next use opens it anew."""
        found = self._open.pop(env, None)
        if isinstance(found, ProcessesEnvironment):
            found.close()
        if isinstance(found, ClusterEnvironment):
            side: Side = "local" if env == "local" else "remote"
            connection = self._connections.pop(side, None)
            for name in [n for n, e in self._open.items() if isinstance(e, ClusterEnvironment)]:
                if (name == "local") == (env == "local"):
                    del self._open[name]
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Close everything."""
        for env in self._open.values():
            if isinstance(env, ThreadsEnvironment | ProcessesEnvironment):
                env.close()
        for connection in self._connections.values():
            connection.close()
        self._open.clear()
        self._connections.clear()
