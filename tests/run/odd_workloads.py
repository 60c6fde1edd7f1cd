"""Workloads that behave, and some that do not; importable on workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import CorrectnessError
from daskperf_tasks.workloads.protocol import Built, Checked, ParamSpec, TaskList

SPEC = ",".join(
    f"tests.run.odd_workloads:{name}"
    for name in (
        *("COUNTS", "SUMS", "SLEEPS", "RAISES", "LIES", "HANGS", "EXITS", "KILLS_DRIVER"),
        *("KILLED", "CRASHES", "HOLDS"),
    )
)


def double(i: int) -> int:
    return 2 * i


def sleep_and_double(i: int) -> int:
    time.sleep(0.25)
    return 2 * i


def fail(i: int) -> int:
    if i == 2:
        raise ZeroDivisionError(f"unit {i} divides by zero")
    return 2 * i


def lie(i: int) -> int:
    return 2 * i + (i == 1)


def hang(i: int) -> int:
    # Sleeps in short pieces: a thread in it can only be ended with its process.
    while True:
        time.sleep(0.05)


def leave(i: int) -> int:
    os._exit(3)


def be_killed(i: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 2 * i


def crash(i: int) -> int:
    os.kill(os.getpid(), signal.SIGSEGV)
    return 2 * i


@dataclass(frozen=True)
class Odd:
    name: str
    function: Callable[[int], int]
    version: int = 1
    unit: str = "number"
    requires: tuple[str, ...] = ()
    params: Mapping[str, ParamSpec] = field(
        default_factory=lambda: {"n": ParamSpec(kind=int, default=1)}
    )

    def unit_cost_s(self, params: Mapping[str, Any]) -> float:
        return 0.001

    def build(self, params: Mapping[str, Any], *, units: int, seed: int) -> Built:
        arguments = tuple((i,) for i in range(units))
        return TaskList(name=self.name, function=self.function, arguments=arguments).built()

    def check(
        self, results: tuple[Any, ...], params: Mapping[str, Any], *, units: int, seed: int
    ) -> Checked:
        if list(results) != [2 * i for i in range(units)]:
            raise CorrectnessError("not doubled", found=str(results))
        return Checked(right_units=units, text="doubled")


@dataclass(frozen=True)
class Sums(Odd):
    """An array that is added to its transpose: workers exchange blocks."""

    def build(self, params: Mapping[str, Any], *, units: int, seed: int) -> Built:
        import dask.array as da

        x = da.arange(units * units, chunks=units * units // 4).reshape(units, units)
        total = (x + x.T).sum()
        return Built(collections=(total,))

    def check(
        self, results: tuple[Any, ...], params: Mapping[str, Any], *, units: int, seed: int
    ) -> Checked:
        n = units * units
        if int(results[0]) != n * (n - 1):
            raise CorrectnessError("wrong sum", found=str(results))
        return Checked(right_units=units, text="summed")


@dataclass(frozen=True)
class KillsDriver(Odd):
    """Ends the measuring process by force once; ``DASKPERF_TEST_MARK`` is where it notes that."""

    def build(self, params: Mapping[str, Any], *, units: int, seed: int) -> Built:
        mark = Path(os.environ["DASKPERF_TEST_MARK"])
        if not mark.exists():
            mark.write_text("once")
            os.kill(os.getpid(), 9)
        return super().build(params, units=units, seed=seed)


@dataclass(frozen=True)
class Holds(Odd):
    """Waits until ``DASKPERF_TEST_MARK`` is there: a pause between the blocks around it."""

    def build(self, params: Mapping[str, Any], *, units: int, seed: int) -> Built:
        mark = Path(os.environ["DASKPERF_TEST_MARK"])
        while not mark.exists():  # the block's time limit ends it
            time.sleep(0.02)
        return super().build(params, units=units, seed=seed)


COUNTS = Odd("counts", double)
SLEEPS = Odd("sleeps", sleep_and_double)
RAISES = Odd("raises", fail)
LIES = Odd("lies", lie)
HANGS = Odd("hangs", hang)
EXITS = Odd("exits", leave)
SUMS = Sums("sums", double)
KILLED = Odd("killed", be_killed)
CRASHES = Odd("crashes", crash)
HOLDS = Holds("holds", double)
KILLS_DRIVER = KillsDriver("kills-driver", double)
