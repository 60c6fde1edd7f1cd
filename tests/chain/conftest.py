"""One embedded stack without Airflow, and the command line against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daskperf_infra.local import stack
from daskperf_infra.local.environment import stack_env

CHECKOUT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Bench:
    """The command line with a home of its own, on a stack that tests share."""

    home: Path
    env: Mapping[str, str]

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "daskperf_tasks", *words]

    def run(self, *words: str, env: Mapping[str, str] | None = None, timeout: float = 240) -> Done:
        done = subprocess.run(
            self.command(*words),
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.home,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*words),
            env=dict(self.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home,
        )

    def artifact(self, run_id: str, name: str) -> Any:
        return json.loads((self.home / "spool" / "profiles" / run_id / name).read_text())


@pytest.fixture
def bench(small_stack: Path, tmp_path: Path) -> Bench:
    """A fresh ledger and spool; the lane and the built wheel are shared."""
    stack.up(small_stack, airflow=False)  # heals what a test before this one broke
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DASKPERF_", "AWS_"))}
    env = kept | stack_env(small_stack)
    env["DASKPERF_HOME"] = str(tmp_path)
    env["DASKPERF_STORE"] = f"s3://daskperf/{tmp_path.name}"
    env["PYTHONPATH"] = str(CHECKOUT)
    shared = small_stack / "cache"
    shared.mkdir(exist_ok=True)
    (tmp_path / "cache").symlink_to(shared)
    return Bench(home=tmp_path, env=env)
