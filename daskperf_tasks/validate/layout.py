"""The workers that blocks of an environment must have had, from what preflight saw. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from daskperf_tasks.model.block import BlockResult
from daskperf_tasks.model.facts import Preflight
from daskperf_tasks.model.ids import Environment

Row = dict[str, Any]

_ANY = "any"


def layout_columns(
    block: BlockResult,
    env: Environment | None,
    preflight: Preflight | None,
    *,
    workers: int | None = None,
) -> Row:
    """Return what a block had and should have had: threads, processes, workers.

    ``workers`` is how many of them the cell uses; None: all there are. The others
    of a cluster are there all the same.
    What should have been is None where nobody can tell: without preflight, or
    for a cell that is not in the plan.
    """
    if env is None or preflight is None:
        promised: Row = dict.fromkeys(("lane_threads", "lane_processes", "lane_members"))
    else:
        promised = _promised(env, preflight, workers)
    named = env is not None and env.startswith("remote")
    sides = [
        _spell(((m.name if named else _ANY), m.nthreads) for m in members)
        for members in (block.members_before, block.members_after)
    ]
    return promised | {
        "threads": block.threads,
        "processes": block.processes,
        "members": "; then ".join(dict.fromkeys(sides)),
    }


def _promised(env: Environment, preflight: Preflight, use: int | None) -> Row:
    workers = sorted(preflight.workers, key=lambda w: w.name)
    count = len(workers)
    used = use or max(count, 1)
    # The local environments copy the lane's layout: as many workers, of its smallest size.
    least = min((w.nthreads for w in workers), default=1)
    own: Mapping[Environment, tuple[int | None, int, list[int]]] = {
        "threads": (use or least, 1, [use or least]),
        "processes": (used, used, [1] * used),
        "local": (least * used, used, [least] * max(count, 1)),
    }
    if env in own:
        threads, processes, each = own[env]
        members = _spell((_ANY, n) for n in each)
    else:
        alike = len({w.nthreads for w in workers}) == 1
        # Tasks are bound to the first workers by name; without names nobody can tell which.
        nameless = any(_name(w.name) == _ANY for w in workers)
        first = workers[0].nthreads if workers else 0
        untold = nameless and not alike
        one = None if untold else min(first, use or first)
        total = None if untold and use else sum(w.nthreads for w in workers[:use])
        bound = len(workers[:use])
        threads, processes = {
            "remote": (total, bound),
            "remote-processes": (bound, bound),
            "remote-threads": (one, min(count, 1)),
        }[env]
        members = _spell((w.name, w.nthreads) for w in workers)
    return {"lane_threads": threads, "lane_processes": processes, "lane_members": members}


def _name(name: str) -> str:
    """Return a worker's name; one that is an address changes with each restart."""
    return _ANY if "://" in name else name


def _spell(workers: Iterable[tuple[str, int]]) -> str:
    return ", ".join(sorted(f"{_name(name)}/{threads}" for name, threads in workers)) or "none"
