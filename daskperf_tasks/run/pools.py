"""Pools for Dask's single-machine schedulers that note when each task ran.

The note costs two clock readings on each side of a task, about a microsecond.
Dask hands a pool ``batch_execute_tasks`` with a list of tasks; with chunks of
one, a call is a task, and its first argument starts with the key.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

from dask.utils import key_split

from daskperf_tasks.collect.task_stream import TaskRow

#: Seconds for the processes of a broken pool to end.
_END_S = 5.0

#: Seconds to ask all processes of a pool.
_EVERYWHERE_S = 2.0

#: pid, thread, start (Unix time), seconds, CPU seconds of the thread.
Timing = tuple[int, int, float, float, float]


def _timed(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Timing, Any]:
    began = time.time()
    start, cpu = time.perf_counter(), time.thread_time()
    told = None
    try:
        result = function(*args)
    except Exception as err:  # Dask packs a task's exception; this one could not be pickled
        told = _portable(err)
    if told is not None:
        raise told  # out here, as its context would be pickled with it
    timing = (
        os.getpid(),
        threading.get_ident(),
        began,
        time.perf_counter() - start,
        time.thread_time() - cpu,
    )
    return timing, result


def _portable(err: BaseException) -> Exception:
    """Return what a task raised as an exception that can be pickled."""
    text = "".join(traceback.format_exception(err))
    while err.__context__ is not None:
        err = err.__context__
    told = RuntimeError(f"{type(err).__name__}: {err} (the exception itself cannot be pickled)")
    told.add_note(text)
    return told


class TaskLog:
    """What ran in a pool since the last look."""

    def __init__(self) -> None:
        self._notes: deque[tuple[Any, Timing]] = deque()

    def note(self, args: tuple[Any, ...], timing: Timing) -> None:
        """Keep one call's timing; appending is atomic, so any thread may."""
        self._notes.append((args, timing))

    def take(self) -> tuple[tuple[TaskRow, ...], float]:
        """Return and forget the tasks, and their CPU seconds together."""
        notes = list(self._notes)
        self._notes.clear()
        rows = tuple(_row(args, timing) for args, timing in notes)
        return rows, sum(timing[4] for _, timing in notes)


def _row(args: tuple[Any, ...], timing: Timing) -> TaskRow:
    pid, thread, began, seconds, _ = timing
    try:
        key = args[0][0][0]
    except (IndexError, TypeError, KeyError):
        key = "unknown"
    return TaskRow(
        key=str(key),
        name=str(key_split(key)),
        worker=f"pid {pid}",
        worker_name=str(pid),
        thread=thread,
        nbytes=None,
        spans=(("compute", began, began + seconds),),
    )


class InFlight:
    """How many calls of a pool have not come to their end."""

    def __init__(self) -> None:
        self._count = 0
        self._change = threading.Condition()

    def follow(self, future: Future[Any]) -> None:
        """Count a call until its future is done."""
        with self._change:
            self._count += 1
        future.add_done_callback(self._ended)

    def _ended(self, _: Future[Any]) -> None:
        with self._change:
            self._count -= 1
            self._change.notify_all()

    def all_ended(self, patience_s: float) -> bool:
        """Wait for them; False when some still run."""
        with self._change:
            return self._change.wait_for(lambda: self._count == 0, patience_s)


class TimedThreadPool(ThreadPoolExecutor):
    """A thread pool with a task log."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, thread_name_prefix="daskperf")
        self.log = TaskLog()
        self.in_flight = InFlight()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args)``, noting its time."""
        future = super().submit(self._run, fn, args)
        self.in_flight.follow(future)
        return future

    def _run(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        timing, result = _timed(fn, args)
        self.log.note(args, timing)
        return result


class TimedProcessPool(ProcessPoolExecutor):
    """A pool of spawned processes with a task log; they end when their parent does."""

    def __init__(self, workers: int) -> None:
        #: Number of processes.
        self.size = workers
        super().__init__(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=end_with_parent,
            initargs=(os.getpid(),),
        )
        self.log = TaskLog()
        self.in_flight = InFlight()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args)`` in a process, noting its time there."""
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        inner = super().submit(_timed, fn, args)
        self.in_flight.follow(inner)
        inner.add_done_callback(lambda done: self._finish(done, args, outer))
        return outer

    def _finish(self, inner: Future[Any], args: tuple[Any, ...], outer: Future[Any]) -> None:
        error = inner.exception()
        if error is not None:
            outer.set_exception(error)
            return
        timing, result = inner.result()
        self.log.note(args, timing)
        outer.set_result(result)

    def warm_up(self) -> None:
        """Start all processes and let them import what tasks need."""
        waiting = [super(TimedProcessPool, self).submit(_greet) for _ in range(4 * self.size)]
        for future in waiting:
            future.result()

    def everywhere(self, function: Callable[[], Any]) -> dict[int, Any]:
        """Return what a function gives in each process, by its id; busy ones are left out."""
        found: dict[int, Any] = {}
        deadline = time.monotonic() + _EVERYWHERE_S
        while set(self.pids()) - found.keys() and time.monotonic() < deadline:
            asked = [
                super(TimedProcessPool, self).submit(_answer, function) for _ in range(self.size)
            ]
            for future in asked:
                pid, answer = future.result(_EVERYWHERE_S)
                found.setdefault(pid, answer)
        return found

    def pids(self) -> tuple[int, ...]:
        """Return the ids of the processes, which are started on demand."""
        return tuple(sorted(self._processes or ()))

    def ended_with(self) -> tuple[int, ...]:
        """Return the exit codes of a broken pool's processes (negative: the signal).

        It ends the others by SIGTERM, so all of them are waited for; a process
        closes its pipes, which breaks the pool, a moment before it has a code.
        """
        processes = list((self._processes or {}).values())
        deadline = time.monotonic() + _END_S
        while True:
            codes = [process.exitcode for process in processes]
            if None not in codes or time.monotonic() > deadline:
                return tuple(code for code in codes if code is not None)
            time.sleep(0.01)

    def kill(self) -> None:
        """End the processes without waiting for their tasks."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(wait=False, cancel_futures=True)


def _answer(function: Callable[[], Any]) -> tuple[int, Any]:
    time.sleep(0.01)  # so that one quick process does not take all the questions
    return os.getpid(), function()


def _greet() -> int:
    import dask.multiprocessing  # noqa: F401  # what the first task would import

    time.sleep(0.01)  # so that one quick process does not take all the greetings
    return os.getpid()


def end_with_parent(parent: int, with_signal: int = signal.SIGKILL) -> None:
    """Make the kernel end this process when its parent dies (Linux)."""
    pr_set_pdeathsig = 1
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(pr_set_pdeathsig, int(with_signal), 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
