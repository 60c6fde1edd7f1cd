"""The Cython kernels at the limit of this machine: against C, Numba and plain Python.

All give the same bits, which is checked first; then pairs take turns, and each
ratio is a median over pairs of CPU times in one process. Two threads against
one are timed by the clock, so only on an idle host they say something.

    python bench/kernels.py [--plot [FILE]] [--pairs N]
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kernels_host import IDLE, pair_ratio, seconds_of, thread_pairs
from kernels_others import ROOT, Kernels, in_c, in_numba

from daskperf_tasks.deploy.build import build_wheel

SIZES = (128, 512, 2048, 8192, 32_768, 65_536)
POINTS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One line of the end."""

    text: str
    figure: float
    limit: float
    at_most: bool = False
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.figure <= self.limit if self.at_most else self.figure >= self.limit

    def __str__(self) -> str:
        sign = "at most" if self.at_most else "at least"
        verdict = "pass" if self.passed else "fail"
        return f"{self.text}: {self.figure:.3f} (goal: {sign} {self.limit:g}): {verdict}{self.note}"


def ours(folder: Path) -> tuple[Kernels, Kernels]:
    """Build and import the wheel; return the Cython kernels and the plain Python ones."""
    built = build_wheel(ROOT / "kernels", folder / "wheel")
    with zipfile.ZipFile(built.path) as wheel:
        wheel.extractall(folder / "kernels")
    sys.path.insert(0, str(folder / "kernels"))
    package = importlib.import_module("daskperf_kernels")
    print(f"Cython: {built.path.name}")
    cython, python = (
        Kernels(
            name=name.capitalize(),
            integrate=lambda n, phase, i=name: package.integrate(n, phase, i),
            aggregate=lambda n, seed, i=name: package.aggregate(n, seed, i),
        )
        for name in ("cython", "python")
    )
    return cython, python


def check_bits(cython: Kernels, other: Kernels, largest: int) -> None:
    """Stop unless both give the same results, bit for bit."""
    for n, phase in ((1, 0.3), (1023, 0.4), (1024, 0.5), (50_000, 0.7), (50_000, 0.0)):
        if cython.integrate(n, phase) != other.integrate(n, phase):
            raise SystemExit(f"integrate({n}, {phase}): Cython and {other.name} differ")
    for n, seed in ((1, 0), (2, 1), (128, 2**64 - 1), (largest, 3)):
        (a, radius), (b, same) = cython.aggregate(n, seed), other.aggregate(n, seed)
        if a.tobytes() != b.tobytes() or radius != same:
            raise SystemExit(f"aggregate({n}, {seed}): Cython and {other.name} differ")
    print(f"{other.name}: the same bits as Cython")


def compare(cython: Kernels, others: list[Kernels], python: Kernels, pairs: int) -> list[Goal]:
    """Print the ratios of speed, and return the goals about them."""
    print(f"\n{'kernel':28} {'against':8} {'our speed / its':>16}")
    c_share = float("nan")
    for other in others:
        share = pair_ratio(
            lambda: cython.integrate(POINTS, 0.1), lambda o=other: o.integrate(POINTS, 0.1), pairs
        )
        print(f"{f'integrate {POINTS:,} points':28} {other.name:8} {share:16.3f}")
        if other.name == "C":
            c_share = share
    worst = float("inf")
    for n in (128, 1024, 8192):
        seeds = range(max(1, 8192 // n))
        for other in others:
            share = pair_ratio(
                lambda n=n, s=seeds: [cython.aggregate(n, seed) for seed in s],
                lambda n=n, s=seeds, o=other: [o.aggregate(n, seed) for seed in s],
                pairs,
            )
            print(f"{f'aggregate n={n:,}':28} {other.name:8} {share:16.3f}")
            worst = min(worst, share)
    # Single calls differ by the cluster: the same seeds on both sides.
    plain = pair_ratio(
        lambda: [cython.aggregate(512, 1) for _ in range(20)], lambda: python.aggregate(512, 1), 7
    )
    print(f"{'aggregate n=512':28} {'Python':8} {20 * plain:16.1f}")
    names = " and ".join(other.name for other in others)
    return [
        Goal(text="integrate, speed against the C loop", figure=c_share, limit=0.95),
        Goal(text=f"aggregate, speed against the best of {names}", figure=worst, limit=0.9),
        Goal(text="aggregate, speed against plain Python", figure=20 * plain, limit=100.0),
    ]


def scale_threads(cython: Kernels) -> list[Goal]:
    """Print what two threads gain over one, and return the goals about it."""
    print(f"\n{'two threads against one':28}  pairs  idle  ratio  foreign CPU")
    goals = []
    for name, work, items in (
        ("integrate", lambda i: cython.integrate(4_000_000, i / 64), 64),
        ("aggregate", lambda i: cython.aggregate(256, i), 320),
    ):
        pairs = thread_pairs(work, items, wanted=7, most=16)
        idle = [p for p in pairs if p.foreign <= IDLE]
        counted = idle if len(idle) >= 3 else pairs
        ratio = statistics.median(p.ratio for p in counted)
        foreign = statistics.median(p.foreign for p in counted)
        print(f"{name:28} {len(pairs):6} {len(idle):5} {ratio:6.3f} {foreign:12.1%}")
        note = "" if counted is idle else (
            f" (the host was busy: others used {foreign:.0%} of {os.cpu_count()} cores)"
        )  # fmt: skip
        goals.append(Goal(text=f"{name}, 2 threads over 1", figure=ratio, limit=1.9, note=note))
    return goals


def scale_size(cython: Kernels, plot: Path | None) -> Goal:
    """Print the time of a monomer against n, and return the goal about the exponent."""
    print(f"\n{'n':>7} {'us a monomer':>13} {'s a cluster':>12}")
    times = []
    for n in SIZES:
        count = max(1, 2 * 8192 // n)
        runs = [
            seconds_of(lambda n=n, c=count: [cython.aggregate(n, seed) for seed in range(c)])
            for _ in range(7 if n < 30_000 else 5)
        ]
        times.append(statistics.median(runs) / count)
        print(f"{n:7} {times[-1] / n * 1e6:13.2f} {times[-1]:12.6f}")
    exponent, constant = np.polyfit(np.log(SIZES), np.log(times), 1)
    print(f"fit: {np.exp(constant):.3g} s n^{exponent:.3f}")
    if plot is not None:
        draw(times, float(exponent), float(np.exp(constant)), plot)
    text = f"aggregate, exponent of time in n = {SIZES[0]} to {SIZES[-1]:,}"
    return Goal(text=text, figure=float(exponent), limit=1.2, at_most=True)


def draw(times: list[float], exponent: float, constant: float, file: Path) -> None:
    """Write the plot of time against n."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.add_subplot()
    n = np.array(SIZES, dtype=float)
    axes.loglog(n, times, "o", label="measured")
    axes.loglog(n, constant * n**exponent, "-", label=f"$n^{{{exponent:.2f}}}$")
    axes.loglog(n, times[0] * n / n[0], ":", color="grey", label="$n$")
    axes.loglog(n, times[0] * (n / n[0]) ** 2, "--", color="grey", label="$n^2$")
    axes.set_ylim(times[0] / 2, times[-1] * 20)
    axes.set_xlabel("monomers of a cluster, n")
    axes.set_ylabel("time of a cluster (s)")
    axes.legend(frameon=False)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    print(f"plot: {file}")


def main() -> int:
    """Run the bench; 0 when every goal is met, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = ROOT / "docs" / "kernels-scaling.png"
    parser.add_argument("--plot", type=Path, nargs="?", const=default, help="write the plot")
    parser.add_argument("--pairs", type=int, default=41)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="daskperf-bench-") as name:
        cython, python = ours(Path(name))
        others = [in_c(Path(name))]
        numba = in_numba()
        if numba is not None:
            others.append(numba)
        for other in others:
            check_bits(cython, other, 20_000)
        check_bits(cython, python, 600)
        goals = compare(cython, others, python, options.pairs)
        goals += scale_threads(cython)
        goals.append(scale_size(cython, options.plot))
    print()
    for goal in goals:
        print(goal)
    return 0 if all(goal.passed for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
