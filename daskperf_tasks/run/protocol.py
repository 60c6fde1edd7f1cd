"""The measuring protocol: when warming up ends, and what makes a block not count. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from daskperf_tasks.model.block import HostLoad, Member
from daskperf_tasks.model.measured import known
from daskperf_tasks.model.plan import Warmup

#: Recorded with every environment; see :func:`daskperf_tasks.run.block.one_repeat`.
GC_POLICY = (
    "driver: gc.collect and gc.freeze before each repeat, unfreeze after it, collector enabled; "
    "workers and scheduler: as Dask sets them"
)


def warm(makespans_s: Sequence[float], warmup: Warmup) -> bool:
    """Return whether warming up is over.

    Parameters
    ----------
    makespans_s
        Of the warm-up repeats so far; the first one, whose result was checked
        against the reference, is not among them.

    Examples
    --------
    >>> warm([1.0, 0.5], Warmup(min_repeats=1, max_repeats=3, tolerance=0.1))
    False
    >>> warm([1.0, 0.5, 0.52], Warmup(min_repeats=1, max_repeats=4, tolerance=0.1))
    True
    >>> warm([3.0], Warmup(min_repeats=1, max_repeats=1))
    True
    """
    done = len(makespans_s)
    if done >= warmup.max_repeats:
        return True
    if done < max(warmup.min_repeats, 2):
        return False
    last, before = makespans_s[-1], makespans_s[-2]
    return abs(last - before) <= warmup.tolerance * max(before, 1e-9)


def membership_change(before: Sequence[Member], after: Sequence[Member]) -> str | None:
    """Return in words which workers left, joined or were restarted, or None.

    Examples
    --------
    >>> a = Member(name="w0", worker_id="x", nthreads=2)
    >>> b = Member(name="w0", worker_id="y", nthreads=2)
    >>> membership_change([a], [b])
    'worker w0 was restarted during the block'
    >>> membership_change([a], [a]) is None
    True
    """
    was = {m.name: m for m in before}
    now = {m.name: m for m in after}
    parts = [f"worker {n} was lost" for n in sorted(was.keys() - now.keys())]
    parts += [f"worker {n} joined" for n in sorted(now.keys() - was.keys())]
    for name in sorted(was.keys() & now.keys()):
        if was[name].worker_id != now[name].worker_id:
            parts.append(f"worker {name} was restarted")
        elif was[name].nthreads != now[name].nthreads:
            parts.append(
                f"worker {name} went from {was[name].nthreads} to {now[name].nthreads} threads"
            )
    return " and ".join(parts) + " during the block" if parts else None


def disturbed(load: HostLoad, max_foreign_cores: float | None) -> str | None:
    """Return in words that the host was too busy with others' work, or None."""
    foreign = known(load.foreign_cpu_cores)
    if max_foreign_cores is None or foreign is None or foreign <= max_foreign_cores:
        return None
    return (
        f"others used {foreign:.2f} cores of the driver's host during the block, "
        f"more than the {max_foreign_cores:g} allowed"
    )
