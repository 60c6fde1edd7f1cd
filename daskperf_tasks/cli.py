"""The ``daskperf`` command, also registered as ``dask perf``.

Every command takes ``--json`` (one document on stdout, logs on stderr) and
exits 0 when done, 1 when the verdict is red or something required failed, 2
for bad input, 3 for infrastructure. Nothing heavy is imported before a
command needs it.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from daskperf_tasks import __version__
from daskperf_tasks.errors import DaskperfError, HarnessError, InputError, Interrupted
from daskperf_tasks.plan.experiments.design import KindSpec
from daskperf_tasks.plan.experiments.kinds import KINDS

Command = Callable[..., int | None]


def _emit(as_json: bool, document: Any, text: str) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        click.echo(text)


def _print_error_document(err: DaskperfError) -> None:
    click.echo(json.dumps(err.document, indent=1, ensure_ascii=False))


def _report_error(err: DaskperfError, as_json: bool) -> int:
    if as_json:
        _print_error_document(err)
    click.echo(f"daskperf: {err}", err=True)
    return err.exit_code


def _guarded(function: Command) -> Command:
    """Give a command ``--json``, logging to stderr and the exit codes of the errors."""

    @click.option("--json", "as_json", is_flag=True, help="Machine-readable on stdout.")
    @functools.wraps(function)
    def run(as_json: bool, **options: Any) -> None:
        logging.basicConfig(
            stream=sys.stderr, level=logging.WARNING, format="%(message)s", force=True
        )
        logging.getLogger("daskperf").setLevel(logging.INFO)
        try:
            code = function(as_json=as_json, **options) or 0
        except DaskperfError as err:
            code = _report_error(err, as_json)
        except KeyboardInterrupt:
            interrupted = Interrupted("interrupted", todo="`daskperf list` shows what is there")
            code = _report_error(interrupted, as_json)
        except BrokenPipeError:
            # The reader (head, less) left; there is nobody to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as err:
            traceback.print_exc()
            broken = HarnessError(
                f"daskperf broke: {type(err).__name__}: {err}",
                todo="this is a defect of daskperf: please report it with the traceback above",
            )
            code = _report_error(broken, as_json)
        sys.exit(code)

    return run


class _Cli(click.Group):
    """A group whose own refusals follow the contract, too: exit code 2, JSON when asked."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line and exit."""
        words = sys.argv[1:] if args is None else list(args)
        extra["standalone_mode"] = False
        try:
            super().main(words, *rest, **extra)
        except click.ClickException as err:
            code = err.exit_code
            if "--json" in words:
                wrong = InputError(err.format_message(), todo="`daskperf --help` shows the usage")
                _print_error_document(wrong)
            err.show()
        except click.Abort:
            code = Interrupted.exit_code
            click.echo("daskperf: interrupted", err=True)
        else:
            code = 0
        sys.exit(code)


@click.group(
    cls=_Cli, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="daskperf")
@click.option("--home", type=click.Path(path_type=Path), help="State folder (DASKPERF_HOME).")
@click.option("--store", help="Artifact store, file:///... or s3://bucket/prefix (DASKPERF_STORE).")
def main(home: Path | None, store: str | None) -> None:
    """Benchmark Dask: deploy a wheel, measure it local and remote, judge it, say why."""
    if home is not None:
        os.environ["DASKPERF_HOME"] = str(home)
    if store is not None:
        os.environ["DASKPERF_STORE"] = store


dask_command = main


def _settings(store: str | None = None) -> Any:
    from daskperf_tasks.settings import read_settings, use_running_stack

    if store is not None:
        os.environ["DASKPERF_STORE"] = store
    if os.environ.get("DASKPERF_STORE") == "":
        raise InputError(
            "the store is empty",
            expected="file:///path or s3://bucket/prefix",
            todo="leave --store and DASKPERF_STORE out for the default",
        )
    use_running_stack(os.environ)
    return read_settings()


_store_option = click.option("--store", help="Artifact store (DASKPERF_STORE).")
_n_option = click.option(
    "--n", type=int, multiple=True, help="Values of n instead of the matrix's."
)
_repeats_option = click.option(
    "--repeats", type=click.IntRange(1, 1000), help="Repeats in a block."
)


@main.command()
@click.argument("matrix")
@_n_option
@_repeats_option
@click.option("--subject", "wheel", help="Wheel whose own workloads are planned, too.")
@click.option("--graphs", is_flag=True, help="Also build every cell's task graph and count it.")
@_guarded
def plan(
    *,
    matrix: str,
    n: tuple[int, ...],
    repeats: int | None,
    wheel: str | None,
    graphs: bool,
    as_json: bool,
) -> None:
    """Show cells, order and estimated time of MATRIX (a path or a shipped name)."""
    from daskperf_tasks.asking import Ask
    from daskperf_tasks.model.codec import encode
    from daskperf_tasks.reading import graphs_text, plan_graphs, plan_text, sketch_plan

    settings, ask = _settings(), Ask(matrix=matrix, n=n or None, repeats=repeats, wheel=wheel)
    sketched = sketch_plan(settings, ask)
    counted = plan_graphs(settings, ask, sketched) if graphs else {}
    document = {
        "matrix": sketched.matrix_name,
        "estimate_s": sketched.estimate_s,
        "cells": [
            {"id": c.cell_id, "label": c.cell.label, "env": c.cell.env, "required": c.required}
            | {"request": encode(c.request), "request_hash": c.request_hash}
            | ({"graph": encode(counted[c.cell_id])} if graphs else {})
            for c in sketched.cells
        ],
        "rounds": encode(sketched.rounds),
        "experiments": encode(sketched.experiments),
    }
    text = plan_text(sketched) + (f"\n\n{graphs_text(counted)}" if graphs else "")
    _emit(as_json, document, text)


@main.command()
@click.argument("matrix", default="nightly")
@click.option("--scheduler", help="Address of the lane's scheduler, e.g. tcp://host:8786.")
@click.option("--subject", "wheel", help="Wheel under test; default: the best of the source.")
@click.option("--against", help="Reference wheel, or 'none'; default: the last accepted run's.")
@_n_option
@_repeats_option
@_store_option
@_guarded
def run(*, as_json: bool, store: str | None, **asked: Any) -> int:
    """Run the whole chain for MATRIX without Airflow."""
    from daskperf_tasks.asking import Ask
    from daskperf_tasks.chain import run_chain

    asked["n"] = asked["n"] or None
    outcome = run_chain(_settings(store), Ask(trigger="cli", **asked))
    _emit(as_json, outcome.facts, outcome.text)
    return outcome.exit_code


@main.group()
def experiment() -> None:
    """Measure one question, such as how many tasks are best, and answer it."""


@main.group("report")
def report_() -> None:
    """Measure and recommend."""


def _experiment_command(spec: KindSpec) -> click.Command:
    """Make the command of a kind of experiment, with its options."""

    @_guarded
    def command(
        *,
        as_json: bool,
        store: str | None,
        rounds: int | None,
        repeats: int | None,
        scheduler: str | None,
        wheel: str | None,
        **given: Any,
    ) -> int:
        from daskperf_tasks.experimenting import run_experiment

        outcome = run_experiment(
            _settings(store),
            spec.kind,
            given,
            rounds=rounds,
            repeats=repeats,
            wheel=wheel,
            scheduler=scheduler,
        )
        _emit(as_json, outcome.facts, outcome.text)
        return outcome.exit_code

    decorators = [
        click.option(
            f"--{option.name.replace('_', '-')}",
            option.name,
            type=str if option.limits is None else int,
            multiple=option.many,
            help=option.described,
        )
        for option in spec.options
    ]
    decorators += [
        click.option("--rounds", type=int, help="Passes, each in a fresh process; default: 4."),
        click.option("--repeats", type=int, help="Repeats in a block; default: 3."),
        click.option(
            "--scheduler",
            help="Address of a lane's scheduler; default: the lane file's, else a lane of this "
            "command's own.",
        ),
        click.option("--subject", "wheel", help="Wheel under test; default: the best there is."),
        _store_option,
    ]
    decorated: Any = command
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return click.command(spec.kind, help=spec.about)(decorated)


for _spec in KINDS.values():
    experiment.add_command(_experiment_command(_spec))
report_.add_command(_experiment_command(KINDS["optimization"]))


@main.command()
@click.option("--scheduler", help="Address of the scheduler; default: the lane file's.")
@click.option("--lane", type=click.Path(path_type=Path), help="lane.toml (DASKPERF_LANE).")
@_guarded
def preflight(*, scheduler: str | None, lane: Path | None, as_json: bool) -> int:
    """Compare versions, layout and hosts of a lane; measures nothing."""
    from daskperf_tasks.model.codec import encode
    from daskperf_tasks.reading import check_lane, preflight_text

    seen = check_lane(_settings(), scheduler=scheduler, lane_path=lane)
    _emit(as_json, encode(seen) | {"blocked": seen.blocked}, preflight_text(seen))
    return 1 if seen.blocked else 0


@main.command("list")
@click.option("--limit", type=click.IntRange(1), help="Only the latest runs.")
@_store_option
@_guarded
def list_(*, limit: int | None, store: str | None, as_json: bool) -> None:
    """List the runs of the store, latest last."""
    from daskperf_tasks.model.codec import encode
    from daskperf_tasks.reading import all_runs, runs_text

    rows = all_runs(_settings(store))[-(limit or 0) :]
    _emit(as_json, {"runs": [encode(r) for r in rows]}, runs_text(rows))


@main.command()
@click.argument("run_id")
@_store_option
@_guarded
def show(*, run_id: str, store: str | None, as_json: bool) -> None:
    """Show the summary of a run ('latest' for the latest)."""
    from daskperf_tasks.reading import show_run

    document, text = show_run(_settings(store), run_id)
    _emit(as_json, document, text)


@main.command()
@click.argument("run_a")
@click.argument("run_b")
@_store_option
@_guarded
def compare(*, run_a: str, run_b: str, store: str | None, as_json: bool) -> None:
    """Compare two stored runs cell by cell (B against A)."""
    from daskperf_tasks.reading import compare_runs

    document, text = compare_runs(_settings(store), run_a, run_b)
    _emit(as_json, document, text)


@main.command()
@click.argument("run_id")
@_store_option
@_guarded
def rebuild(*, run_id: str, store: str | None, as_json: bool) -> None:
    """Rebuild everything after measuring from a run's raw artifacts."""
    from daskperf_tasks.reading import rebuild_run

    facts = rebuild_run(_settings(store), run_id)
    _emit(as_json, facts, f"rebuilt {facts['run_id']}: {', '.join(facts['rebuilt'])}")


@main.command()
@click.argument("run_id")
@_store_option
@_guarded
def verify(*, run_id: str, store: str | None, as_json: bool) -> int:
    """Read a run back and compare every file with its manifest."""
    from daskperf_tasks.reading import verify_stored

    run_id, problems = verify_stored(_settings(store), run_id)
    text = "\n".join(problems) if problems else f"{run_id}: every file is as its manifest says"
    _emit(as_json, {"run_id": run_id, "ok": not problems, "problems": list(problems)}, text)
    return 1 if problems else 0


@main.command()
@_store_option
@_guarded
def publish(*, store: str | None, as_json: bool) -> int:
    """Publish the runs that wait in the spool (after the store was away)."""
    from daskperf_tasks.reading import drain_spool

    done, waiting = drain_spool(_settings(store))
    lines = [f"published {run_id}" for run_id in done]
    lines += [f"{run_id} still waits: {why}" for run_id, why in waiting.items()]
    text = "\n".join(lines) or "nothing waits in the spool"
    _emit(as_json, {"published": list(done), "waiting": waiting}, text)
    return 3 if waiting else 0


@main.command()
@_guarded
def doctor(*, as_json: bool) -> int:
    """Say whether this machine is fit to measure, and why not."""
    from daskperf_tasks.doctor import examine, examined_text

    checks = examine()
    document = {"fit": all(c.level != "bad" for c in checks), "checks": [c.facts() for c in checks]}
    _emit(as_json, document, examined_text(checks))
    return 0 if document["fit"] else 1


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("action", type=click.Choice(["up", "down", "status"]))
@click.option("--no-airflow", is_flag=True, help="Only the object server and Dask.")
@_guarded
def lane(*, action: str, no_airflow: bool, as_json: bool) -> int:
    """Start, stop or show the embedded stack of this checkout."""
    from daskperf_infra.local.command import main as lane_main

    argv = [action, *(["--no-airflow"] if no_airflow else []), *(["--json"] if as_json else [])]
    return int(lane_main(argv))
