"""Actions that improve the evidence, for the places that no optimisation fills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from daskperf_tasks.analyse.figures import Figures
from daskperf_tasks.model.measured import Missing
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.results import Action, CellDiagnosis

#: A diagnosis below this confidence is worth more repeats.
DOUBTFUL = 0.6
#: Repeats shorter than this (s) are mostly fixed overhead and noise.
SHORT_S = 1.0


def measuring_actions(
    plan: Plan, cells: Sequence[CellDiagnosis], figures: Mapping[str, Figures]
) -> list[Action]:
    """Return steps that improve the evidence, for the places that are left."""
    repeats = max((p.request.repeats for p in plan.cells), default=5)
    doubtful = sorted(cells, key=lambda c: (c.cell_id in figures, c.confidence))
    weak = tuple(c.cell_id for c in doubtful if c.confidence < DOUBTFUL)[:4]
    absent = tuple(c.cell_id for c in cells if c.cell_id not in figures)
    found: list[Action] = []
    if absent:
        found.append(
            Action(
                rank=0,
                title="Measuring: remove what kept cells from being measured",
                change=f"{len(absent)} of {len(cells)} cells from no valid block to measured; the "
                "coverage of the report gives each one's reason",
                cell_ids=absent,
                expected_ratio=Missing(missing="what was not measured has no makespan"),
                evidence=f"no valid block of {', '.join(absent[:2])}"
                + (f" and {len(absent) - 2} more" if len(absent) > 2 else ""),
                test=f"{run_command(plan)}; these cells must be measured",
            )
        )
    found += [
        Action(
            rank=0,
            title="Measuring: more repeats where the evidence is thin",
            change=f"repeats from {repeats} to {2 * repeats}, rounds from {len(plan.rounds)} to "
            f"{2 * max(1, len(plan.rounds))}",
            cell_ids=weak,
            expected_ratio=Missing(missing="measuring more changes no makespan"),
            evidence=f"{sum(c.confidence < DOUBTFUL for c in cells)} of {len(cells)} cells are "
            "diagnosed with a confidence below 0.6 or not at all",
            test=f"{run_command(plan)} --repeats {2 * repeats}; confidence must rise or the class "
            "change",
        )
    ]
    short = [i for i, f in figures.items() if f.makespan_s < SHORT_S]
    units = sorted({plan.cell(i).request.units for i in (short or figures)})
    sizes = ", ".join(str(u) for u in units) or "the planned"
    found.append(
        Action(
            rank=0,
            title="Measuring: larger units of work",
            change=f"units in matrix {plan.matrix_name} from {sizes} to twice as many",
            cell_ids=tuple(short)[:4],
            expected_ratio=Missing(missing="other work has another makespan; compare throughput"),
            evidence=f"{len(short)} of {len(figures)} cells run for less than a second a repeat, "
            "where fixed overhead and noise weigh most",
            test=f"double `units` of each [[workload]] in the matrix, then {run_command(plan)}; if "
            "throughput rises, fixed overhead dominated",
        )
    )
    found.append(
        Action(
            rank=0,
            title="Measuring: the same wheel twice, for the noise of this lane",
            change="reference from another wheel (or none) to tonight's own",
            cell_ids=(),
            expected_ratio=Missing(missing="both arms are the same wheel; 1 but for noise"),
            evidence="the smallest visible effect of a night is known only from such runs",
            test=f"{run_command(plan)} --wheel W.whl --against W.whl; no cell may be slower or "
            "faster",
        )
    )
    return found


def run_command(plan: Plan) -> str:
    """Return the command that measures the plan's matrix again."""
    return f"daskperf run {plan.matrix_name}"
