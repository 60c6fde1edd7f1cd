"""Bring the stack up, take it down, say what runs.

``up`` looks at what is there, keeps what is fit for use, ends what is not, and
starts what is missing, all at once. Each process is on record before the next
is started, and carries a marker besides, so that an ``up`` that is killed at
any point leaves nothing that a later ``up`` or ``down`` would not find.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daskperf_tasks.errors import StackError

from . import database, interrupted_uploads, ports, processes
from .airflow_client import AirflowClient
from .lane_file import WorkerSize, worker_size, write_lane
from .secret_files import ADMIN, Secrets, load_secrets
from .services import AIRFLOW, NAMES, PORTS_OF, ServiceSpec, declare, scheduler_address
from .state import Layout, StackState, Started, find_layout, load_state, locked, save_state
from .status import StackStatus, describe

Progress = Callable[[str], None]

#: Blocks that measure run one at a time: the pool has one slot.
LANE_POOL = "lane"

_LOCK_DEADLINE_S = 300.0
_GRACE_S = 5.0
#: A service that runs may be slow to answer on a loaded machine.
_HEALTH_PATIENCE_S = 8.0
_TICK_S = 0.1


def _silent(_: str) -> None:
    return None


def up(
    home: Path | str | None = None, *, airflow: bool = True, progress: Progress = _silent
) -> StackStatus:
    """Bring the stack up; what runs and is fit for use is left alone.

    Parameters
    ----------
    home
        The state folder, see `state.find_layout`.
    airflow
        Without it only the object server and Dask are looked after.
    progress
        Gets one line for each thing that happens.

    Raises
    ------
    StackError
        A service did not become fit for use; the message has the end of its log.
    """
    layout = find_layout(home)
    layout.make()
    with locked(layout, deadline_s=_LOCK_DEADLINE_S, progress=progress):
        raising = _Raising(
            layout=layout,
            state=load_state(layout),
            secrets=load_secrets(layout),
            size=worker_size(),
            wanted=tuple(n for n in NAMES if airflow or n not in AIRFLOW),
            progress=progress,
        )
        # A port may be lost to somebody else between choosing and listening.
        for attempt in (1, 2, 3):
            try:
                wanting = raising.run()
                break
            except _PortLost as lost:
                if attempt == 3:
                    raise lost.error from None
                progress(f"{lost.error.message}: its port was taken meanwhile, trying another")
        return describe(layout, raising.state, wanting)


def down(
    home: Path | str | None = None, *, progress: Progress = _silent, grace_s: float = _GRACE_S
) -> StackStatus:
    """End everything that the stack started, orphans included; data stays.

    Parameters
    ----------
    home, progress
        As for `up`.
    grace_s
        Seconds that services get to end by themselves.
    """
    layout = find_layout(home)
    if not layout.stack_file.exists():
        return describe(layout, load_state(layout), {})
    with locked(layout, deadline_s=_LOCK_DEADLINE_S, progress=progress):
        state = load_state(layout)
        # Asked before anything ends: one that is just ending no longer shows whose it is.
        foreign = {
            name: started.identity.pid
            for name, started in state.services.items()
            if processes.owner(started.identity, state.stack_id) == "foreign"
        }
        count = processes.end(state.stack_id, grace_s=grace_s)
        for name, pid in foreign.items():
            progress(f"{name}: pid {pid} is another program now, left alone")
        state.services.clear()
        state.notes.clear()
        save_state(layout, state)
        progress(f"ended {count} processes")
        return describe(layout, state, {})


def status(home: Path | str | None = None) -> StackStatus:
    """Say what runs and whether it is fit for use; changes nothing."""
    layout = find_layout(home)
    state = load_state(layout)
    running = _ours(state)
    if not running:
        return describe(layout, state, {})
    specs = declare(layout, state.ports, load_secrets(layout), worker_size())
    wanting = {name: specs[name].probe(state.services[name].started_s) for name in running}
    return describe(layout, state, wanting)


def _ours(state: StackState) -> tuple[str, ...]:
    return tuple(
        name
        for name in NAMES
        if name in state.services
        and processes.owner(state.services[name].identity, state.stack_id) == "ours"
    )


class _PortLost(Exception):
    def __init__(self, error: StackError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True, kw_only=True)
class _Raising:
    """One ``up`` at work; holds the lock."""

    layout: Layout
    state: StackState
    secrets: Secrets
    size: WorkerSize
    wanted: tuple[str, ...]
    progress: Progress

    def run(self) -> dict[str, str | None]:
        """Heal and start; gives what the probes said of each service."""
        self._end_strays()
        specs, to_start = self._settle()
        kept = [n for n in self.wanted if n not in to_start]
        if kept:
            self.progress(f"found running: {', '.join(kept)}")
        # More than once only when a service that was seen through a dead one is unfit too.
        while to_start:
            self._start_all(specs, to_start)
            if not to_start.isdisjoint(AIRFLOW):
                self._make_pool(specs["airflow-web"])
            specs, to_start = self._settle()
        write_lane(self.layout, scheduler_address(self.state.ports), self.size)
        return dict.fromkeys(self.wanted)

    def _end_strays(self) -> None:
        """End marked processes of services that are not on record, or whose record is stale.

        Those are what a killed ``up`` had just started, and orphans of services
        that were killed.
        """
        alive = set(_ours(self.state))
        strays = {
            processes.service_of(pid)
            for pid in processes.members(self.state.stack_id)
            if processes.service_of(pid) not in alive
        }
        for name in strays:
            self.progress(f"{name}: ending what is left of an earlier start")
        processes.end(self.state.stack_id, [s for s in strays if s], grace_s=_GRACE_S)

    def _settle(self) -> tuple[dict[str, ServiceSpec], set[str]]:
        """Choose ports and find what has to be started; ends what must give way to it."""
        to_start: set[str] = set()
        while True:
            alive = set(_ours(self.state))
            specs = declare(self.layout, self._choose_ports(alive), self.secrets, self.size)
            bad = self._faults(specs, [n for n in self.wanted if n in alive])
            to_start |= {n for n in self.wanted if n not in alive} | set(bad)
            to_start |= {n for n in self.wanted if specs[n].bound_to in to_start}
            ending = to_start & alive
            if not ending:
                save_state(self.layout, self.state)
                return specs, to_start
            for name in sorted(ending):
                self.progress(f"{name}: restarting, {bad.get(name, 'what it depends on restarts')}")
            processes.end(self.state.stack_id, ending, grace_s=_GRACE_S)

    def _choose_ports(self, alive: Collection[str]) -> dict[str, int]:
        """Running services keep their ports, the others get the customary ones if free.

        While something runs, a dead service's old port comes first: those that
        know its address need not restart then.
        """
        state = self.state
        held = {port for name in alive for port in PORTS_OF.get(name, ())}
        stay = bool(alive)
        taken = {state.ports[p] for p in held if p in state.ports}
        for name in NAMES:
            for port in PORTS_OF.get(name, ()):
                if port in held and port in state.ports:
                    continue
                preferred = ports.PREFERRED[port]
                first = state.ports.get(port, preferred) if stay else preferred
                state.ports[port] = ports.choose(first, taken)
                taken.add(state.ports[port])
                if name in self.wanted:
                    self._note_port(port, preferred)
        return state.ports

    def _note_port(self, port: str, preferred: int) -> None:
        chosen = self.state.ports[port]
        key = f"port {port}"
        if chosen == preferred or ports.is_free(preferred):
            self.state.notes.pop(key, None)
            return
        note = f"{port} uses port {chosen}: {preferred} is held by {ports.holder(preferred)}"
        if self.state.notes.get(key) != note:
            self.progress(note)
        self.state.notes[key] = note

    def _faults(self, specs: Mapping[str, ServiceSpec], alive: Sequence[str]) -> dict[str, str]:
        """Why running services (in order of `NAMES`) cannot be kept, by service."""
        faults: dict[str, str] = {}
        until = time.monotonic() + _HEALTH_PATIENCE_S
        for name in alive:
            started, spec = self.state.services[name], specs[name]
            if started.fingerprint != spec.fingerprint:
                faults[name] = "its settings changed"
                continue
            # A variable that is absent now is no reason: another shell may have set it.
            news = spec.own_digests().items() - started.own_digests.items()
            if news:
                faults[name] = f"{', '.join(sorted(n for n, _ in news))} changed"
                continue
            through = spec.seen_through
            if through and (through not in alive or through in faults):
                continue
            while wanting := spec.probe(started.started_s):
                if time.monotonic() > until:
                    faults[name] = wanting
                    break
                time.sleep(_TICK_S)
        return faults

    def _start_all(self, specs: Mapping[str, ServiceSpec], to_start: set[str]) -> None:
        waiting = [n for n in NAMES if n in to_start]
        migration = self._start_migration(specs, waiting)
        begun: dict[str, float] = {}
        while waiting or begun:
            if migration and self._migrated(migration):
                migration = None
            for name in list(waiting):
                if migration and specs[name].is_airflow:
                    continue
                waiting.remove(name)
                self._start(specs[name])
                begun[name] = time.monotonic()
            for name in list(begun):
                elapsed = time.monotonic() - begun[name]
                if self._is_up(specs[name], elapsed):
                    self.progress(f"{name}: up after {elapsed:.1f} s, {specs[name].url}")
                    del begun[name]
            time.sleep(_TICK_S)

    def _start(self, spec: ServiceSpec) -> None:
        if spec.name == "object-server":
            interrupted_uploads.clear(self.layout)
        started_s = time.time()
        identity = self._spawn(spec.name, spec.command, spec.environment())
        self.state.services[spec.name] = Started(
            name=spec.name,
            identity=identity,
            command=spec.command,
            log=str(self.layout.log(spec.name)),
            url=spec.url,
            started_s=started_s,
            fingerprint=spec.fingerprint,
            own_digests=spec.own_digests(),
        )
        save_state(self.layout, self.state)

    def _spawn(
        self, name: str, command: tuple[str, ...], environment: Mapping[str, str]
    ) -> processes.Identity:
        markers = {
            processes.STACK_MARKER: self.state.stack_id,
            processes.SERVICE_MARKER: name,
        }
        try:
            return processes.start(
                command,
                environment={**environment, **markers},
                log=self.layout.log(name),
                cwd=self.layout.home,
            )
        except OSError as error:
            raise StackError(
                f"{name} cannot be started",
                where=command[0],
                found=str(error),
                todo="install the orchestrator's requirements (`make` does it)",
            ) from error

    def _is_up(self, spec: ServiceSpec, elapsed_s: float) -> bool:
        started = self.state.services[spec.name]
        wanting = spec.probe(started.started_s)
        ended = processes.owner(started.identity, self.state.stack_id) != "ours"
        if not wanting and not ended:
            return True
        if not ended and elapsed_s < spec.deadline_s:
            return False
        code = processes.exit_code(started.identity.pid)
        error = StackError(
            f"{spec.name} did not come up",
            where=started.log,
            expected=f"fit for use within {spec.deadline_s:g} s",
            found=f"ended with code {code}" if ended else wanting,
            todo="read the end of its log:\n" + processes.last_lines(Path(started.log)),
        )
        processes.end(self.state.stack_id, [spec.name], grace_s=_GRACE_S)
        mine = [self.state.ports[p] for p in PORTS_OF.get(spec.name, ())]
        if not all(ports.is_free(port) for port in mine):
            raise _PortLost(error)
        raise error

    def _start_migration(
        self, specs: Mapping[str, ServiceSpec], waiting: Iterable[str]
    ) -> processes.Identity | None:
        if set(AIRFLOW).isdisjoint(waiting) or database.is_current(self.layout):
            return None
        self.progress(f"{database.NAME}: bringing it up to date")
        database.set_aside_unfinished(self.layout)
        environment = specs["airflow-web"].environment()
        return self._spawn(database.NAME, database.command(), environment)

    def _migrated(self, migration: processes.Identity) -> bool:
        code = processes.exit_code(migration.pid)
        if code is None:
            return False
        if code != 0:
            log = self.layout.log(database.NAME)
            raise StackError(
                "Airflow's database could not be brought up to date",
                where=str(log),
                found=f"exit code {code}",
                todo="read the end of its log:\n" + processes.last_lines(log),
            )
        database.mark_current(self.layout)
        return True

    def _make_pool(self, web: ServiceSpec) -> None:
        client = AirflowClient(
            url=web.url, user=ADMIN, password=self.secrets.airflow_passwords[ADMIN]
        )
        client.ensure_pool(LANE_POOL, slots=1, description="blocks that measure: one at a time")
