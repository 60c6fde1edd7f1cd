"""Where things are: read once from the environment, passed on as a value.

=========================  ==================================================
``DASKPERF_HOME``          state folder (spool, wheels, logs); default
                           ``.daskperf`` in the checkout, else in the home
                           folder
``DASKPERF_STORE``         artifact store, ``file:///...`` or
                           ``s3://bucket/prefix``; default a folder in the
                           state folder
``DASKPERF_WHEELS``        wheel source, a folder or ``s3://bucket/prefix``
``DASKPERF_LANE``          path of ``lane.toml``
``DASKPERF_SUBJECT``       distribution name of the subject, default
                           ``daskperf-kernels``
``DASKPERF_NOTIFY``        apprise URLs, separated by spaces
=========================  ==================================================

Credentials are not settings: boto3 takes them from the environment, and DAGs
from Airflow connections.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from daskperf_tasks.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where a driver of the chain finds what it needs."""

    home: Path
    store: str
    wheels: str
    lane: Path
    subject: str
    matrix_dir: Path
    #: apprise URLs, separated by spaces; may hold secrets, never shown.
    notify: str = field(default="", repr=False)

    @property
    def spool(self) -> Path:
        """Folder of the runs that are not published yet."""
        return self.home / "spool"

    @property
    def cache(self) -> Path:
        """Folder of what can be fetched or installed again."""
        return self.home / "cache"


def checkout() -> Path | None:
    """Return the source checkout that this package runs from, or None when installed."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / "matrix").is_dir() and (root / "kernels").is_dir() else None


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that the environment gives.

    Parameters
    ----------
    environ
        Defaults to ``os.environ``.
    """
    env = os.environ if environ is None else environ
    root = checkout()
    default_home = (root or Path.home()) / ".daskperf"
    home = Path(env.get("DASKPERF_HOME") or default_home).expanduser().absolute()
    if home.exists() and not home.is_dir():
        raise InputError(
            "the state folder is no folder",
            where=str(home),
            todo="set DASKPERF_HOME (or --home) to a folder that may be written",
        )
    return Settings(
        home=home,
        store=env.get("DASKPERF_STORE") or (home / "store").as_uri(),
        wheels=env.get("DASKPERF_WHEELS") or str(home / "wheels"),
        lane=Path(env.get("DASKPERF_LANE") or home / "lane.toml"),
        subject=env.get("DASKPERF_SUBJECT") or "daskperf-kernels",
        matrix_dir=(root / "matrix") if root else Path("matrix").absolute(),
        notify=env.get("DASKPERF_NOTIFY", ""),
    )


def use_running_stack(environ: MutableMapping[str, str]) -> None:
    """Let a checkout's embedded stack answer what the environment leaves open.

    Nothing is changed that is set already, nor without a stack in the state
    folder. An explicit ``DASKPERF_STORE`` keeps its own credentials.

    Raises
    ------
    StackError
        When the stack's state cannot be read: silently using another store
        would hide what was published.
    """
    try:
        from daskperf_infra.local.environment import stack_env
    except ImportError:
        return
    home = Path(environ.get("DASKPERF_HOME") or read_settings(environ).home)
    if not (home / "stack.json").exists():
        return
    offered = stack_env(home)
    own_store = "DASKPERF_STORE" in environ
    for name, value in offered.items():
        if not (own_store and name.startswith("AWS_")):
            environ.setdefault(name, value)
