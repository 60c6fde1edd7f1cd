"""Whether the workers that are there are those that a round was promised. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.block import Member
from daskperf_tasks.model.facts import LaneWorker
from daskperf_tasks.model.ids import Environment, Side
from daskperf_tasks.run.spec import RoundSpec


def expected_workers(spec: RoundSpec, side: Side) -> tuple[LaneWorker, ...]:
    """Return the workers that a side's distributed blocks are to run on.

    A worker without a name (empty) may be any: the local cluster's, or the
    lane's when the spec does not name them.
    """
    if side == "remote" and spec.workers:
        return spec.workers
    anyone = LaneWorker(name="", nthreads=spec.layout.threads)
    return (anyone,) * spec.layout.workers


def check_enough(env: Environment, workers: int | None, there: int) -> None:
    """Make sure that an environment has the workers that a cell asks for.

    Raises
    ------
    InputError
        When it has fewer.
    """
    if workers is None or workers <= there:
        return
    kind = "threads" if env.endswith("threads") else "workers"
    raise InputError(
        f"the cell asks for more workers than there are in {env!r}",
        expected=f"at most {there} {kind}",
        found=f"workers = {workers}",
        todo="measure fewer workers, or give the lane more",
    )


def pinned(members: Sequence[Member]) -> tuple[LaneWorker, ...]:
    """Return what is there as what is expected from now on."""
    return tuple(LaneWorker(name=m.name, nthreads=m.nthreads) for m in members)


def layout_fault(members: Sequence[Member], expected: Sequence[LaneWorker]) -> str | None:
    """Return in words what is missing, too much, or of another size; None when all is well.

    A name that is an address changes with each restart and so counts as none.

    Examples
    --------
    >>> a, b = (LaneWorker(name=n, nthreads=2) for n in ("lane-a", "lane-b"))
    >>> here = Member(name="lane-a", worker_id="x", nthreads=2)
    >>> layout_fault([here], [a, b])
    'worker lane-b is missing: 1 of 2 workers'
    >>> layout_fault([here], [a]) is None
    True
    """
    named = {w.name: w for w in expected if _is_name(w.name)}
    anyone = [w for w in expected if not _is_name(w.name)]
    present = {m.name for m in members}
    strangers = sorted((m for m in members if m.name not in named), key=lambda m: m.name)
    parts = [f"worker {name} is missing" for name in sorted(named.keys() - present)]
    short = len(anyone) - len(strangers)
    if short > 0:
        parts.append("a worker is missing" if short == 1 else f"{short} workers are missing")
    if parts:
        return f"{' and '.join(parts)}: {len(members)} of {len(expected)} workers"
    if short < 0:
        who = "too many workers" if anyone else _joined(strangers)
        return f"{who}: {len(members)} workers instead of {len(expected)}"
    parts = _threads(members, named, strangers, anyone)
    return " and ".join(parts) or None


def _is_name(name: str) -> bool:
    return bool(name) and "://" not in name


def _joined(strangers: Sequence[Member]) -> str:
    return " and ".join(f"worker {m.name} joined" for m in strangers)


def _threads(
    members: Sequence[Member],
    named: dict[str, LaneWorker],
    strangers: Sequence[Member],
    anyone: Sequence[LaneWorker],
) -> list[str]:
    parts = []
    for member in sorted(members, key=lambda m: m.name):
        wanted = named[member.name].nthreads if member.name in named else None
        if wanted is not None and wanted != member.nthreads:
            parts.append(f"worker {member.name} has {member.nthreads} threads instead of {wanted}")
    left = Counter(w.nthreads for w in anyone)
    others = []
    for member in strangers:
        if left[member.nthreads]:
            left[member.nthreads] -= 1
        elif left[None]:
            left[None] -= 1
        else:
            others.append(member)
    for member, wanted in zip(others, left.elements(), strict=True):
        parts.append(f"worker {member.name} has {member.nthreads} threads instead of {wanted}")
    return parts
