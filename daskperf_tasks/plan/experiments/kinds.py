"""All kinds of experiments, in the order in which they are told."""

from __future__ import annotations

from daskperf_tasks.plan.experiments.chunks import CHUNKS
from daskperf_tasks.plan.experiments.design import KindSpec
from daskperf_tasks.plan.experiments.granularity import GRANULARITY
from daskperf_tasks.plan.experiments.optimization import OPTIMIZATION
from daskperf_tasks.plan.experiments.scheduler import SCHEDULER
from daskperf_tasks.plan.experiments.task_size import TASK_SIZE
from daskperf_tasks.plan.experiments.workers import WORKERS_KIND

KINDS: dict[str, KindSpec] = {
    spec.kind: spec
    for spec in (TASK_SIZE, WORKERS_KIND, SCHEDULER, CHUNKS, GRANULARITY, OPTIMIZATION)
}
