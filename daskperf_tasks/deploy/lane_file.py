"""Reading ``lane.toml``: the hosts that one run may use at a time.

::

    name = "lab"                          # of the lane; part of what is compared over nights
    scheduler = "tcp://10.0.0.5:8786"
    kind = "cluster"                      # loopback, netlab or cluster
    timeout_s = 20                        # to wait for the scheduler and for workers
    managed = false                       # true: the embedded stack keeps the address up to date

    [[workers]]                           # leave all out to accept any layout
    name = "node-a"
    host = "10.0.0.6"                     # host name or address
    nthreads = 8
    memory_gib = 16.0
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from daskperf_tasks.cluster.address import scheduler_address
from daskperf_tasks.errors import InputError
from daskperf_tasks.model.facts import Lane, LaneWorker
from daskperf_tasks.model.ids import check_name

KINDS = ("loopback", "netlab", "cluster")
_LANE: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "scheduler": (str,),
    "kind": (str,),
    "timeout_s": (int, float),
    "managed": (bool,),
    "workers": (list,),
}
_WORKER: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "host": (str,),
    "nthreads": (int,),
    "memory_gib": (int, float),
}
#: More than any worker has.
_LIMITS = {"nthreads": 10_000, "memory_gib": 1_000_000}
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_LOOPBACK = re.compile(r"^(127\.\d+\.\d+\.\d+|::1|localhost)$")


def load_lane(path: Path | None, scheduler: str | None = None) -> Lane:
    """Return the lane of a file, or the one behind a scheduler's address.

    Parameters
    ----------
    path
        The lane file; None for none.
    scheduler
        An address given by hand. When the file names another one, the file's
        lane is not the one that is meant: the result is a lane of its own name
        without an expected layout.

    Raises
    ------
    InputError
        Naming file, line and key, and the nearest valid key.
    """
    if path is None or (scheduler is not None and not path.exists()):
        if scheduler is None:
            raise InputError(
                "no lane and no scheduler given",
                expected="a lane file or a scheduler's address",
                todo="pass --scheduler ADDR, or --lane FILE, or start one with `daskperf lane up`",
            )
        return adhoc_lane(scheduler)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise InputError(
            "the lane file cannot be read",
            where=str(path),
            found=str(err),
            todo="`daskperf lane up` starts a lane and writes its file; "
            "or set DASKPERF_LANE, or pass --scheduler ADDR",
        ) from err
    lane = parse_lane(text, where=str(path), scheduler=scheduler)
    if scheduler is not None and scheduler_address(scheduler) != lane.scheduler:
        return adhoc_lane(scheduler)
    return lane


def adhoc_lane(scheduler: str) -> Lane:
    """Return a lane that is known by its scheduler's address only.

    Examples
    --------
    >>> adhoc_lane("127.0.0.1:8786")  # doctest: +ELLIPSIS
    Lane(name='adhoc-127-0-0-1-8786', scheduler='tcp://127.0.0.1:8786', ..., kind='loopback', ...)
    """
    address = scheduler_address(scheduler)
    parts = urlsplit(address)
    name = re.sub(r"[^a-z0-9]+", "-", f"adhoc-{parts.netloc}".lower()).strip("-")
    loopback = _LOOPBACK.match(parts.hostname or "") is not None
    return Lane(name=name, scheduler=address, kind="loopback" if loopback else "cluster")


def parse_lane(text: str, *, where: str, scheduler: str | None = None) -> Lane:
    """Read the text of a lane file; ``scheduler`` stands in when it names none."""
    try:
        doc = tomllib.loads(text)
    except ValueError as err:  # also a number of thousands of digits
        raise InputError(
            "the lane file is no TOML", where=where, found=str(err), todo="correct that line"
        ) from err
    _check_keys(doc, _LANE, text, where, None)
    workers = (
        tuple(_worker(entry, i, text, where) for i, entry in enumerate(doc["workers"]))
        if ("workers" in doc)
        else ()
    )
    names = [w.name for w in workers]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(
                "two workers of one name",
                where=_line(text, where, "name", i),
                expected="a name of its own for each worker",
                found=name,
            )
    written = doc.get("scheduler")
    if not written and scheduler is None:
        raise InputError(
            "the lane file names no scheduler",
            where=where,
            expected='scheduler = "tcp://host:8786"',
            todo="add it, or pass --scheduler ADDR",
        )
    kind = doc.get("kind", "cluster")
    if kind not in KINDS:
        raise InputError(
            "unknown kind of lane",
            where=_line(text, where, "kind", None),
            expected=" or ".join(KINDS),
            found=repr(kind) + _nearest(str(kind), KINDS),
        )
    timeout_s = doc.get("timeout_s", Lane.__dataclass_fields__["timeout_s"].default)
    if not 0 < timeout_s <= 3600:
        raise InputError(
            "timeout_s is out of range",
            where=_line(text, where, "timeout_s", None),
            expected="more than 0, at most 3600 seconds",
            found=repr(timeout_s)[:40],
        )
    return Lane(
        name=check_name(str(doc.get("name", "lane")), "lane"),
        scheduler=scheduler_address(written, where=_line(text, where, "scheduler", None))
        if written
        else scheduler_address(scheduler or ""),
        workers=workers,
        kind=kind,
        timeout_s=float(timeout_s),
    )


def _worker(entry: Any, index: int, text: str, where: str) -> LaneWorker:
    if not isinstance(entry, dict):
        raise InputError(
            "a worker of the lane is no table",
            where=where,
            expected='[[workers]] with name = "..."',
            found=repr(entry)[:80],
        )
    _check_keys(entry, _WORKER, text, where, index)
    if not entry.get("name"):
        raise InputError(
            "a worker of the lane has no name",
            where=_line(text, where, None, index),
            expected='name = "...", as given to `dask worker --name`',
        )
    for key, limit in _LIMITS.items():
        # False for nan as well.
        if key in entry and not 0 < entry[key] <= limit:
            raise InputError(
                f"{key} is out of range",
                where=_line(text, where, key, index),
                expected=f"more than 0, at most {limit}",
                found=repr(entry[key])[:40],
            )
    memory = entry.get("memory_gib")
    return LaneWorker(
        name=entry["name"],
        host=entry.get("host"),
        nthreads=entry.get("nthreads"),
        memory_gib=None if memory is None else float(memory),
    )


def _check_keys(
    table: dict[str, Any],
    known: dict[str, tuple[type, ...]],
    text: str,
    where: str,
    index: int | None,
) -> None:
    for key, value in table.items():
        place = _line(text, where, key, index)
        if key not in known:
            raise InputError(
                f"unknown key {key!r}",
                where=place,
                expected=", ".join(known),
                found=key + _nearest(key, tuple(known)),
                todo="correct or remove the key",
            )
        kinds = known[key]
        wrong_bool = isinstance(value, bool) and bool not in kinds
        if not isinstance(value, kinds) or wrong_bool:
            wanted = "[[workers]] tables" if kinds == (list,) else _WORDS[kinds[-1]]
            raise InputError(
                f"{key} is of the wrong type", where=place, expected=wanted, found=repr(value)[:80]
            )


def _nearest(key: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""


def _line(text: str, where: str, key: str | None, index: int | None) -> str:
    """Return ``file:line`` of a key in the head (index None) or in the index-th worker."""
    table = -1
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"\s*\[\[\s*workers\s*\]\]", line):
            table += 1
            if key is None and table == index:
                return f"{where}:{number}"
        inside = table == (-1 if index is None else index)
        if inside and key is not None and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return f"{where}:{number}"
    return where
