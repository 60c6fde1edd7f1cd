"""How long measuring will take, roughly, before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from daskperf_tasks.model.plan import PlannedCell
from daskperf_tasks.plan.known import Registry, unit_cost_s

#: Seconds to start a measuring process and open an environment, as seen on two cores.
INTERPRETER_S = 2.0
OPENING_S: Mapping[str, float] = {
    "threads": 0.1,
    "processes": 2.0,
    "local": 3.5,
    "remote": 0.5,
    "remote-threads": 0.1,
    "remote-processes": 0.1,
}
#: Probes, checks and writing of one block.
BLOCK_S = 0.4


def estimate_s(
    cells: Sequence[PlannedCell],
    *,
    rounds: int,
    registry: Registry,
    threads: int = 2,
    seen_s: Mapping[str, float] | None = None,
) -> float:
    """Return the expected seconds of measuring.

    Parameters
    ----------
    cells
        What one round measures.
    rounds
        How many rounds, over all arms.
    registry
        For the workloads' rough cost of a unit.
    threads
        Threads that share a repeat's units.
    seen_s
        Cell id -> median makespan of an earlier run; preferred where there is one.

    Notes
    -----
    rounds x [start + sum over environments of opening
    + sum over cells of (1 + most warm-ups + repeats) x makespan + block overhead],
    makespan = the earlier median, else units x unit cost / threads. The
    warm-ups are counted at their cap, so the estimate is rather high than low.
    """
    seen = seen_s or {}
    per_round = INTERPRETER_S
    per_round += sum(OPENING_S[env] for env in {c.cell.env for c in cells})
    for planned in cells:
        request = planned.request
        makespan = seen.get(planned.cell_id)
        if makespan is None:
            unit = unit_cost_s(registry[request.workload], dict(request.params))
            makespan = request.units * unit / max(1, threads)
        turns = 1 + request.warmup.max_repeats + request.repeats
        per_round += min(turns * makespan, request.timeout_s) + BLOCK_S
    return rounds * per_round
