"""Runs a round in measuring processes, and gives every block an outcome whatever they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from daskperf_tasks.model.block import Failure, Outcome, Success, Timeout
from daskperf_tasks.model.codec import dumps
from daskperf_tasks.run.block import Fault, write_block
from daskperf_tasks.run.child import Child, MemoryExceeded
from daskperf_tasks.run.deaths import killed_from_outside, signal_name
from daskperf_tasks.run.done import last_block, read_block, unprofiled
from daskperf_tasks.run.log_file import last_lines, trim
from daskperf_tasks.run.progress import block_line
from daskperf_tasks.run.round_main import FRESH_PLEASE
from daskperf_tasks.run.scheduler_wheel import on_scheduler
from daskperf_tasks.run.spec import RoundSpec, Turn
from daskperf_tasks.run.unmeasured import unmeasured_block
from daskperf_tasks.store.keys import run_key
from daskperf_tasks.store.protocol import ArtifactStore

#: Seconds to start, import and read the spec.
_START_S = 120.0
#: Seconds to close clients and clusters.
_CLOSE_S = 30.0
#: Lines of the log that a dead process's block quotes.
_LOG_LINES = 30

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundReport:
    """What became of a round's cells; their last attempts count."""

    valid: int
    #: Ran, but was disturbed in every attempt.
    invalid: int
    failed: int
    seconds: float


def run_round(spec: RoundSpec, *, store: ArtifactStore, log: Log) -> RoundReport:
    """Measure all blocks of a round.

    Every block ends up in the store with an outcome: one that hangs is ended
    at its limit and becomes a ``Timeout``, one whose process dies a
    ``Failure``; the others go on in a fresh process. Cells whose block does not
    count are measured again until ``spec.max_attempts``. Called again after a
    crash, it goes on where the store says; with nothing left to measure it still
    makes a profiled pass that is missing (:func:`daskperf_tasks.run.done.unprofiled`).

    Parameters
    ----------
    spec
        From :func:`daskperf_tasks.run.spec.round_spec`.
    store
        The ledger; the measuring process writes to ``spec.ledger``, its folder.
    log
        Gets a line for people about every block.
    """
    start = time.monotonic()
    with on_scheduler(spec, log):
        todo = _fresh_turns(spec, store, spec.turns)
        while todo:
            _one_pass(spec, store, log, todo)
            todo = _fresh_turns(spec, store, todo)
        if unprofiled(spec, store):
            # The process that measured last ended before it came to that.
            path, ended = _process(spec, store, log, [])
            if ended is not None:
                log(f"round {spec.round.index + 1}: {ended.says()}; see {path}")
    finals = [last_block(spec, store, turn.planned.cell_id) for turn in spec.turns]
    valid = sum(b is not None and b.valid for b in finals)
    failed = sum(b is None or not isinstance(b.outcome, Success) for b in finals)
    return RoundReport(
        valid=valid,
        invalid=len(finals) - valid - failed,
        failed=failed,
        seconds=time.monotonic() - start,
    )


def _one_pass(spec: RoundSpec, store: ArtifactStore, log: Log, turns: tuple[Turn, ...]) -> None:
    """Give every turn one attempt, in as many processes as that takes."""
    left = list(turns)
    while left:
        before = len(left)
        path, ended = _process(spec, store, log, left)
        # A process that ends between blocks is replaced; only one that never got to a
        # block, or was at one, counts against it, so that this loop comes to an end.
        at_block = ended is not None and ended.phase in ("open", "start")
        if left and (at_block or len(left) == before):
            turn = left.pop(0)
            outcome = ended or _End(phase="", code=FRESH_PLEASE, after_s=0.0)
            _write(spec, store, log, turn, outcome.of_block(path))
        elif ended is not None:
            log(f"round {spec.round.index + 1}: {ended.says()}; see {path}")


def _process(
    spec: RoundSpec, store: ArtifactStore, log: Log, left: list[Turn]
) -> tuple[Path, _End | None]:
    """Run one measuring process to its end; return its log, and how it ended if not well."""
    text = dumps(replace(spec, turns=tuple(left)))
    path = Path(spec.ledger, run_key(spec.run_id, "logs", f"round-{spec.round.index}.log"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        child = Child(spec, text, file)
        try:
            return path, _follow(spec, store, log, child, left)
        finally:
            child.kill()
            trim(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a process ended that did not do its work."""

    #: Name of its last event: what it was doing.
    phase: str
    #: Exit code, or None when it was killed because its time was up.
    code: int | None
    after_s: float
    #: That it was killed because it held too much memory, in words.
    memory: str | None = None

    def of_block(self, path: Path) -> Outcome:
        """Return what that makes of the block it was at."""
        if self.code is None and self.memory is None and self.phase == "start":
            return Timeout(after_s=round(self.after_s, 3))
        outside = self.code is not None and killed_from_outside([self.code]) is not None
        error_type = "ProcessDied" if self.code is not None else "ProcessHung"
        return Failure(
            fault="infra" if outside else _FAULT.get(self.phase, "harness"),
            error_type="MemoryExceeded" if self.memory else error_type,
            message=self.says(),
            traceback=last_lines(path.read_text(errors="replace"), _LOG_LINES),
        )

    def says(self) -> str:
        """Return it in words."""
        doing = _DOING.get(self.phase, "")
        outside = None if self.code is None else killed_from_outside([self.code])
        if outside is not None:
            how, _, by_whom = outside.partition(": ")
            return f"the measuring process was {how} {doing}: {by_whom}"
        if self.memory is not None:
            return f"the measuring process with its children {self.memory}; killed {doing}"
        if self.code is None:
            how = f"did not answer for {self.after_s:.0f} s and was killed"
        elif self.code < 0:
            how = f"was ended by {signal_name(-self.code)}"
        else:
            how = f"ended with code {self.code}"
        return f"the measuring process {how} {doing}"


_DOING = {
    "start": "in the middle of the block",
    "open": "while it opened the environment",
    "": "before its first block",
    "done": "between blocks",
    "renew": "between blocks",
    "sides": "while it described the environments",
    "profile": "in the profiled pass",
    "closing": "while it closed the environments",
}
_FAULT: dict[str, Fault] = {"start": "product", "open": "infra"}


def _follow(
    spec: RoundSpec, store: ArtifactStore, log: Log, child: Child, left: list[Turn]
) -> _End | None:
    """Follow a process to its end, taking the turns that are done off ``left``.

    Returns None when it did its work or asked for a fresh one.
    """
    limit = _START_S
    phase = ""
    while True:
        began = time.monotonic()
        try:
            event = child.next_event(began + limit)
        except TimeoutError:
            child.kill()
            return _End(phase=phase, code=None, after_s=time.monotonic() - began)
        except MemoryExceeded as err:
            child.kill()
            after_s = time.monotonic() - began
            return _End(phase=phase, code=None, after_s=after_s, memory=str(err))
        if event is None:
            code = child.end()
            if code is None:
                return _End(phase=phase, code=None, after_s=time.monotonic() - began)
            if code in (0, FRESH_PLEASE):
                return None
            return _End(phase=phase, code=code, after_s=time.monotonic() - began)
        if event["event"] == "done" and not _is_of(event, left):
            continue  # of no turn that is open: not the measuring process said it
        # One that closes in the middle of a block was ended by what the block did.
        if event["event"] != "closing" or phase not in ("open", "start"):
            phase = event["event"]
        limit = _limit(spec, event)
        if phase == "renew":
            who = f"round {spec.round.index + 1}: the measuring process is renewed"
            log(f"{who}, as {event['cell_id']} left things changed: {event['why']}")
        if phase == "done":
            turn = left.pop(0)
            result = read_block(spec, store, turn.planned.cell_id, turn.attempt)
            if result is not None:
                log(block_line(spec, turn, result, unit=str(event["unit"])))


def _is_of(event: dict[str, Any], left: list[Turn]) -> bool:
    turn = left[0] if left else None
    told = (event["cell_id"], event["attempt"])
    return turn is not None and told == (turn.planned.cell_id, turn.attempt)


def _limit(spec: RoundSpec, event: dict[str, Any]) -> float:
    kind = event["event"]
    if kind == "start":
        return float(event["limit_s"]) + spec.grace_s
    if kind == "closing":
        return _CLOSE_S
    if kind == "profile":
        return float(event["limit_s"]) + 60.0
    return 2 * spec.open_timeout_s + _START_S


def _write(spec: RoundSpec, store: ArtifactStore, log: Log, turn: Turn, outcome: Outcome) -> None:
    """Write what became of a turn that its process did not report."""
    result = read_block(spec, store, turn.planned.cell_id, turn.attempt)
    if result is None:
        result = unmeasured_block(spec, turn, outcome)
        write_block(store, result)
    # Else the process wrote it and could not say so any more: what it wrote counts.
    log(block_line(spec, turn, result))


def _fresh_turns(
    spec: RoundSpec, store: ArtifactStore, turns: tuple[Turn, ...]
) -> tuple[Turn, ...]:
    """Return the turns whose cell still has no valid block, with their next attempt."""
    todo = []
    for turn in turns:
        block = last_block(spec, store, turn.planned.cell_id)
        if block is None:
            todo.append(turn)
        elif not block.valid and block.attempt < spec.max_attempts:
            todo.append(replace(turn, attempt=block.attempt + 1))
    return tuple(todo)
