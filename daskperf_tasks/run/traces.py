"""What a block left behind in a process that the next block would find there.

A workload may change what a process keeps for all of its code: the working folder,
environment variables, signal handlers, Dask's configuration, the collector's switch, the
functions of modules that all code uses; or leave threads and processes running. Its own
results may be right all the same. So that no other block is measured under it, the state is
read before and after each block, and a process that is not as it was is replaced. (Warning
filters are put back by the block itself; the state of random generators is nobody's:
workloads get a seed.)
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daskperf_tasks.run.memory_watch import family_of

#: Beginnings of the names of threads that Dask, multiprocessing and the pools here start
#: when they are first needed, and keep.
_KNOWN_THREADS = (
    "daskperf",
    "Dask-",
    "Profile",
    "IO loop",
    "asyncio_",
    "TCP-Executor",
    "AsyncProcess",
    "Queue",
    "ExecutorManagerThread",
    "Tornado",
    "Shuffle",
    "ThreadPoolExecutor",
    "profile",
    "distributed",
    "Dummy",
)
#: Beginnings of environment variables that native libraries set when they are imported.
_BY_LIBRARIES = ("KMP_",)
#: Modules whose functions are looked at: a block that replaces one changes all later ones.
_SHARED_MODULES = (
    *("builtins", "gc", "json", "math", "os", "pickle", "random", "threading", "time"),
    *("dask", "dask.base", "numpy", "pandas"),
)
# Not SIGALRM: every time limit sets that one anew.
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a process keeps for all of its code."""

    pid: int
    folder: str
    environ: Mapping[str, str]
    #: Signal -> its handler, as text.
    handlers: Mapping[str, str]
    #: Dask's settings that are not its defaults, as text.
    dask: Mapping[str, str]
    collector: tuple[bool, tuple[int, int, int]]
    path: tuple[str, ...]
    recursion_limit: int
    umask: int
    switch_interval_s: float
    #: Level up to which all logging is off.
    silenced: int
    #: Module and name -> identity, of functions that a patch would replace for all.
    functions: Mapping[str, int]
    threads: frozenset[str]
    #: Descendants that are not Dask's or multiprocessing's own: pid -> command.
    processes: Mapping[int, str]


def look() -> State:
    """Read the state of this process; takes some hundred microseconds."""
    import dask

    return State(
        pid=os.getpid(),
        folder=_folder(),
        environ={k: v for k, v in os.environ.items() if not k.startswith(_BY_LIBRARIES)},
        handlers={s.name: str(signal.getsignal(s)) for s in _SIGNALS},
        dask=_settings(dask.config.config, dask.config.defaults),
        collector=(gc.isenabled(), gc.get_threshold()),
        path=tuple(sys.path),
        recursion_limit=sys.getrecursionlimit(),
        umask=_umask(),
        switch_interval_s=sys.getswitchinterval(),
        silenced=logging.root.manager.disable,
        functions=_functions(),
        threads=frozenset(
            t.name
            for t in threading.enumerate()
            if not t.daemon and not t.name.startswith(_KNOWN_THREADS)
        ),
        processes=_strangers(),
    )


def difference(before: State, after: State) -> tuple[str, ...]:
    """Return in words what changed (pure)."""
    said = []
    if before.folder != after.folder:
        said.append(f"the working folder is {after.folder}")
    for what, was, now in (
        ("environment variable", before.environ, after.environ),
        ("handler of", before.handlers, after.handlers),
        ("Dask's setting", before.dask, after.dask),
    ):
        changed = sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k))
        said += [f"{what} {name} changed" for name in changed[:3]]
        if len(changed) > 3:
            said.append(f"and {len(changed) - 3} more")
    if before.collector != after.collector:
        said.append(f"the garbage collector is {'on' if after.collector[0] else 'off'}")
    if before.path != after.path:
        said.append("the import path changed")
    if before.recursion_limit != after.recursion_limit:
        said.append(f"the recursion limit is {after.recursion_limit}")
    if before.umask != after.umask:
        said.append(f"the umask is {after.umask:o}")
    if before.switch_interval_s != after.switch_interval_s:
        said.append(f"the switch interval is {after.switch_interval_s:g} s")
    if before.silenced != after.silenced:
        said.append(f"logging is off up to level {after.silenced}")
    both = before.functions.keys() & after.functions.keys()
    patched = sorted(n for n in both if before.functions[n] != after.functions[n])
    said += [f"{name} was replaced" for name in patched[:3]]
    if len(patched) > 3:
        said.append(f"and {len(patched) - 3} more")
    said += [f"a thread {name!r} still runs" for name in sorted(after.threads - before.threads)[:3]]
    new = after.processes.keys() - before.processes.keys()
    said += [f"a process still runs: {after.processes[pid]}" for pid in sorted(new)[:3]]
    return tuple(said)


def differences(before: Mapping[str, State], after: Mapping[str, State]) -> dict[str, str]:
    """Return what changed in which process (pure); one that came or went is no change here."""
    found = {}
    for name in sorted(before.keys() & after.keys()):
        said = difference(before[name], after[name])
        if said and before[name].pid == after[name].pid:
            found[name] = "; ".join(said)
    return found


def _umask() -> int:
    """Return the umask: Linux tells it, elsewhere it can only be read by setting it."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return -1


def _functions() -> dict[str, int]:
    """Return the identities of the functions of modules that every workload shares."""
    found = {}
    for name in _SHARED_MODULES:
        module = sys.modules.get(name)
        for key, value in list(vars(module).items()) if module is not None else ():
            if callable(value):
                found[f"{name}.{key}"] = id(value)
    return found


def disarm() -> None:
    """Stop the timers of this process that would end it, or interrupt it, in a later block."""
    faulthandler.cancel_dump_traceback_later()
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)


def end_strangers() -> None:
    """Kill what descends from this process and is not Dask's or multiprocessing's own."""
    for pid in _strangers():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "gone"


def _settings(
    config: Mapping[str, object], defaults: Sequence[Mapping[str, object]]
) -> dict[str, str]:
    """Return the settings that differ from the defaults, which grow with what is imported."""
    usual: dict[str, object] = {}
    for one in defaults:
        usual |= _flat(one)
    return {k: repr(v) for k, v in _flat(config).items() if k not in usual or usual[k] != v}


def _flat(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _strangers() -> dict[int, str]:
    found = {}
    for pid in family_of(os.getpid())[1:]:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        command = b" ".join(words).decode(errors="replace").strip()
        # A process that ended and was not waited for has no command line.
        if command and "multiprocessing" not in command:
            found[pid] = command[:80]
    return found
