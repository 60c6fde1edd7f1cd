"""What the stack consists of, declared; nothing here starts anything."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from . import probes
from .environment import (
    SINGLE_THREADED,
    airflow_environment,
    digests_of_own,
    inherited,
    object_server_url,
)
from .lane_file import WORKERS, WorkerSize
from .ports import LOOPBACK
from .probes import Probe
from .secret_files import Secrets
from .state import Layout

DASK = ("dask-scheduler", *WORKERS)
AIRFLOW = (
    "airflow-task-logs",
    "airflow-web",
    "airflow-scheduler",
    "airflow-dag-processor",
    "airflow-triggerer",
)
NAMES = ("object-server", *DASK, *AIRFLOW)

#: Which ports a service listens on.
PORTS_OF: dict[str, tuple[str, ...]] = {
    "object-server": ("object-server",),
    "dask-scheduler": ("dask-scheduler", "dask-dashboard"),
    "airflow-task-logs": ("airflow-task-logs",),
    "airflow-web": ("airflow-web",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """One service: how it is started and how one sees that it is fit for use."""

    name: str
    command: tuple[str, ...]
    #: Set by us; may hold secrets.
    settings: Mapping[str, str] = field(repr=False)
    url: str
    probe: Probe = field(repr=False)
    deadline_s: float
    #: Restarted whenever this one is.
    bound_to: str | None = None
    #: The service that the probe asks; without it the probe says nothing.
    seen_through: str | None = None

    @property
    def is_airflow(self) -> bool:
        """Does it need Airflow's database?"""
        return self.name in AIRFLOW

    def environment(self) -> dict[str, str]:
        """The whole environment of the process, markers excepted."""
        return {**inherited(airflow=self.is_airflow), **self.settings}

    def own_digests(self) -> dict[str, str]:
        """Digests of what a person set for the chain and this service takes over."""
        if not self.is_airflow:
            return {}
        return digests_of_own(self.environment(), self.settings)

    @property
    def fingerprint(self) -> str:
        """Changes when the command or a setting does."""
        content = json.dumps([self.command, sorted(self.settings.items())])
        return hashlib.sha256(content.encode()).hexdigest()


def declare(
    layout: Layout, ports: Mapping[str, int], secrets: Secrets, size: WorkerSize
) -> dict[str, ServiceSpec]:
    """All services for a given set of ports, in the order they are shown."""
    dashboard = f"http://{LOOPBACK}:{ports['dask-dashboard']}"
    scheduler = scheduler_address(ports)
    specs = [
        ServiceSpec(
            name="object-server",
            command=(
                _program("rclone"),
                *("serve", "s3", str(layout.home / "objects")),
                *("--addr", f"{LOOPBACK}:{ports['object-server']}"),
            ),
            settings={
                # Quoted: the variable is read as CSV, and the pair has a comma.
                "RCLONE_AUTH_KEY": f'"{secrets.s3_access_key},{secrets.s3_secret_key}"',
                "RCLONE_CONFIG": "/dev/null",
                "RCLONE_CACHE_DIR": str(layout.home / "objects-cache"),
            },
            url=object_server_url(ports),
            probe=probes.object_server(object_server_url(ports)),
            deadline_s=20,
        ),
        ServiceSpec(
            name="dask-scheduler",
            command=(
                _program("dask"),
                *("scheduler", "--host", LOOPBACK),
                *("--port", str(ports["dask-scheduler"])),
                *("--dashboard-address", f"{LOOPBACK}:{ports['dask-dashboard']}"),
            ),
            settings=SINGLE_THREADED,
            url=f"{scheduler} (dashboard {dashboard}/status)",
            probe=probes.dask_scheduler(ports["dask-scheduler"], dashboard),
            deadline_s=60,
        ),
    ]
    specs += [
        ServiceSpec(
            name=name,
            command=(
                _program("dask"),
                *("worker", scheduler, "--name", name, "--host", LOOPBACK),
                *("--nworkers", "1", "--nthreads", str(size.nthreads), "--nanny"),
                *("--memory-limit", f"{size.memory_gib}GiB"),
                # Its default would be all interfaces.
                *("--dashboard-address", f"{LOOPBACK}:0"),
                *("--local-directory", str(layout.home / "dask" / name)),
            ),
            settings=SINGLE_THREADED,
            url=f"{scheduler} as {name}, {size.nthreads} threads, {size.memory_gib} GiB",
            probe=probes.dask_worker(name, dashboard),
            deadline_s=90,
            bound_to="dask-scheduler",
            seen_through="dask-scheduler",
        )
        for name in WORKERS
    ]
    return {spec.name: spec for spec in [*specs, *_airflow(layout, ports, secrets)]}


def scheduler_address(ports: Mapping[str, int]) -> str:
    """Address of the Dask scheduler."""
    return f"tcp://{LOOPBACK}:{ports['dask-scheduler']}"


def _airflow(layout: Layout, ports: Mapping[str, int], secrets: Secrets) -> list[ServiceSpec]:
    settings = airflow_environment(layout, ports, secrets)
    web = f"http://{LOOPBACK}:{ports['airflow-web']}"
    logs = ports["airflow-task-logs"]

    def spec(name: str, arguments: tuple[str, ...], probe: Probe, url: str) -> ServiceSpec:
        return ServiceSpec(
            name=name,
            command=(airflow_program(), *arguments),
            settings=settings,
            url=url,
            probe=probe,
            deadline_s=180,
            seen_through=None if name == "airflow-web" else "airflow-web",
        )

    return [
        ServiceSpec(
            name="airflow-task-logs",
            command=(
                sys.executable,
                str(Path(__file__).with_name("task_log_answers.py")),
                str(logs),
            ),
            settings={},
            url=f"http://{LOOPBACK}:{logs}",
            probe=probes.listens(logs),
            deadline_s=20,
        ),
        spec("airflow-web", ("api-server",), probes.airflow_web(web), web),
        spec(
            "airflow-scheduler",
            ("scheduler", "--skip-serve-logs"),
            probes.airflow_component(web, "scheduler"),
            f"{web} (two tasks at a time)",
        ),
        spec(
            "airflow-dag-processor",
            ("dag-processor",),
            probes.airflow_component(web, "dag_processor"),
            f"{layout.checkout / 'dags'}",
        ),
        spec(
            "airflow-triggerer",
            ("triggerer", "--skip-serve-logs"),
            probes.airflow_component(web, "triggerer"),
            web,
        ),
    ]


def airflow_program() -> str:
    """Airflow's command."""
    return _program("airflow")


def _program(name: str) -> str:
    """A program that a package put beside the interpreter, else one on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name
