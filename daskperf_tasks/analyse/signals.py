"""From a cell's figures to signals: what each says, with its numbers."""

from __future__ import annotations

from daskperf_tasks.analyse.figures import Figures
from daskperf_tasks.analyse.metrics_of import over, plus, times
from daskperf_tasks.analyse.signal_table import RULES, Rule
from daskperf_tasks.model.measured import Measured, Missing
from daskperf_tasks.model.results import Signal

NO_STREAM = "there is no task stream of this cell"
GIL = "threads take turns (GIL)"
#: From here on the lock explains the threads well enough to be judged by it.
GIL_LIKELY = 0.5


def signals_of(f: Figures) -> tuple[Signal, ...]:
    """Return every signal of the table, and the one of the interpreter lock where it speaks."""
    found = [_signal(r, *_value(r, f)) for r in RULES]
    if gil_bound(f):
        found.insert(0, _gil_signal(f))
    return tuple(found)


def gil_bound(f: Figures) -> bool:
    """Whether the threads take turns under the interpreter lock."""
    return not isinstance(f.gil, Missing) and f.gil >= GIL_LIKELY


def usable_cores(f: Figures) -> float:
    """Cores that the cell's tasks could use at once: one a process under the lock."""
    return float(min(f.usable, f.processes)) if gil_bound(f) else f.usable


def _signal(rule: Rule, value: Measured, says: str) -> Signal:
    known = not isinstance(value, Missing)
    return Signal(
        name=rule.name,
        value=value,
        unit=rule.unit,
        speaks_for=rule.cls,
        strength=rule.strength(value) if not isinstance(value, Missing) else 0.0,
        says=says if known else f"not taken: {value.missing}",  # type: ignore[union-attr]
        opposite=rule.opposite,
    )


def _value(rule: Rule, f: Figures) -> tuple[Measured, str]:
    """Return a rule's figure in its unit and the sentence that shows it."""
    match rule.name:
        case "busy fraction":
            return f.busy_fraction, f"threads were on tasks {pct(f.busy_fraction)} of the time"
        case "CPU cores used / usable":
            usable = usable_cores(f)
            value = over(f.cores_used, usable)
            return value, f"{num(f.cores_used)} of {usable:.2g} usable cores were used"
        case "CPU / wall of tasks":
            value = f.cpu_per_wall
            if gil_bound(f) and not isinstance(value, Missing):
                whole = value * f.threads / f.processes
                return whole, (
                    f"tasks computed {pct(value)} of their wall time, which is {pct(whole)} of "
                    f"what {f.threads} threads taking turns in {f.processes} process can get"
                )
            return value, f"tasks computed {pct(value)} of their wall time"
        case "task time against overhead":
            moved = times(f.task_ms, f.transfer_per_task)
            rest = plus(f.overhead_ms, 0.0 if isinstance(moved, Missing) else moved)
            return _capped(f.task_ms, rest), (
                f"{num(f.task_ms)} ms in a task against {num(rest)} ms around it and in transfers"
            )
        case "task duration":
            return f.task_ms, f"a task takes {num(f.task_ms)} ms on average"
        case "overhead per task / task duration":
            value = over(f.overhead_ms, f.task_ms)
            return (
                value,
                f"{num(f.overhead_ms)} ms of thread time around a {num(f.task_ms)} ms task",
            )
        case "scheduler CPU / makespan":
            value = f.scheduler_share
            return value, f"the scheduler process was computing {pct(value)} of the makespan"
        case "thread time in transfers":
            value = f.transfer_share
            return value, f"waiting for inputs took {pct(value)} of the thread time"
        case "transfer time / task time":
            value = f.transfer_per_task
            return value, f"{num(value)} s of transfer for each second of task time"
        case "bytes moved per task CPU second":
            value = f.transfer_rate
            return value, f"{num(value)} MiB moved for each CPU second of tasks"
        case "communication share of fine metrics":
            value = f.communication
            return value, f"Dask accounts {pct(value)} of its seconds to communication"
        case "slowest calibration index":
            value = f.slowest_index
            return value, f"the slowest worker calibrates at {num(value)} of the median worker"
        case _:
            return _stream_value(rule, f)


def _stream_value(rule: Rule, f: Figures) -> tuple[Measured, str]:
    s = f.stream
    if s is None:
        return Missing(missing=NO_STREAM), ""
    one = "the task stream shows one worker only"
    match rule.name:
        case "gaps between tasks":
            gap = "" if s.gap_s is None else f", median gap {s.gap_s * 1e3:.2g} ms"
            return s.gap_share, f"{s.gap_share:.0%} of thread time is gaps between tasks{gap}"
        case "idle while awaiting payloads":
            value = s.awaiting_share
            return value, f"threads idle {value:.0%} of the time while data arrives"
        case "idle tail":
            return s.tail_share, (
                f"threads without work wait {s.tail_share:.0%} of the thread time for the last"
            )
        case "finish lag of the last worker":
            if s.finish_lag is None:
                return Missing(missing=one), ""
            return s.finish_lag, (
                f"the last worker ends {s.finish_lag:.0%} of the makespan after the median worker"
            )
        case "slowest worker / median worker":
            if s.slowest_ratio is None:
                return Missing(missing="no task name ran often enough on two workers"), ""
            return s.slowest_ratio, (
                f"worker {s.slowest_worker} takes {s.slowest_ratio:.2f} times as long for the same "
                f"tasks and is the slowest in {s.slowest_consistency or 0:.0%} of the repeats"
            )
    raise KeyError(rule.name)


def _capped(task_ms: Measured, rest_ms: Measured) -> Measured:
    """No time around tasks at all is as good as a hundred times less."""
    if rest_ms == 0.0:
        return 100.0
    value = over(task_ms, rest_ms)
    return value if isinstance(value, Missing) else min(value, 100.0)


def _gil_signal(f: Figures) -> Signal:
    gil = f.gil if not isinstance(f.gil, Missing) else 0.0
    return Signal(
        name=GIL,
        value=f.cores_used,
        unit="cores",
        speaks_for="compute-bound",
        strength=gil,
        says=f"{f.threads} threads in {f.processes} process used {num(f.cores_used)} cores "
        f"although {f.usable:.2g} were free for them, and tasks computed only "
        f"{pct(f.cpu_per_wall)} of their wall time: they take turns under the interpreter lock "
        "(GIL)",
        opposite=f"{f.usable:.2g} cores in use, CPU / wall near 1",
    )


def num(value: Measured) -> str:
    """Three significant digits, or a dash."""
    return "–" if isinstance(value, Missing) else f"{value:.3g}"


def pct(value: Measured) -> str:
    """Per cent, or a dash."""
    return "–" if isinstance(value, Missing) else f"{value:.0%}"
