"""A task graph by dependence pattern, kernel and grain: how small may tasks be?

After Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating
Parallel Runtime Performance", SC20): ``steps`` steps of ``width`` tasks, each of which
verifies that it got exactly the outputs of its dependences, runs ``grain`` iterations of a
kernel, and hands on its tag, a checksum and ``payload_bytes`` bytes. One more task adds up
the checksums that nobody else reads, so that the client gets one small result.

Notes
-----
The minimum effective task granularity, METG(50 %), follows from a series over ``grain`` with
all else equal::

    rate(g)       = useful_iterations(g) / makespan(g)
    efficiency(g) = rate(g) / max over g of rate(g)
    METG(50 %)    = threads * makespan(g) / tasks(g)  where efficiency(g) falls to 50 %

It is the mean time that a thread has for a task, overhead included, at the grain where half
of the peak throughput is left. ``useful_iterations`` counts what the kernels do, hence
neither the verification nor the collecting task. The kernel ``empty`` does nothing useful:
it shows the overhead a task alone, and has no efficiency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import CorrectnessError, InputError
from daskperf_tasks.workloads.patterns.dependences import PATTERNS, dependences, width_at
from daskperf_tasks.workloads.patterns.kernels import KERNELS, iterations
from daskperf_tasks.workloads.patterns.reference import reference
from daskperf_tasks.workloads.patterns.tasks import TAG_BYTES, Rule, collect, run_task
from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec, in_one_layer
from daskperf_tasks.workloads.protocol import with_defaults as _full

#: The most tasks of a graph: more than Dask's scheduler holds in 4 GiB.
_MOST_TASKS = 1_000_000
_PARAMS: Mapping[str, ParamSpec] = {
    "pattern": ParamSpec(kind=str, default="stencil", choices=PATTERNS),
    "kernel": ParamSpec(kind=str, default="compute", choices=KERNELS),
    "width": ParamSpec(kind=int, default=16, minimum=1, maximum=100_000),
    "steps": ParamSpec(kind=int, default=50, minimum=1, maximum=100_000),
    "grain": ParamSpec(kind=int, default=1, minimum=0, maximum=1_000_000),
    "payload_bytes": ParamSpec(kind=int, default=0, minimum=0, maximum=2**27),
    "scratch_mib": ParamSpec(kind=int, default=32, minimum=1, maximum=4_096),
}
#: Seconds of an iteration on a current processor, for estimates.
_ITERATION_S = {"compute": 6e-6, "imbalance": 6e-6, "memory": 2e-5, "empty": 0.0}


def useful_iterations(params: Params, *, seed: int = 0) -> int:
    """Return how many iterations the kernels of a graph run together.

    Parameters
    ----------
    params
        Of the workload; defaults may be left out.
    seed
        Of the matrix; only the kernel ``imbalance`` depends on it.

    Raises
    ------
    InputError
        When the parameters do not fit together.

    Examples
    --------
    >>> useful_iterations({"pattern": "stencil", "width": 4, "steps": 5, "grain": 10})
    200
    >>> useful_iterations({"pattern": "tree", "width": 4, "steps": 5, "grain": 10})
    150
    """
    rule, steps = _rule(params, seed)
    if rule.kernel != "imbalance":
        per_task = iterations(rule.kernel, rule.grain, seed, 0, 0)
        return per_task * PATTERN.own_units(params)
    return sum(
        iterations("imbalance", rule.grain, seed, step, column)
        for step, column in _tasks(rule, steps)
    )


@dataclass(frozen=True, slots=True)
class Pattern:
    """``steps`` steps of ``width`` tasks that depend on each other by a pattern."""

    name: str = "pattern"
    version: int = 1
    unit: str = "task"
    requires: tuple[str, ...] = ()

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Shape of the graph, kernel, and what the tasks hand on.

        ``grain`` is the number of iterations of the kernel a task (at most 1, and ignored, for
        the kernel ``empty``); ``payload_bytes`` a multiple of 16; ``scratch_mib`` the size of
        the arrays that the kernel ``memory`` streams over, in each thread: take more than
        the cache that a core can use.
        """
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time of the iterations of a task, and about 20 us for its inputs."""
        full = _full(self, params)
        return 2e-5 + float(full["grain"]) * _ITERATION_S[str(full["kernel"])]

    def own_units(self, params: Params) -> int:
        """Return how many tasks the pattern has, without the one that collects.

        Raises
        ------
        InputError
            When the parameters do not fit together.
        """
        rule, steps = _rule(params, 0)
        if rule.pattern != "tree":
            return rule.width * steps
        return sum(width_at("tree", rule.width, step) for step in range(steps))

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return the graph in one layer, to be run as it is written down.

        Raises
        ------
        InputError
            When the parameters do not fit together.
        """
        from dask._task_spec import Task, TaskRef
        from dask.base import tokenize

        rule, steps = _rule(params, seed)
        token = tokenize("pattern", rule, steps)
        name, last = f"{rule.pattern}-{token}", f"collect-{token}"
        sources = {
            (step, column): dependences(rule.pattern, rule.width, step, column, seed)
            for step, column in _tasks(rule, steps)
        }
        read = {(step - 1, c) for (step, _), columns in sources.items() for c in columns}
        graph: dict[Any, Any] = {}
        for (step, column), columns in sources.items():
            refs = (TaskRef((name, step - 1, c)) for c in columns)
            key = (name, step, column)
            graph[key] = Task(key, run_task, rule, step, column, (step, column) in read, *refs)
        unread = (TaskRef((name, *tag)) for tag in sources if tag not in read)
        graph[last] = Task(last, collect, *unread)
        return in_one_layer(last, graph, last)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Compare the checksum with that of a sequential evaluation step by step.

        Every task has verified its inputs by then, or the repeat has failed.
        """
        rule, steps = _rule(params, seed)
        expected = reference(rule, steps)
        if units != self.own_units(params):
            raise CorrectnessError(
                "pattern: another number of tasks than the parameters make",
                expected=str(self.own_units(params)),
                found=str(units),
            )
        if len(results) != 1 or not _equal(results[0], expected):
            raise CorrectnessError(
                "pattern: the checksum differs from that of the sequential evaluation",
                where=f"{rule.pattern}, {rule.kernel}, {rule.width} x {steps}, seed {seed}",
                expected=f"{expected[0]} outputs that nobody reads, checksum {expected[1]:016x}",
                found=str(results)[:120],
                todo="an iteration was left out, or a dependence was taken for another",
            )
        return Checked(
            right_units=units,
            text=f"each of {units} tasks verified its inputs; the checksum of all equals that of "
            "a sequential evaluation without Dask",
        )


def _equal(found: Any, expected: tuple[int, int]) -> bool:
    return isinstance(found, tuple | list) and tuple(found) == expected


def _tasks(rule: Rule, steps: int) -> Iterator[tuple[int, int]]:
    for step in range(steps):
        for column in range(width_at(rule.pattern, rule.width, step)):
            yield step, column


def _rule(params: Params, seed: int) -> tuple[Rule, int]:
    """Return what the tasks share and the number of steps, if the parameters fit together."""
    full = _full(PATTERN, params)
    rule = Rule(
        pattern=str(full["pattern"]),
        width=int(full["width"]),
        kernel=str(full["kernel"]),
        grain=int(full["grain"]),
        payload_bytes=int(full["payload_bytes"]),
        scratch_mib=int(full["scratch_mib"]),
        seed=seed,
    )
    steps = int(full["steps"])
    faults = (
        (rule.kernel == "empty" and rule.grain > 1, "grain 0 or 1 for the kernel 'empty'"),
        (rule.kernel != "empty" and rule.grain < 1, "a grain of at least 1 for this kernel"),
        (rule.payload_bytes % TAG_BYTES != 0, f"payload_bytes a multiple of {TAG_BYTES}"),
        (rule.width * steps > _MOST_TASKS, f"width * steps of at most {_MOST_TASKS:,}"),
    )
    for fault, expected in faults:
        if fault:
            raise InputError(
                "pattern: the parameters do not fit together",
                expected=expected,
                found=", ".join(f"{k} = {v!r}" for k, v in sorted(full.items())),
            )
    return rule, steps


PATTERN = Pattern()
