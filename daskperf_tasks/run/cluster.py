"""Distributed environments: a local cluster laid out like the lane, and the lane itself."""

from __future__ import annotations

import asyncio
import os
import time
import warnings
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from daskperf_tasks.collect.host_load import machine_id
from daskperf_tasks.collect.task_stream import TaskRow
from daskperf_tasks.collect.workers import cluster_workers
from daskperf_tasks.errors import ClusterError
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.ids import Environment, Side
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.run import probes
from daskperf_tasks.run.layout import check_enough, expected_workers, layout_fault, pinned
from daskperf_tasks.run.look import MIB, Look
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.run.traces import State, end_strangers
from daskperf_tasks.run.traces import look as state_look
from daskperf_tasks.run.worker_wheels import check_answer
from daskperf_tasks.workloads.protocol import Built

#: Name, id, threads and address of a worker, from the scheduler.
WorkerRow = tuple[str, str, int, str]


#: Seconds for workers to end what a measuring process that is gone gave them.
_BUSY_S = 2.0
#: Seconds for one worker to say what it does.
_ANSWER_S = 3.0
#: Where nannies tell the scheduler that they restart a worker for its memory.
_MEMORY_TOPIC = "worker-restart-memory"


class WorkersMissing(ClusterError):
    """The workers are not those that the round needs, however long one waits."""


class Connection:
    """A client and, for the local side, the cluster that it owns."""

    def __init__(self, client: Any, spec: RoundSpec, cluster: Any = None) -> None:
        self.client = client
        self.spec = spec
        self.cluster = cluster
        self.warnings: tuple[str, ...] = ()
        self.subject_version = spec.subject_version
        #: Index of the next task row on the scheduler; None before the first look.
        self._index: int | None = None
        self.removed: set[str] = set()
        side: Side = "remote" if cluster is None else "local"
        self.expected = expected_workers(spec, side)
        #: Ids of worker processes that were seen to import the subject.
        self._checked: set[str] = set()

    @classmethod
    def local(cls, spec: RoundSpec, patience_s: float) -> Connection:
        """Start a local cluster with the lane's layout."""
        from distributed import Client, LocalCluster

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                cluster = LocalCluster(
                    n_workers=spec.layout.workers,
                    threads_per_worker=spec.layout.threads,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address=None,
                )
                client = Client(cluster, set_as_default=False, timeout=spec.open_timeout_s)
            except (OSError, TimeoutError, RuntimeError) as err:
                raise ClusterError(
                    "the local cluster did not start",
                    expected=f"{spec.layout.workers} workers within {spec.open_timeout_s:g} s",
                    found=f"{type(err).__name__}: {err}",
                ) from err
            return cls(client, spec, cluster)._ready(caught, patience_s)

    @classmethod
    def remote(cls, spec: RoundSpec, patience_s: float) -> Connection:
        """Connect to the lane's scheduler."""
        from distributed import Client

        if not spec.scheduler:
            raise ClusterError(
                "a remote cell needs a scheduler address",
                todo="give --scheduler, or a lane file",
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                client = Client(
                    spec.scheduler,
                    timeout=min(spec.open_timeout_s, 20.0),
                    set_as_default=False,
                    name="daskperf",
                )
            except (OSError, TimeoutError, ValueError) as err:
                raise ClusterError(
                    "the scheduler does not answer",
                    where=spec.scheduler,
                    found=f"{type(err).__name__}: {err}",
                    todo="check that it runs and that this host may connect to it",
                ) from err
            return cls(client, spec)._ready(caught, patience_s)

    def _ready(self, caught: list[warnings.WarningMessage], patience_s: float) -> Connection:
        try:
            self._wait_for_workers(patience_s)
            self._wait_until_idle()
            self.make_ready(patience_s)
            self.drop_slots()
        except BaseException:
            self.close()
            raise
        self.warnings = tuple(dict.fromkeys(str(w.message) for w in caught))
        return self

    def make_ready(self, patience_s: float) -> None:
        """Wait for the round's workers, and look at the wheel of those that are new.

        Raises
        ------
        WorkersMissing
            When others than these are there after ``patience_s`` seconds.
        ClusterError, DeployError
            When one serves another wheel; when it cannot import the right one.
        """
        rows = self._wait_for_workers(patience_s)
        if any(worker_id not in self._checked for _, worker_id, _, _ in rows):
            self._check_subject(rows)

    def _wait_for_workers(self, patience_s: float) -> list[WorkerRow]:
        deadline = time.monotonic() + patience_s
        while True:
            rows: list[WorkerRow] = self._scheduler_look(None)["members"]
            members = _members(rows)
            fault = layout_fault(members, self.expected)
            if fault is None:
                self.expected = pinned(members) if len(members) > 0 else self.expected
                return rows
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        raise WorkersMissing(
            fault,
            where="local cluster" if self.cluster else self.spec.scheduler,
            expected=f"{len(self.expected)} workers within {patience_s:.0f} s",
            found=", ".join(f"{m.name} ({m.nthreads} threads)" for m in members) or "none",
            todo="check the workers' logs; a worker that keeps dying is restarted by its nanny, "
            "one whose nanny is gone must be started again",
        )

    def _busy(self) -> list[str]:
        """Return the workers that still run tasks after a moment, or do not answer."""
        deadline = time.monotonic() + _BUSY_S
        while True:
            addresses = [address for *_, address in self._scheduler_look(None)["members"]]
            looks = self.client.sync(_each_worker, self.client, addresses)
            # Code that holds the GIL keeps a worker from answering at all.
            busy = [a for a, look in looks.items() if look is None or look["executing"]]
            if not busy or time.monotonic() > deadline:
                return busy
            time.sleep(0.1)

    def idle(self) -> bool:
        """Whether no worker runs a task any more, after a moment's patience."""
        return not self._busy()

    def _wait_until_idle(self) -> None:
        """Restart workers that still run tasks of a measuring process that is gone."""
        busy = self._busy()
        if not busy:
            return
        self.client.restart_workers(busy, timeout=self.spec.open_timeout_s)
        self._wait_for_workers(self.spec.open_timeout_s)

    def _check_subject(self, rows: list[WorkerRow]) -> None:
        spec = self.spec
        if not spec.import_name:
            return
        answers = self.client.run(
            probes.worker_subject,
            import_name=spec.import_name,
            sha256=spec.subject_sha256 if spec.wheel_folder else "",
            workers=[address for *_, address in rows],
            on_error="return",
        )
        # By name, so that the same fault is told the same way each time.
        for name, worker_id, _, address in sorted(rows):
            check_answer(spec, name, address, answers.get(address))
            self._checked.add(worker_id)

    def restart(self, names: Collection[str]) -> None:
        """Restart workers by name."""
        rows = self._scheduler_look(None)["members"]
        addresses = [address for name, _, _, address in rows if name in names]
        if addresses:
            self.client.run(end_strangers, workers=addresses, on_error="ignore")
            self.client.restart_workers(addresses, timeout=self.spec.open_timeout_s)

    def states(self) -> dict[str, State]:
        """Look at what each worker process keeps for all tasks."""
        rows = self._scheduler_look(None)["members"]
        answers = self.client.run(state_look, on_error="ignore")
        return {name: answers[address] for name, _, _, address in rows if address in answers}

    def memory_kills(self) -> list[tuple[str, int]]:
        """Return the address and bytes of each worker that a nanny ended for its memory, so far."""
        events = self.client.get_events(_MEMORY_TOPIC)
        return [(str(event["worker"]), int(event["rss"])) for _, event in events]

    def drop_slots(self) -> None:
        """Forget what :meth:`ClusterEnvironment.begin` let the workers run at once."""
        self.client.run(probes.drop_slot)
        self.client.run_on_scheduler(probes.drop_slots)

    def members(self) -> tuple[Member, ...]:
        """Ask the scheduler who its workers are."""
        return _members(self._scheduler_look(None)["members"])

    def _scheduler_look(self, since: int | None) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.run_on_scheduler(
            probes.scheduler_look, client_id=self.client.id, since=since
        )
        return answer

    def look(self) -> Look:
        """Read all totals, and the tasks since the look before."""
        scheduler = self._scheduler_look(self._index)
        self._index = scheduler["index"]
        workers = self.client.run(probes.worker_look, on_error="ignore")
        # The scheduler may not know yet that a worker has gone.
        there = [row for row in scheduler["members"] if row[3] in workers]
        names = {address: name for name, _, _, address in scheduler["members"]}
        here = machine_id()
        in_client = scheduler["pid"] == os.getpid() and scheduler["machine"] == here
        others = 0.0
        if self.cluster is None:
            others = sum(w["cpu_s"] for w in workers.values() if w["machine"] == here)
            others += scheduler["cpu_s"] if scheduler["machine"] == here else 0.0
        return Look(
            members=_members(there),
            worker_cpu_s={w["id"]: w["cpu_s"] for w in workers.values()},
            scheduler_cpu_s=Missing(missing="the local cluster's scheduler runs in the client")
            if in_client
            else scheduler["cpu_s"],
            peak_rss_mib=max(w["peak_rss"] for w in workers.values()) / MIB
            if workers
            else Missing(missing="no worker answered"),
            rows=_rows(scheduler, names),
            transfer_bytes=_transfers(workers),
            fine={w["id"]: w["fine"] for w in workers.values()},
            others_cpu_s=others,
        )

    def watch(self) -> None:
        """Let the scheduler tell which workers leave; see ``removed``."""
        self.removed.clear()
        self.client.subscribe_topic("all", self._hear)

    def unwatch(self) -> None:
        """Stop listening."""
        self.client.unsubscribe_topic("all")

    def _hear(self, event: tuple[float, Any]) -> None:
        _, message = event
        if isinstance(message, dict) and message.get("action") == "remove-worker":
            self.removed.add(str(message.get("worker")))

    def restart_busy(self) -> None:
        """Restart the workers that hang in a task."""
        self._wait_until_idle()

    def close(self) -> None:
        """Close the client, and the cluster if it is ours."""
        for closing in (self.client, self.cluster):
            if closing is None:
                continue
            try:
                closing.close(timeout=10)
            except (OSError, TimeoutError, RuntimeError) as err:
                print(f"closing {type(closing).__name__}: {type(err).__name__}: {err}", flush=True)


class ClusterEnvironment:
    """Cells of one distributed environment; several share a connection."""

    def __init__(self, connection: Connection, env: Environment) -> None:
        self._connection = connection
        self._env = env
        self._options: dict[str, Any] = {}
        self._futures: list[Any] = []
        #: Names and addresses of the workers that the tasks are bound to; empty: to none.
        self._bound: dict[str, str] = {}
        #: Threads of each of them that the tasks may use; None: all.
        self._slots: int | None = None
        self._killed_before = 0

    def shape(self, members: Sequence[Member]) -> tuple[int, int]:
        """Return how many tasks can run at once on these workers, and in how many processes."""
        used = [m.nthreads for m in members if not self._bound or m.name in self._bound]
        if self._env == "remote-threads":
            used = used[:1]
        elif self._env == "remote-processes":
            used = [1 for _ in used]
        if self._slots is not None:
            used = [min(threads, self._slots) for threads in used]
        return sum(used), len(used)

    def layout_fault(self, members: Sequence[Member]) -> str | None:
        """Say how these workers differ from the round's; tasks for one need the others too."""
        return layout_fault(members, self._connection.expected)

    def make_ready(self, patience_s: float) -> None:
        """Wait for the round's workers; see :meth:`Connection.make_ready`."""
        self._connection.make_ready(patience_s)

    @property
    def subject_version(self) -> str:
        """Version that was found on all workers."""
        return self._connection.subject_version

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of connecting, such as versions that differ."""
        return self._connection.warnings

    def begin(self, workers: int | None) -> None:
        """Restrict tasks to some workers, to one of them, or to one at a time in each."""
        client = self._connection.client
        self._options, self._bound, self._slots = {}, {}, None
        self._killed_before = len(self._connection.memory_kills())
        if self._env == "remote-threads" or workers is not None:
            self._bind(workers)
        if self._env == "remote-processes":
            self._slots = 1
        if self._slots is not None:
            client.run(probes.add_slots, slots=self._slots)
            self._options["resources"] = {probes.SLOT: 1}
        if self._bound:
            self._options |= {"workers": list(self._bound.values()), "allow_other_workers": False}
            self._connection.watch()

    def _bind(self, workers: int | None) -> None:
        """Choose the first workers by name, and how many threads of one."""
        info = self._connection.client.scheduler_info(n_workers=-1)["workers"]
        by_name = sorted((str(info[a]["name"]), str(a)) for a in info)
        if self._env == "remote-threads":
            self._bound = dict(by_name[:1])
            self._slots = workers
            check_enough(self._env, workers, int(info[by_name[0][1]]["nthreads"]))
        else:
            check_enough(self._env, workers, len(by_name))
            self._bound = dict(by_name[:workers])

    def memory_kills(self) -> str | None:
        """Say which workers their nannies ended since ``begin`` because of their memory."""
        kills = self._connection.memory_kills()[self._killed_before :]
        if not kills:
            return None
        who = ", ".join(sorted({address for address, _ in kills}))
        most = max(rss for _, rss in kills) / MIB
        return f"{len(kills)} times a nanny ended a worker that held up to {most:,.0f} MiB: {who}"

    def states(self) -> dict[str, State]:
        """Look at this process and the workers."""
        return {"driver": state_look()} | self._connection.states()

    def idle(self) -> bool:
        """Ask the workers whether they still run tasks; one that failed may leave others."""
        return self._connection.idle()

    def renew(self, names: Collection[str]) -> None:
        """Restart the lane's workers of these names; local ones end with this process."""
        if self._connection.cluster is None:
            self._connection.restart(names)

    def current(self) -> AbstractContextManager[Any]:
        """Make the client the current one."""
        entered: AbstractContextManager[Any] = self._connection.client.as_current()
        return entered

    def end(self) -> None:
        """Release what is left and lift the restrictions."""
        # An exception keeps the frames of gather and so, through the client, all futures
        # of its graph: dropping ours would not release them.
        for future in self._futures:
            if hasattr(future, "release"):
                future.release()
        self._futures = []
        if self._bound:
            self._connection.unwatch()
        if self._slots is not None:
            self._connection.drop_slots()

    def compute(self, built: Built) -> tuple[Any, ...]:
        """Submit the graph and gather the results."""
        client = self._connection.client
        # Dask asks for the current client when it chooses how to shuffle.
        with self.current():
            self._futures = client.compute(
                built.collections,
                optimize_graph=built.optimize_graph,
                traverse=False,
                **self._options,
            )
        return tuple(client.gather(self._futures))

    def look(self) -> Look:
        """Release the last results and read all totals."""
        self._futures = []
        return self._connection.look()

    def members(self) -> tuple[Member, ...]:
        """Return the cluster's workers."""
        return self._connection.members()

    def lost(self) -> str | None:
        """Say that none of the workers that may run the tasks is left."""
        addresses = set(self._bound.values())
        if addresses and addresses <= self._connection.removed:
            who = ", ".join(sorted(addresses))
            return f"the worker {who}, to which the tasks are bound, left"
        return None

    def workers(self) -> list[dict[str, Any]]:
        """Return the scheduler's description of the workers."""
        info = self._connection.client.scheduler_info(n_workers=-1)
        return cluster_workers(self._env, info)

    @property
    def connection(self) -> Connection:
        """The connection that it uses."""
        return self._connection


async def _each_worker(client: Any, addresses: Iterable[str]) -> dict[str, Any]:
    """Ask each worker for its totals; None for one that does not answer in time."""

    async def one(address: str) -> Any:
        asked = client._run(probes.worker_look, workers=[address], on_error="return")
        try:
            answer = (await asyncio.wait_for(asked, _ANSWER_S)).get(address)
        except (TimeoutError, OSError):
            return None
        return answer if isinstance(answer, dict) else None

    asked = list(addresses)
    return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))


def _members(rows: list[WorkerRow]) -> tuple[Member, ...]:
    found = [Member(name=n, worker_id=i, nthreads=threads) for n, i, threads, _ in rows]
    return tuple(sorted(found, key=lambda m: m.name))


def _rows(scheduler: dict[str, Any], names: dict[str, str]) -> tuple[TaskRow, ...] | Missing:
    if scheduler["lost"]:
        return Missing(
            missing=f"the scheduler's task stream lost {scheduler['lost']} rows; raise "
            "distributed.scheduler.dashboard.tasks.task-stream-length"
        )
    return tuple(
        TaskRow(
            key=key,
            name=name,
            worker=worker,
            worker_name=names.get(worker, ""),
            thread=thread,
            nbytes=nbytes,
            spans=tuple((action, start, stop) for action, start, stop in spans),
        )
        for key, name, worker, thread, nbytes, spans in scheduler["rows"]
    )


def _transfers(workers: dict[str, Any]) -> Measured:
    parts = [w["transfer_bytes"] for w in workers.values()]
    if any(part is None for part in parts):
        return Missing(
            missing="a worker's log of transfers lost rows; raise "
            "distributed.admin.low-level-log-length"
        )
    return float(sum(parts))
