"""Is this machine fit to measure, and why not."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Level = Literal["good", "note", "warn", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """One thing that was looked at."""

    name: str
    level: Level
    found: str
    #: Why it matters and what to do; empty when it is good.
    advice: str = ""

    def facts(self) -> dict[str, str]:
        """The fields as a plain mapping, for JSON."""
        return {
            "name": self.name,
            "level": self.level,
            "found": self.found,
            "advice": self.advice,
        }


def examine() -> tuple[Examined, ...]:
    """Look at everything that makes measurements worse, worst first within the order.

    Takes about two seconds: one to see the load of others, one to see the
    spread of a fixed piece of work.
    """
    looks: tuple[Callable[[], Examined], ...] = (
        _python,
        _cores,
        _memory,
        _disk,
        _governor,
        _virtual,
        _foreign_load,
        _spread,
        _threads,
    )
    return tuple(look() for look in looks)


def examined_text(checks: tuple[Examined, ...]) -> str:
    """Render the checks as lines, the advice below each, and a closing sentence."""
    lines = []
    for check in checks:
        lines.append(f"{check.level:>5}  {check.name}: {check.found}")
        if check.advice:
            lines.append(f"       {check.advice}")
    bad = [c.name for c in checks if c.level == "bad"]
    warn = [c.name for c in checks if c.level == "warn"]
    if bad:
        lines.append(f"not fit to measure: {', '.join(bad)}")
    elif warn:
        lines.append(f"fit, with wider intervals than need be: {', '.join(warn)}")
    else:
        lines.append("fit to measure")
    return "\n".join(lines)


def _python() -> Examined:
    version = platform.python_version()
    if hasattr(sys, "gettotalrefcount"):
        return Examined(
            name="python",
            level="warn",
            found=f"{version}, a debug build",
            advice="debug builds are several times slower; use a release build",
        )
    return Examined(name="python", level="good", found=version)


def _cores() -> Examined:
    usable, all_cores = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    found = f"{usable} usable of {all_cores}"
    if usable < 2:
        return Examined(
            name="cores",
            level="bad",
            found=found,
            advice="client, scheduler and worker would share it, and only their sum is seen; "
            "use a machine with two or more",
        )
    if usable < 4:
        return Examined(
            name="cores",
            level="note",
            found=found,
            advice="scheduler and client share the cores with the workers; read ratios, not times",
        )
    return Examined(name="cores", level="good", found=found)


def _memory() -> Examined:
    import psutil

    memory = psutil.virtual_memory()
    free = memory.available / 2**30
    found = f"{free:.1f} GiB available of {memory.total / 2**30:.1f}"
    if free < 2:
        return Examined(
            name="memory",
            level="bad",
            found=found,
            advice="workers would spill or swap, and that would be measured; free 2 GiB or more",
        )
    used = psutil.swap_memory().used / 2**20
    if used > 256:
        return Examined(
            name="memory",
            level="warn",
            found=f"{found}, {used:.0f} MiB swapped out",
            advice="pages that come back from swap show up as slow repeats; free memory or swapoff",
        )
    return Examined(name="memory", level="good", found=found)


def _disk() -> Examined:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    found = f"{free:.1f} GiB free here"
    if free < 2:
        return Examined(
            name="disk",
            level="bad",
            found=found,
            advice="a run needs room for its spool and for spilling; free 2 GiB or more",
        )
    return Examined(name="disk", level="good", found=found)


def _governor() -> Examined:
    governors = {
        p.read_text().strip()
        for p in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
    }
    if not governors:
        return Examined(
            name="frequency",
            level="note",
            found="the kernel shows no frequency control",
            advice="usual in virtual machines: drift of the clock cannot be ruled out, so compare "
            "within one night",
        )
    found = ", ".join(sorted(governors))
    if governors != {"performance"}:
        return Examined(
            name="frequency",
            level="warn",
            found=f"governor {found}",
            advice="`sudo cpupower frequency-set -g performance` keeps the clock steady",
        )
    return Examined(name="frequency", level="good", found=f"governor {found}")


def _virtual() -> Examined:
    flags = Path("/proc/cpuinfo")
    virtual = flags.exists() and " hypervisor" in flags.read_text()
    if virtual:
        return Examined(
            name="machine",
            level="note",
            found="a virtual machine",
            advice="neighbours are invisible except as stolen time, which every block records",
        )
    return Examined(name="machine", level="good", found="no hypervisor seen")


def _foreign_load() -> Examined:
    import psutil

    busy = psutil.cpu_percent(interval=1.0) / 100 * (os.cpu_count() or 1)
    steal = getattr(psutil.cpu_times_percent(interval=None), "steal", 0.0)
    found = f"{busy:.2f} cores busy with other work, {steal:.1f} % stolen"
    if busy > 0.5 * (os.cpu_count() or 1):
        return Examined(
            name="load",
            level="bad",
            found=found,
            advice="stop what runs beside, or the night measures that",
        )
    if busy > 0.25 or steal > 2:
        return Examined(
            name="load", level="warn", found=found, advice="a quieter hour gives narrower intervals"
        )
    return Examined(name="load", level="good", found=found)


def _spread() -> Examined:
    def work() -> float:
        begin = time.perf_counter()
        total = 0
        for i in range(200_000):
            total += i & 7
        return time.perf_counter() - begin

    work()
    times = [work() for _ in range(30)]
    middle = statistics.median(times)
    mad = 1.4826 * statistics.median(abs(t - middle) for t in times) / middle
    found = f"a fixed loop of {middle * 1e3:.1f} ms repeats within {mad:.1%} (1.4826 MAD, 30 times)"
    if mad > 0.1:
        return Examined(
            name="spread",
            level="warn",
            found=found,
            advice="effects below three times this need many repeats; expect 'undecided'",
        )
    return Examined(name="spread", level="good", found=found)


def _threads() -> Examined:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    unset = [n for n in names if n not in os.environ]
    if unset:
        return Examined(
            name="native threads",
            level="note",
            found=f"unset here: {', '.join(unset)}",
            advice="the measuring process sets them to 1; set them for workers that you start",
        )
    return Examined(
        name="native threads",
        level="good",
        found=", ".join(f"{n}={os.environ[n]}" for n in names),
    )
