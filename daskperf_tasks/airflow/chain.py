"""The chain that both DAGs run, from ``start`` to ``gate``::

    start > deploy > preflight > calibrate > measure (a task a round) > restore
            setup  ------------------------------------------------->  teardown
    restore > analyse > validate > report > publish > notify > gate

Once ``start`` has made a run, everything after ``restore`` runs whatever
happened before it, so that a red night leaves a report and a manifest too;
``gate`` is the only leaf and says whether the night was green. When ``start``
itself fails there is no run to tell of, and the rest is not run.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryRule, TriggerRule, task

from daskperf_tasks.airflow import bodies

#: Pool with one slot: measuring never shares the machine with measuring.
LANE_POOL = "lane"
#: ``start`` is upstream of each of these and is the one success that is asked for.
_WHATEVER_HAPPENED = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS
#: A lane that another run holds is worth waiting for; deploy restores what was there
#: before when anything else goes wrong, and the run is red at once.
_WAIT_FOR_LANE = ExceptionRetryPolicy(
    rules=[
        RetryRule(
            exception="daskperf_tasks.errors.LaneBusyError",
            action=RetryAction.RETRY,
            reason="another run has the lane",
        )
    ],
    default=RetryAction.FAIL,
)


def wire_chain(*, trigger: str, experiment: str | None = None) -> None:
    """Add the chain's tasks to the DAG whose ``with`` block this is called in.

    Parameters
    ----------
    trigger
        How the run is started, as the plan records it.
    experiment
        Kind of the one experiment that the form asks for; None for a matrix.
    """
    requests = _task(bodies.start, minutes=20)(trigger=trigger, experiment=experiment)
    run_id = requests["run_id"]

    deploy = _task(
        bodies.deploy,
        minutes=20,
        # Three hours at most.
        retries=36,
        retry_delay=timedelta(minutes=5),
        retry_policy=_WAIT_FOR_LANE,
    )(run_id)
    preflight = _task(bodies.preflight, minutes=10)(run_id)
    calibrate = _task(bodies.calibrate, minutes=15)(run_id)
    measure = _task(
        bodies.measure,
        minutes=6 * 60,
        retries=1,
        retry_delay=timedelta(seconds=15),
        pool=LANE_POOL,
        max_active_tis_per_dagrun=1,
        map_index_template="{{ task.op_kwargs['label'] }}",
    ).expand_kwargs(requests)
    restore = _task(bodies.restore, minutes=15, retries=1, retry_delay=timedelta(seconds=15))(
        run_id
    ).as_teardown(setups=deploy)

    deploy >> preflight >> calibrate >> measure >> restore
    last = restore
    for body, minutes, options in (
        (bodies.analyse, 30, {}),
        (bodies.validate, 20, {}),
        (bodies.report, 20, {}),
        (bodies.publish, 60, {"retries": 2, "retry_delay": timedelta(seconds=20)}),
        (bodies.notify, 10, {}),
        (bodies.gate, 10, {}),
    ):
        here = _task(body, minutes=minutes, trigger_rule=_WHATEVER_HAPPENED, **options)(run_id)
        last >> here
        last = here


def _task(body: Callable[..., Any], *, minutes: float, **options: Any) -> Any:
    """Make a task of a body, with the body's name and first words."""
    return task(
        task_id=body.__name__,
        execution_timeout=timedelta(minutes=minutes),
        multiple_outputs=False,
        doc_md=body.__doc__,
        **{"retries": 0, **options},
    )(body)
