"""Workloads that misbehave, each in one way; importable on workers.

Each computes ``2 * i`` for its units; what is wrong happens in a task, while
the graph is built, or in the check.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import itertools
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Built, Checked, ParamSpec, TaskList

HERE = "tests.run.misbehaving_workloads"
MIB = 2**20


def double(i: int) -> int:
    return 2 * i


# --- in a task ---------------------------------------------------------------


def sleep_for_ever(i: int) -> int:
    time.sleep(3600)
    return 2 * i


def loop_for_ever(i: int) -> int:
    while True:
        i += 1


def hold_the_gil(i: int) -> int:
    ctypes.PyDLL(None).sleep(3600)  # unlike CDLL, PyDLL keeps the GIL during the call
    return 2 * i


def eat_memory(i: int) -> int:
    kept = []
    while True:
        if len(kept) < 120:  # a test must not take the host's memory where nobody stops it
            kept.append(b"x" * (16 * MIB))
        time.sleep(0.02)


class Unpicklable(Exception):
    def __init__(self, lock: Any) -> None:
        super().__init__("this one holds a lock")
        self.lock = lock


def raise_unpicklable(i: int) -> int:
    raise Unpicklable(threading.Lock())


class OutOfTheTree(BaseException):
    pass


def raise_a_base_exception(i: int) -> int:
    raise OutOfTheTree("no Exception, but a BaseException")


class Wordless(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


def raise_wordless(i: int) -> int:
    raise Wordless


def raise_a_long_story(i: int) -> int:
    raise ValueError("long " * 5_000_000)


def arm_a_timer(i: int) -> int:
    faulthandler.dump_traceback_later(2, exit=True)
    return 2 * i


_calls = itertools.count()


def raise_while_others_hang(i: int) -> int:
    if next(_calls) % 2:
        raise ValueError("the others hang")
    time.sleep(3600)
    return 2 * i


def patch_a_clock(i: int) -> int:
    real = time.perf_counter
    time.perf_counter = lambda: real() * 0.5
    return 2 * i


def write_to_all_files(i: int) -> int:
    for number in range(3, 30):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                os.write(
                    number,
                    b'\xff\xfe no JSON\n[1, 2]\n{"event": "done", "cell_id": "x", '
                    b'"attempt": 1, "unit": "y"}\n{"event": "start"}\n',
                )
    return 2 * i


def close_files(i: int) -> int:
    os.closerange(3, 100)
    return 2 * i


def kill_the_group(i: int) -> int:
    os.killpg(os.getpgid(0), signal.SIGTERM)
    time.sleep(3600)
    return 2 * i


class TwoArguments(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def raise_what_does_not_unpickle(i: int) -> int:
    raise TwoArguments(1, 2)


def return_lock(i: int) -> Any:
    return threading.Lock()


def return_text(i: int) -> Any:
    return "two"


def return_none(i: int) -> Any:
    return None


def return_much(i: int) -> Any:
    return b"y" * (48 * MIB)


def leave(i: int) -> int:
    os._exit(3)


def crash(i: int) -> int:
    ctypes.string_at(0)
    return 2 * i


def exit_politely(i: int) -> int:
    sys.exit("enough")


def interrupt(i: int) -> int:
    raise KeyboardInterrupt


def print_much(i: int) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.write(('{"event": "done", "cell_id": "x"}\n' * 32768)[: 2 * MIB])
        stream.flush()
    return 2 * i


def change_state(i: int) -> int:
    """Everything that a process keeps for all, changed at once."""
    import dask

    os.chdir("/")
    os.environ["PYTHONPATH"] = "/nowhere"
    os.environ["DASKPERF_WORKLOADS"] = "no.such:THING"
    dask.config.set({"array.slicing.split-large-chunks": True, "scheduler": "sync"})
    dask.config.set(pool=None)
    warnings.simplefilter("error")
    gc.disable()
    random.seed(1)
    sys.path.insert(0, "/nowhere")
    sys.setrecursionlimit(300)
    return 2 * i


def leave_a_thread(i: int) -> int:
    threading.Thread(target=time.sleep, args=(3600,), name="left-over").start()
    return 2 * i


def leave_a_process(i: int) -> int:
    subprocess.Popen(
        ["sleep", "3601"],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return 2 * i


# --- while the graph is built, and in the check ------------------------------


def nothing() -> None:
    """Behave."""


def hang() -> None:
    while True:
        time.sleep(0.05)


def swallow_and_hang() -> None:
    """Catch even what ends the process."""
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            continue


def fail() -> None:
    raise ZeroDivisionError("nothing can be divided by zero")


def end() -> None:
    os._exit(4)


def sys_exit() -> None:
    sys.exit("enough")


def ctrl_c() -> None:
    raise KeyboardInterrupt


def change_handlers() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def change_and_hang() -> None:
    change_handlers()
    hang()


@dataclass(frozen=True)
class Bad:
    name: str
    function: Callable[[int], Any] = double
    while_building: Callable[[], None] = nothing
    while_checking: Callable[[], None] = nothing
    #: What the check says whatever the results are; None: the truth.
    says: tuple[Any, ...] | None = None
    #: What build returns in place of the graph; None: the graph.
    builds: tuple[Any, ...] | None = None
    version: int = 1
    unit: str = "number"
    requires: tuple[str, ...] = ()
    #: ``k`` tells cells apart that do the same.
    params: Mapping[str, ParamSpec] = field(
        default_factory=lambda: {"k": ParamSpec(kind=int, default=0)}
    )

    def unit_cost_s(self, params: Mapping[str, Any]) -> float:
        return 0.001

    def build(self, params: Mapping[str, Any], *, units: int, seed: int) -> Any:
        self.while_building()
        if self.builds is not None:
            return self.builds[0]
        arguments = tuple((i,) for i in range(units))
        return TaskList(name=self.name, function=self.function, arguments=arguments).built()

    def check(
        self, results: tuple[Any, ...], params: Mapping[str, Any], *, units: int, seed: int
    ) -> Any:
        self.while_checking()
        if self.says is not None:
            return self.says[0]
        if list(results) != [2 * i for i in range(units)]:
            raise CorrectnessError("not doubled", found=str([str(r)[:40] for r in results]))
        return Checked(right_units=units, text="doubled")


class Counts(Bad):
    """Behaves; other blocks' damage would show here."""

    def check(self, results: Any, params: Any, *, units: int, seed: int) -> Checked:
        checked: Checked = super().check(results, params, units=units, seed=seed)
        if str(Path.cwd()) == "/" or not gc.isenabled():
            raise CorrectnessError("this process is not as it was")
        return checked


ALL = (
    Counts("good"),
    Bad("sleeping", sleep_for_ever),
    Bad("looping", loop_for_ever),
    Bad("gil", hold_the_gil),
    Bad("eating", eat_memory),
    Bad("unpicklable", raise_unpicklable),
    Bad("base", raise_a_base_exception),
    Bad("wordless", raise_wordless),
    Bad("long", raise_a_long_story),
    Bad("closing", close_files),
    Bad("timer", arm_a_timer),
    Bad("clock", patch_a_clock),
    Bad("others", raise_while_others_hang),
    Bad("pipes", write_to_all_files),
    Bad("group", kill_the_group),
    Bad("not-unpickled", raise_what_does_not_unpickle),
    Bad("lock", return_lock),
    Bad("text", return_text),
    Bad("none", return_none),
    Bad("much", return_much),
    Bad("leaving", leave),
    Bad("crashing", crash),
    Bad("sys-exit", exit_politely),
    Bad("ctrl-c", interrupt),
    Bad("printing", print_much),
    Bad("state", change_state),
    Bad("thread", leave_a_thread),
    Bad("process", leave_a_process),
    Bad("build-hangs", while_building=hang),
    Bad("build-swallows", while_building=swallow_and_hang),
    Bad("build-fails", while_building=fail),
    Bad("build-ends", while_building=end),
    Bad("build-exits", while_building=sys_exit),
    Bad("build-ctrl-c", while_building=ctrl_c),
    Bad("build-handlers", while_building=change_handlers),
    Bad("build-handlers-hangs", while_building=change_and_hang),
    Bad("build-none", builds=(None,)),
    Bad("build-empty", builds=(Built(collections=()),)),
    Bad("build-number", builds=(Built(collections=(42,)),)),
    Bad("check-hangs", while_checking=hang),
    Bad("check-fails", while_checking=fail),
    Bad("check-ends", while_checking=end),
    Bad("check-exits", while_checking=sys_exit),
    Bad("check-none", says=(None,)),
    Bad("check-nan", says=(Checked(right_units=float("nan"), text="?"),)),  # type: ignore[arg-type]
    Bad("check-more", says=(Checked(right_units=10**6, text="?"),)),
    Bad("check-less", says=(Checked(right_units=-1, text="?"),)),
    Bad("check-half", says=(Checked(right_units=3, text="half a pair: \ud800"),)),
    Bad("check-text", says=(Checked(right_units=1, text=object()),)),  # type: ignore[arg-type]
)
globals().update({w.name.replace("-", "_").upper(): w for w in ALL})
SPEC = ",".join(f"{HERE}:{w.name.replace('-', '_').upper()}" for w in ALL)
