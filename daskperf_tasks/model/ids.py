"""Identities: runs, cells, blocks. Their spelling is a contract.

A cell's id names a series over years; moving a character starts a new one.
The literals in ``tests/model/test_ids.py`` hold the spelling.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from daskperf_tasks.errors import InputError

#: Where a cell runs. ``threads`` and ``processes`` are Dask's own single-machine
#: schedulers; ``local`` is a LocalCluster laid out like the lane; the ``remote``
#: ones are the lane's cluster: all of it, the threads of one worker process, or
#: one task at a time in every worker process.
Environment = Literal[
    "threads", "processes", "local", "remote", "remote-threads", "remote-processes"
]
Side = Literal["local", "remote"]
#: ``subject`` is tonight's wheel, ``reference`` the one it is compared with.
Arm = Literal["subject", "reference"]
Scalar = str | int | float | bool

ENVIRONMENTS: tuple[Environment, ...] = get_args(Environment)
_COUNTERPART: dict[str, Environment] = {
    "threads": "remote-threads",
    "processes": "remote-processes",
    "local": "remote",
}
_COUNTERPART |= {v: k for k, v in _COUNTERPART.items()}  # type: ignore[misc]

#: Parts of a cell's id that are no parameters: no workload may have one of these names.
WORKERS = "workers"
RESERVED = frozenset({WORKERS, "env", "sched"})

_RUN_ID = re.compile(r"^(\d{8}T\d{6}Z)-([0-9a-f]{6})\Z")
_NAME = re.compile(r"^[a-z][a-z0-9_-]*\Z")
_VALUE = re.compile(r"^[A-Za-z0-9_.+,-]+\Z")


def new_run_id(now: datetime, entropy: bytes) -> str:
    """Return a sortable, unique run id.

    Parameters
    ----------
    now
        The time of creation, with a time zone.
    entropy
        At least 3 random bytes.

    Examples
    --------
    >>> new_run_id(datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC), b"abc")
    '20261130T010203Z-616263'
    """
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{entropy[:3].hex()}"


def run_time(run_id: str) -> datetime:
    """Return the time in a run id (UTC).

    Raises
    ------
    InputError
        When it is no run id.
    """
    match = _RUN_ID.match(run_id)
    if match is None:
        raise InputError(
            "not a run id",
            expected="YYYYMMDDTHHMMSSZ-xxxxxx",
            found=run_id[:80],
            todo="`daskperf list` shows the runs of the store",
        )
    return datetime.strptime(match[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def side_of(env: Environment) -> Side:
    """Return which side an environment belongs to.

    Examples
    --------
    >>> side_of("threads"), side_of("remote-threads")
    ('local', 'remote')
    """
    return "remote" if env.startswith("remote") else "local"


def counterpart_of(env: Environment) -> Environment:
    """Return the environment that is compared with this one on the other side.

    Examples
    --------
    >>> counterpart_of("local"), counterpart_of("remote-processes")
    ('remote', 'processes')
    """
    return _COUNTERPART[env]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the matrix.

    Examples
    --------
    >>> Cell(workload="aggregates", version=1, params=(("n", 128),), env="remote").id
    'aggregates/v1;n=128;env=remote;sched=ws'
    """

    workload: str
    #: The workload's version: a changed workload starts a new series.
    version: int
    #: Sorted by name.
    params: tuple[tuple[str, Scalar], ...]
    env: Environment
    #: ``ws`` is distributed's own work stealing; ``none`` for the single-machine schedulers.
    sched: str = "ws"
    #: How many workers of the environment the tasks may use; None: all. In ``threads``
    #: and ``remote-threads`` a worker is a thread, elsewhere a process.
    workers: int | None = None

    @property
    def id(self) -> str:
        """The stable, readable id."""
        parts = [f"{self.workload}/v{self.version}"]
        parts += [f"{k}={spell(v)}" for k, v in sorted(self.params)]
        if self.workers is not None:
            parts.append(f"{WORKERS}={self.workers}")
        parts += [f"env={self.env}", f"sched={self.sched}"]
        return ";".join(parts)

    @property
    def side(self) -> Side:
        """``local`` or ``remote``."""
        return side_of(self.env)

    @property
    def counterpart_id(self) -> str:
        """Id of the same work on the other side."""
        env = counterpart_of(self.env)
        return Cell(
            workload=self.workload,
            version=self.version,
            params=self.params,
            env=env,
            sched=scheduler_of(env),
            workers=self.workers,
        ).id

    @property
    def label(self) -> str:
        """Short name for tables: the workload with its parameters.

        Examples
        --------
        >>> Cell(workload="aggregates", version=1, params=(("n", 128),), env="local").label
        'aggregates n=128'
        """
        words = [self.workload, *(f"{k}={spell(v)}" for k, v in sorted(self.params))]
        return " ".join(words if self.workers is None else [*words, f"{WORKERS}={self.workers}"])


def scheduler_of(env: Environment) -> str:
    """Return the ``sched`` part of the ids in an environment: ``ws`` or ``none``."""
    return "none" if env in ("threads", "processes") else "ws"


def spell(value: Scalar) -> str:
    """Spell a parameter's value as it stands in a cell's id.

    Examples
    --------
    >>> spell(128), spell(0.5), spell(True), spell("cython")
    ('128', '0.5', 'true', 'cython')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def check_name(name: str, what: str) -> str:
    """Return ``name`` if it may stand in an id, else raise :class:`InputError`."""
    if not _NAME.match(name):
        raise InputError(
            f"not a valid {what} name",
            expected="lower case letters, digits, - and _",
            found=name[:80],
        )
    return name


def check_value(value: Scalar, what: str) -> Scalar:
    """Return a parameter's value if it may stand in an id, else raise :class:`InputError`."""
    if not _VALUE.match(spell(value)):
        raise InputError(
            f"not a valid value of {what}",
            expected="letters, digits and _ . + , -",
            found=spell(value)[:80],
        )
    return value


def parse_cell_id(text: str) -> Cell:
    """Read a cell's id back; parameters come back as int, float, bool or str.

    Raises
    ------
    InputError
        When it is no cell id.
    """
    head, *fields = text.split(";")
    name, _, version = head.partition("/v")
    pairs = [f.partition("=")[::2] for f in fields]
    tail = dict(pairs[-2:])
    if not version.isdigit() or set(tail) != {"env", "sched"} or tail["env"] not in ENVIRONMENTS:
        raise InputError(
            "not a cell id",
            expected="workload/vN;param=value;...;env=...;sched=...",
            found=text[:120],
        )
    params, workers = pairs[:-2], None
    if params and params[-1][0] == WORKERS and params[-1][1].isdigit():
        workers = int(params.pop()[1])
    return Cell(
        workload=name,
        version=int(version),
        params=tuple((k, _parse(v)) for k, v in params),
        env=tail["env"],
        sched=tail["sched"],
        workers=workers,
    )


def _parse(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if spell(value) == text:
            return value
    return text


def slug(cell_id: str) -> str:
    """Return a file name for a cell: readable, safe, and distinct per id.

    Examples
    --------
    >>> slug("aggregates/v1;n=128;env=remote;sched=ws")
    'aggregates-v1_n-128_env-remote_sched-ws-8fb41ee1'
    """
    readable = re.sub(r"[^A-Za-z0-9.+_-]", "-", cell_id.replace(";", "_"))[:80]
    return f"{readable}-{hashlib.sha256(cell_id.encode()).hexdigest()[:8]}"


def block_key(run_id: str, cell_id: str, arm: Arm, round_index: int, attempt: int) -> str:
    """Return the idempotency key of an attempt at a block.

    Examples
    --------
    >>> block_key("20261130T010203Z-616263", "w/v1;env=local;sched=ws", "subject", 0, 1)
    '20261130T010203Z-616263|w/v1;env=local;sched=ws|subject|r0|a1'
    """
    return f"{run_id}|{cell_id}|{arm}|r{round_index}|a{attempt}"
