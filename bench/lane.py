"""A scheduler and workers as processes of their own, for benches without a lane."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

_START_S = 60.0


class BenchLane:
    """``dask scheduler`` and ``dask worker`` on loopback; a context manager."""

    def __init__(self, folder: Path, *, workers: int, threads: int, path: str) -> None:
        self._env = {k: v for k, v in os.environ.items() if not k.startswith("DASK_")}
        self._env["PYTHONPATH"] = path
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        folder.mkdir(parents=True)
        try:
            self._start("scheduler", "--port", "0", "--scheduler-file", str(file), "--no-dashboard")
            self.address = self._read_address(file)
            for i in range(workers):
                scratch = str(folder / f"scratch-{i}")
                self._start(
                    "worker", self.address, "--name", f"bench-{i}", "--nthreads", str(threads),
                    "--no-dashboard", "--local-directory", scratch,
                )  # fmt: skip
        except BaseException:
            self.stop()
            raise

    def _start(self, kind: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        with (self._folder / f"{kind}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    [*command, "--host", "127.0.0.1"],
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def _read_address(self, file: Path) -> str:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            try:
                return str(json.loads(file.read_text())["address"])
            except (OSError, ValueError):
                time.sleep(0.05)
        raise RuntimeError(f"the scheduler did not start: see {self._folder}")

    def stop(self) -> None:
        """End all processes."""
        for process in self._processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self._processes:
            process.wait()

    def __enter__(self) -> BenchLane:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
