"""What runs of a stack, as facts and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from . import processes
from .services import NAMES
from .state import Layout, StackState

ServiceState = Literal["running", "stopped", "stale", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One service.

    ``stopped``: not started, or ended by ``down``. ``stale``: it was started
    and is gone. ``foreign``: its pid now belongs to somebody else.
    """

    name: str
    state: ServiceState
    pid: int | None
    url: str
    #: Of all its processes; None when it does not run. Shared pages count in each.
    rss_mib: float | None
    log: str
    #: None when it is fit for use, else why not.
    wanting: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackStatus:
    """The whole stack."""

    home: Path
    services: tuple[ServiceStatus, ...]
    #: Remarks, for instance who holds a port that was wanted.
    notes: tuple[str, ...]
    #: File with the user names and passwords of Airflow's login page.
    passwords_file: Path

    def service(self, name: str) -> ServiceStatus:
        """One service by name."""
        return next(s for s in self.services if s.name == name)

    @property
    def running(self) -> tuple[str, ...]:
        """Names of what runs and is fit for use."""
        return tuple(s.name for s in self.services if s.state == "running" and not s.wanting)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``: paths, addresses and states; no secrets."""
        return {
            "home": str(self.home),
            "services": [asdict(s) for s in self.services],
            "notes": list(self.notes),
            "passwords_file": str(self.passwords_file),
        }

    def __str__(self) -> str:
        lines = []
        for s in self.services:
            memory = f"{s.rss_mib:6.0f} MiB" if s.rss_mib is not None else " " * 10
            pid = s.pid if s.pid is not None else "-"
            log = f"  log {s.log}" if s.state != "stopped" else ""
            lines.append(f"{s.name:<22}{s.state:<9}{pid:>8} {memory}  {s.url}{log}".rstrip())
            if s.wanting and s.state != "stopped":
                lines.append(f"{'':<22}{s.wanting}")
        lines += [f"note: {note}" for note in self.notes]
        web = self.service("airflow-web")
        if web.state == "running":
            lines.append(f"log in at {web.url} as admin; the password is in {self.passwords_file}")
        return "\n".join(lines)


def describe(layout: Layout, state: StackState, wanting: Mapping[str, str | None]) -> StackStatus:
    """Look at what was started.

    Parameters
    ----------
    layout, state
        The stack.
    wanting
        What the probes of running services said, by service.
    """
    by_service: dict[str | None, list[int]] = {}
    for pid in processes.members(state.stack_id):
        by_service.setdefault(processes.service_of(pid), []).append(pid)
    return StackStatus(
        home=layout.home,
        services=tuple(
            _service(layout, state, name, by_service.get(name, []), wanting.get(name))
            for name in NAMES
        ),
        notes=tuple(state.notes.values()),
        passwords_file=layout.passwords_file,
    )


_STATES: dict[processes.Owner, ServiceState] = {
    "ours": "running",
    "foreign": "foreign",
    "gone": "stale",
}
_WHY: dict[ServiceState, str] = {
    "stale": "it was started and has ended; its log may say why, `up` starts it again",
    "foreign": "its pid now belongs to another program, which is left alone",
    "stopped": "not started",
}


def _service(
    layout: Layout, state: StackState, name: str, pids: list[int], wanting: str | None
) -> ServiceStatus:
    started = state.services.get(name)
    found: ServiceState = "stopped"
    if started is not None:
        found = _STATES[processes.owner(started.identity, state.stack_id)]
    running = found == "running"
    return ServiceStatus(
        name=name,
        state=found,
        pid=started.identity.pid if started and running else None,
        url=started.url if started else "",
        rss_mib=round(processes.rss_mib(pids), 1) if running else None,
        log=started.log if started else str(layout.log(name)),
        wanting=wanting if running else _WHY[found],
    )
