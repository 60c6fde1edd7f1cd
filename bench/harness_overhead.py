"""What measuring costs the measured: makespans under the harness against bare Dask.

Two processes take turns on every cell of a matrix, harness and bare script in
ABBA order, each with clusters and pools of its own, so that the machine's
drift hits both alike. A cell's ratio is the median over the pairs; where it is
not clear yet on which side of the limit a cell lies, more pairs are taken.

    python bench/harness_overhead.py [MATRIX] [--scheduler ADDRESS] [--pairs N] [--max-pairs N]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import zipfile
from contextlib import ExitStack, suppress
from dataclasses import replace
from math import comb
from pathlib import Path

from lane import BenchLane

from daskperf_tasks.deploy.build import build_wheel
from daskperf_tasks.model.codec import encode
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.plan.build import make_plan
from daskperf_tasks.plan.matrix_file import load_matrix
from daskperf_tasks.run.spec import Layout, RoundSpec, round_spec
from daskperf_tasks.workloads.registry import load_registry

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.05
LAYOUT = Layout(workers=2, threads=2)


class Side:
    """One of the two processes."""

    def __init__(self, mode: str, spec: RoundSpec, path: str, log: Path) -> None:
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, str(ROOT / "bench" / "overhead_turns.py"), mode],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )
        body = {"schema": spec.SCHEMA, "version": spec.VERSION, **encode(spec)}
        self._tell(json.dumps(body))
        self._log = log

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def makespan_s(self, cell: int) -> float:
        """Let it compute a cell."""
        assert self._process.stdout is not None
        self._tell(str(cell))
        for line in self._process.stdout:
            if line.startswith("makespan "):
                return float(line.split()[1])
        raise RuntimeError(f"a process of the bench ended:\n{self._log.read_text()[-3000:]}")

    def stop(self) -> None:
        """End it with all of its own."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median and its 95 % interval between order statistics (sign test)."""
    ordered = sorted(values)
    n = len(ordered)
    tail, k = 0.0, 0
    while k < n // 2 and tail + comb(n, k) / 2**n <= 0.025:
        tail += comb(n, k) / 2**n
        k += 1
    k = max(k, 1)  # too few pairs for 95 %: the whole range
    return statistics.median(ordered), ordered[k - 1], ordered[n - k]


def clear(ratios: list[float]) -> bool:
    """Whether the interval lies on one side of the limit; both sides count alike."""
    _, low, high = median_interval(ratios)
    return high <= LIMIT or low > LIMIT


def run(spec: RoundSpec, harness: Side, bare: Side, pairs: int, most: int) -> list[list[float]]:
    """Take pairs of all cells, then more of those that are not clear."""
    for cell in range(len(spec.turns)):  # warm up
        for side in (harness, bare, harness, bare):
            side.makespan_s(cell)
    ratios: list[list[float]] = [[] for _ in spec.turns]
    todo = list(range(len(spec.turns)))
    for turn in range(most):
        if turn >= pairs:
            todo = [c for c in todo if not clear(ratios[c])]
        for cell in todo:
            first, second = (harness, bare) if turn % 2 == 0 else (bare, harness)
            seconds = {side: side.makespan_s(cell) for side in (first, second)}
            ratios[cell].append(seconds[harness] / seconds[bare])
    return ratios


def show(spec: RoundSpec, ratios: list[list[float]]) -> bool:
    """Print the table and the closing line; return whether it passes."""
    print(f"{'cell':62} {'pairs':>5} {'ratio':>6}  95 % interval")
    medians = []
    for turn, values in zip(spec.turns, ratios, strict=True):
        middle, low, high = median_interval(values)
        medians.append(middle)
        name = f"{turn.planned.cell.label} {turn.planned.cell.env}"
        print(f"{name:62} {len(values):5} {middle:6.3f}  {low:.3f} to {high:.3f}")
    middle, worst = statistics.median(medians), max(medians)
    passed = worst <= LIMIT
    print(
        f"harness overhead: median ratio {middle:.3f}, worst cell {worst:.3f}: "
        f"{'pass' if passed else 'fail'} (limit {LIMIT})"
    )
    return passed


def main() -> int:
    """Run the bench; 0 when it passes, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrix", nargs="?", default=str(ROOT / "matrix" / "nightly.toml"))
    parser.add_argument("--scheduler", help="a lane to use; default: two of its own")
    parser.add_argument("--wheel-folder", help="unpacked wheel; default: build kernels/")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--max-pairs", type=int, default=40)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="daskperf-bench-")))
        wheel = options.wheel_folder or unpacked_kernels(folder)
        path = os.pathsep.join([str(wheel), str(ROOT)])
        addresses = [options.scheduler] * 2
        if not options.scheduler:
            for i in range(2):
                lane = BenchLane(
                    folder / f"lane-{i}", workers=LAYOUT.workers, threads=LAYOUT.threads, path=path
                )
                stack.callback(lane.stop)
                addresses[i] = lane.address
        spec = whole_matrix(Path(options.matrix), addresses[0], folder)
        harness = Side("harness", spec, path, folder / "harness.log")
        stack.callback(harness.stop)
        bare = Side("bare", replace(spec, scheduler=addresses[1]), path, folder / "bare.log")
        stack.callback(bare.stop)
        ratios = run(spec, harness, bare, options.pairs, max(options.pairs, options.max_pairs))
        return 0 if show(spec, ratios) else 1


def unpacked_kernels(folder: Path) -> Path:
    """Build the default subject and unpack it."""
    built = build_wheel(ROOT / "kernels", folder / "wheel")
    with zipfile.ZipFile(built.path) as wheel:
        wheel.extractall(folder / "kernels")
    return folder / "kernels"


def whole_matrix(file: Path, scheduler: str, ledger: Path) -> RoundSpec:
    """Return a spec with all cells of a matrix; nothing is written to its ledger."""
    registry = load_registry()
    plan = make_plan(
        load_matrix(file.read_text(), where=str(file), registry=registry),
        run_id="20000101T000000Z-000000",
        created_at="2000-01-01T00:00:00+00:00",
        trigger="cli",
        commit="unknown",
        arms=("subject",),
        registry=registry,
    )
    subject = Subject(
        name="daskperf-kernels",
        version="any",
        sha256="0" * 64,
        file="",
        size_bytes=0,
        import_name="",
        source="",
        chosen_by="the bench",
    )
    return round_spec(
        plan,
        plan.rounds[0],
        subject=subject,
        wheel_folder="",
        scheduler=scheduler,
        layout=LAYOUT,
        ledger=str(ledger),
    )


if __name__ == "__main__":
    sys.exit(main())
