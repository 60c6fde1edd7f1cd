"""The measuring process: ``python -m daskperf_tasks.run.round_main EVENTS_FD PARENT_PID``.

Reads a :class:`~daskperf_tasks.run.spec.RoundSpec` from standard input, measures
block after block, writes each result the moment it is there, and says on a pipe
what it is doing, a JSON line an event. It runs in a clean interpreter: without
Airflow's environment, with the wheel's folder first on the path.

Must be importable without effects: spawned processes import it again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from daskperf_tasks.errors import DaskperfError, InputError
from daskperf_tasks.model.block import BlockResult, Failure, Success, Timeout
from daskperf_tasks.model.codec import loads
from daskperf_tasks.run import sides, traces
from daskperf_tasks.run.block import failure_of, measure_block, write_block
from daskperf_tasks.run.cluster import ClusterEnvironment
from daskperf_tasks.run.done import unprofiled
from daskperf_tasks.run.environments import Environments
from daskperf_tasks.run.limits import BlockTimeLimit, limited
from daskperf_tasks.run.pools import end_with_parent
from daskperf_tasks.run.spec import RoundSpec, Turn
from daskperf_tasks.run.unmeasured import unmeasured_block
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.workloads.registry import load_registry

#: Seconds to look at all processes of an environment.
_LOOK_S = 8.0
#: Exit code that asks for a fresh process for the blocks that remain.
FRESH_PLEASE = 75


class Events:
    """Tells the supervisor what is going on."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "w", buffering=1)

    def send(self, event: str, **facts: Any) -> None:
        """Write one line."""
        print(json.dumps({"event": event, **facts}), file=self._file, flush=True)


def main(argv: list[str]) -> int:
    """Measure what standard input says; return the exit code."""
    events = Events(int(argv[1]))
    end_with_parent(int(argv[2]), signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Whatever a workload prints or says goes to the log.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    spec = loads(sys.stdin.buffer.read(), RoundSpec, where="standard input")
    store = FilesystemStore(spec.ledger)
    registry = load_registry()
    environments = Environments(spec)
    try:
        for turn in spec.turns:
            if not _one(turn, spec, registry, environments, store, events):
                return FRESH_PLEASE
        events.send("sides")
        cells = unprofiled(spec, store)
        sides.open_for(cells, environments)
        sides.describe(spec, environments, store)
        if cells:
            events.send("profile", limit_s=sum(c.request.timeout_s for c in cells))
            sides.profile(cells, spec, environments, registry, store)
    finally:
        events.send("closing")
        environments.close()
    return 0


def _one(
    turn: Turn,
    spec: RoundSpec,
    registry: dict[str, Any],
    environments: Environments,
    store: FilesystemStore,
    events: Events,
) -> bool:
    """Measure one block; False when this process is of no use any more."""
    planned = turn.planned
    env_name = planned.cell.env
    events.send("open", cell_id=planned.cell_id, attempt=turn.attempt, env=env_name)
    try:
        workload = registry.get(planned.request.workload)
        if workload is None or workload.version != planned.request.version:
            found = "none" if workload is None else f"version {workload.version}"
            raise InputError(
                f"workload {planned.request.workload!r} is not the planned one",
                expected=f"version {planned.request.version}",
                found="\n".join([found, *getattr(registry, "broken", ())]),
                todo="plan again, or install what brings the workload",
            )
        env = environments.ready(env_name)
    except Exception as err:
        fault = "infra" if isinstance(err, OSError) else "harness"
        print(traceback.format_exc(), flush=True)
        result = unmeasured_block(spec, turn, failure_of(err, fault))  # type: ignore[arg-type]
        write_block(store, result)
        _done(events, result, "unit")
        environments.drop(env_name)
        return True
    events.send(
        "start", cell_id=planned.cell_id, attempt=turn.attempt, limit_s=planned.request.timeout_s
    )
    before = _states(env)
    result = measure_block(turn, spec, env, workload, store)
    traces.disarm()
    _done(events, result, workload.unit)
    outcome = result.outcome
    if isinstance(outcome, Failure):
        print(outcome.traceback or outcome.message, flush=True)
    if isinstance(outcome, Timeout):
        _restart_hanging(spec, env)
        return False  # a thread of this process may hang too
    if not isinstance(outcome, Success) and not _idle(env):
        return False  # what it left running ends with this process
    changed = traces.differences(before, _states(env))
    if changed:
        text = " and ".join(f"in {name} {what}" for name, what in changed.items())
        events.send("renew", cell_id=planned.cell_id, why=text)
        _guarded(spec, lambda: env.renew(changed.keys()))
        return False  # whatever the block left behind ends with this process
    if not result.valid and not _harmless(result):
        environments.drop(env_name)
    return True


def _idle(env: Any) -> bool:
    try:
        with limited(_LOOK_S, lambda: None):
            return bool(env.idle())
    except (BlockTimeLimit, Exception) as err:
        print(f"{type(err).__name__}: {err}", flush=True)
        return False


def _states(env: Any) -> dict[str, traces.State]:
    """Look at the environment's processes; at none when they do not answer."""
    try:
        with limited(_LOOK_S, lambda: None):
            states: dict[str, traces.State] = env.states()
            return states
    except (BlockTimeLimit, Exception) as err:
        print(f"{type(err).__name__}: {err}", flush=True)
        return {}


def _harmless(result: BlockResult) -> bool:
    """A task that raised leaves its environment as it was."""
    outcome = result.outcome
    return (
        isinstance(outcome, Failure)
        and outcome.fault != "infra"
        and outcome.error_type != "BrokenProcessPool"
        and result.invalid_reason is None
    )


def _restart_hanging(spec: RoundSpec, env: Any) -> None:
    if isinstance(env, ClusterEnvironment):
        _guarded(spec, env.connection.restart_busy)


def _guarded(spec: RoundSpec, restart: Callable[[], None]) -> None:
    """Restart workers; the next process looks for itself whether they came back."""
    try:
        with limited(spec.open_timeout_s, lambda: None):
            restart()
    except (BlockTimeLimit, Exception) as err:
        print(f"workers were not restarted: {type(err).__name__}: {err}", flush=True)


def _done(events: Events, result: BlockResult, unit: str) -> None:
    events.send("done", cell_id=result.cell_id, attempt=result.attempt, unit=unit)


if __name__ == "__main__":
    try:
        code = main(sys.argv)
    except DaskperfError as error:
        print(error, flush=True)
        code = error.exit_code
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    # Threads that hang in a task would keep an ordinary exit waiting for ever.
    os._exit(code)
