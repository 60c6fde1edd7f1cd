"""The lane's scheduler imports the round's wheel, too, where the wheel brings workloads.

Dask's scheduler unpickles the graphs that it is sent, and so imports the modules of the
task functions. daskperf's own are installed there; those of a wheel under test stand on
the workers only. While a round runs, the scheduler has the wheel's files on its path.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from daskperf_tasks.cluster.by_source import Sent
from daskperf_tasks.cluster.connect import call, open_client
from daskperf_tasks.model.ids import side_of
from daskperf_tasks.run.scheduler_path import put_on_path, take_off_path
from daskperf_tasks.run.spec import RoundSpec
from daskperf_tasks.workloads.registry import GROUP


def brings_workloads(wheel_folder: str) -> bool:
    """Return whether the wheel that was unpacked here names workloads of its own."""
    return bool(wheel_folder) and any(
        point.group == GROUP
        for found in distributions(path=[wheel_folder])
        for point in found.entry_points
    )


@contextmanager
def on_scheduler(spec: RoundSpec, log: Callable[[str], None]) -> Iterator[None]:
    """Let the lane's scheduler import the round's wheel inside the ``with`` block.

    Does nothing where no cell needs it. When the scheduler does not take the
    wheel, the log says so and the cells that need it fail with what Dask says.
    """
    remote = any(side_of(turn.planned.cell.env) == "remote" for turn in spec.turns)
    if not (remote and spec.scheduler and brings_workloads(spec.wheel_folder)):
        yield
        return
    _ask(spec, log, put_on_path, _archive(Path(spec.wheel_folder)))
    try:
        yield
    finally:
        _ask(spec, log, take_off_path)


def _ask(spec: RoundSpec, log: Callable[[str], None], function: Any, *args: Any) -> None:
    try:
        with open_client(spec.scheduler, timeout_s=spec.open_timeout_s) as client:
            there = client.run_on_scheduler
            call(client, _awaited, there, Sent(function), *args, timeout_s=spec.open_timeout_s)
    except Exception as err:
        log(f"the scheduler {spec.scheduler}: {function.__name__} failed: {err}")


async def _awaited(function: Any, *args: Any) -> Any:
    return await function(*args)


def _archive(folder: Path) -> bytes:
    """Return a folder's files as a tar archive, without compiled Python."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                tar.add(path, arcname=str(path.relative_to(folder)))
    return data.getvalue()
