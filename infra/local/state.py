"""The state folder of one embedded stack: where everything is and what was started.

::

    .daskperf/              0700
      stack.json            what was started: pid, start, ports, log per service
      stack.lock            held while ``up`` or ``down`` is at work
      lane.toml             the lane that the stack's workers make up
      secrets/              0700, files 0600, made on first use
      logs/                 one file a service
      objects/              what the object server keeps; a bucket is a folder
      airflow/              AIRFLOW_HOME: database, task logs
      dask/                 scratch space of the workers
      spool/                artifacts that wait for an unreachable store
      wheels/               the folder that wheels are taken from
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import StackError

from .processes import Identity

HOME_VARIABLE = "DASKPERF_HOME"
CHECKOUT_VARIABLE = "DASKPERF_CHECKOUT"
BUCKET = "daskperf"

_SCHEMA = "daskperf.stack"
_VERSION = 1
_FOLDERS = ("logs", "objects", f"objects/{BUCKET}", "airflow", "dask", "spool", "wheels")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Paths of one stack.

    Parameters
    ----------
    home
        The state folder.
    checkout
        The folder with ``dags/`` and ``plugins/``.
    """

    home: Path
    checkout: Path

    @property
    def stack_file(self) -> Path:
        """What was started."""
        return self.home / "stack.json"

    @property
    def lock_file(self) -> Path:
        """Held while ``up`` or ``down`` is at work."""
        return self.home / "stack.lock"

    @property
    def lane_file(self) -> Path:
        """The lane that the stack's workers make up."""
        return self.home / "lane.toml"

    @property
    def secrets(self) -> Path:
        """Passwords and keys."""
        return self.home / "secrets"

    @property
    def passwords_file(self) -> Path:
        """User names and passwords of Airflow's login page."""
        return self.secrets / "airflow_passwords.json"

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME."""
        return self.home / "airflow"

    @property
    def wheels(self) -> Path:
        """The folder that wheels are taken from."""
        return self.home / "wheels"

    def log(self, service: str) -> Path:
        """The file that a service writes its output to."""
        return self.home / "logs" / f"{service}.log"

    def make(self) -> None:
        """Make the folders that are missing, readable by the owner only."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _FOLDERS:
            (self.home / name).mkdir(exist_ok=True)


def find_layout(home: Path | str | None = None) -> Layout:
    """Where the stack's state lies.

    Parameters
    ----------
    home
        The state folder. By default what ``DASKPERF_HOME`` says, else
        ``.daskperf`` in the checkout.

    Raises
    ------
    StackError
        Neither ``DASKPERF_CHECKOUT``, nor the package, nor the current folder
        leads to a checkout.
    """
    checkout = _find_checkout()
    chosen = home or os.environ.get(HOME_VARIABLE) or checkout / ".daskperf"
    return Layout(home=Path(chosen).expanduser().absolute(), checkout=checkout)


def _find_checkout() -> Path:
    stated = os.environ.get(CHECKOUT_VARIABLE)
    if stated:
        candidates: tuple[Path, ...] = (Path(stated).expanduser().absolute(),)
    else:
        candidates = (Path(__file__).resolve().parents[2], Path.cwd())
    for folder in candidates:
        if (folder / "dags").is_dir() and (folder / "plugins").is_dir():
            return folder
    raise StackError(
        "the embedded stack needs a checkout of daskperf",
        expected="a folder with dags/ and plugins/",
        found="none in " + ", ".join(str(c) for c in candidates),
        todo=f"run the command in the checkout, or say where it is with {CHECKOUT_VARIABLE}",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A service as it was started."""

    name: str
    identity: Identity
    command: tuple[str, ...]
    log: str
    url: str
    #: Seconds since the epoch.
    started_s: float
    #: Changes when a command, a port or a setting does.
    fingerprint: str
    #: Digests of what a person had set for the chain, by name of the variable.
    own_digests: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class StackState:
    """The content of ``stack.json``."""

    #: Marks every process of this stack, see `processes`.
    stack_id: str
    ports: dict[str, int] = field(default_factory=dict)
    services: dict[str, Started] = field(default_factory=dict)
    #: Remarks a person should see, by subject; for instance who holds a port.
    notes: dict[str, str] = field(default_factory=dict)


def load_state(layout: Layout) -> StackState:
    """Read ``stack.json``; a stack that was never started gets a new id.

    Raises
    ------
    StackError
        The file is from a newer version or is not readable.
    """
    path = layout.stack_file
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return StackState(stack_id=uuid.uuid4().hex)
    try:
        data = json.loads(text)
        if data["schema"] != _SCHEMA or data["version"] != _VERSION:
            raise ValueError(f"{data['schema']} version {data['version']}")
        return StackState(
            stack_id=data["stack_id"],
            ports={str(k): int(v) for k, v in data["ports"].items()},
            services={s["name"]: _read_started(s) for s in data["services"]},
            notes=dict(data["notes"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StackError(
            "the record of the stack cannot be read",
            where=str(path),
            expected=f"{_SCHEMA} version {_VERSION}",
            found=str(error),
            todo=f"end the processes that run from {layout.home} and remove the file",
        ) from error


def _read_started(data: Mapping[str, Any]) -> Started:
    return Started(
        **{
            **data,
            "identity": Identity(**data["identity"]),
            "command": tuple(data["command"]),
        }
    )


def save_state(layout: Layout, state: StackState) -> None:
    """Write ``stack.json`` in one step: a reader sees the old file or the new one."""
    data = {
        "schema": _SCHEMA,
        "version": _VERSION,
        "stack_id": state.stack_id,
        "checkout": str(layout.checkout),
        "ports": state.ports,
        "services": [asdict(s) for s in state.services.values()],
        "notes": state.notes,
    }
    write_private(layout.stack_file, json.dumps(data, indent=2) + "\n")


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step with one that only its owner may read."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


@contextmanager
def locked(layout: Layout, *, deadline_s: float, progress: Callable[[str], None]) -> Iterator[None]:
    """Hold the stack's lock; the kernel gives it back when the holder dies.

    Raises
    ------
    StackError
        Another process held it all the time.
    """
    with layout.lock_file.open("a+", encoding="utf-8") as file:
        layout.lock_file.chmod(0o600)
        until = time.monotonic() + deadline_s
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = layout.lock_file.read_text(encoding="utf-8").strip() or "unknown"
                if time.monotonic() > until:
                    raise StackError(
                        "another process is starting or stopping this stack",
                        where=str(layout.lock_file),
                        expected=f"the lock within {deadline_s:g} s",
                        found=f"held by pid {holder}",
                        todo="wait for it to end, or end it, and try again",
                    ) from None
                if not told:
                    progress(f"waiting for pid {holder}, which is starting or stopping this stack")
                    told = True
                time.sleep(0.1)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
