"""The whole chain in one process: what Airflow's DAG does, for the command line."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from daskperf_tasks import stages
from daskperf_tasks.asking import Ask
from daskperf_tasks.derive import later_troubles, report_inputs
from daskperf_tasks.errors import (
    DaskperfError,
    GateRed,
    HarnessError,
    Interrupted,
    LaneBusyError,
)
from daskperf_tasks.model.results import Manifest
from daskperf_tasks.settings import Settings
from daskperf_tasks.stage_clock import stage_seconds
from daskperf_tasks.store import keys
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.runs import load_or_none

log = logging.getLogger("daskperf")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOutcome:
    """How a run ended, for the command line."""

    facts: dict[str, Any]
    text: str
    exit_code: int


def run_chain(settings: Settings, ask: Ask) -> ChainOutcome:
    """Run every stage in order; restore the lane and leave a manifest whatever happens.

    Raises
    ------
    DaskperfError
        Only when the run could not even be planned. Later errors become part
        of the outcome, as a failed stage does in a DAG run.
    """
    begun = stages.start(settings, ask)
    run_id = str(begun["run_id"])
    troubles: list[DaskperfError] = []

    def attempt(name: str, stage: Callable[[], stages.Facts]) -> bool:
        log.info("--- %s", name)
        try:
            stage()
        except LaneBusyError as err:
            if name == "deploy":
                raise  # nothing was begun, so there is nothing to tell of
            troubles.append(err)
            return False
        except DaskperfError as err:
            log.error("%s failed: %s", name, err)
            troubles.append(err)
            return False
        except Exception as err:
            # A defect of ours must not cost the manifest of what was measured.
            log.exception("%s broke", name)
            troubles.append(HarnessError(f"{name} broke: {type(err).__name__}: {err}"))
            return False
        return True

    def measure_all() -> None:
        ready = (
            attempt("deploy", lambda: stages.deploy(settings, run_id))
            and attempt("preflight", lambda: stages.preflight(settings, run_id))
            and attempt("calibrate", lambda: stages.calibrate(settings, run_id))
        )
        for index in begun["rounds"] if ready else ():
            name = f"measure {begun['round_names'][index]}"
            attempt(name, lambda index=index: stages.measure(settings, run_id, index))  # type: ignore[misc]

    later = ["analyse", "validate", "report", "publish", "notify", "gate"]
    with _ended_by_signals():
        try:
            measure_all()
        except LaneBusyError:
            stages.forget(settings, run_id)
            raise
        except KeyboardInterrupt:
            log.error("interrupted: the lane is given back, the run closed with what it has")
            troubles.append(
                Interrupted(
                    "the run was interrupted",
                    where=run_id,
                    todo="`daskperf publish` publishes what it had measured",
                )
            )
            later = ["analyse", "validate", "report", "close"]
        attempt("restore", lambda: stages.restore(settings, run_id))
        for name in later:
            attempt(name, lambda name=name: getattr(stages, name)(settings, run_id))  # type: ignore[misc]

    # What happened first is what the others follow from.
    root: list[DaskperfError] = [t for t in troubles if isinstance(t, Interrupted)]
    root = root or [t for t in troubles if not isinstance(t, GateRed)] or troubles
    code = root[0].exit_code if root else 0
    facts = _facts(settings, run_id) | {"exit_code": code}
    return ChainOutcome(facts=facts, text=_summary(settings, run_id), exit_code=code)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does: lane given back, run closed."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _facts(settings: Settings, run_id: str) -> dict[str, Any]:
    """Return how a run ended, in small facts."""
    spool = FilesystemStore(settings.spool)
    manifest = load_or_none(spool, run_id, keys.MANIFEST, Manifest)
    later = later_troubles(spool, run_id)
    return {
        "run_id": run_id,
        "state": manifest.state if manifest else "in progress",
        "green": manifest.green and not later if manifest else False,
        "reasons": [*(manifest.reasons if manifest else ()), *later],
        "stage_seconds": stage_seconds(spool, run_id),
        "store": settings.store,
    }


def _summary(settings: Settings, run_id: str) -> str:
    """Return a run's summary for a terminal."""
    from daskperf_tasks.report.terminal import terminal_summary

    return terminal_summary(
        report_inputs(FilesystemStore(settings.spool), run_id, store_url=settings.store)
    )
