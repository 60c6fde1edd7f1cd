"""The contract of the commands: output, exit codes, errors."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from daskperf_tasks.cli import main

from .conftest import call


def test_the_commands_are_those_of_the_contract() -> None:
    assert set(main.commands) == {
        "plan", "run", "preflight", "list", "show", "compare", "rebuild", "verify", "publish",
        "lane", "doctor", "experiment", "report",
    }  # fmt: skip
    for name, command in main.commands.items():
        below = command.commands if isinstance(command, click.Group) else {name: command}
        for each in below.values():
            assert "--json" in {o for p in each.params for o in p.opts}, each.name


def test_it_is_a_command_of_dask_too() -> None:
    from importlib.metadata import entry_points

    [perf] = [e for e in entry_points(group="dask_cli") if e.name == "perf"]
    assert isinstance(perf.load(), click.Command)


def test_plan_names_cells_and_requests(home: Path) -> None:
    done = call("plan", "nightly", "--json", "--n", "128", "--repeats", "7")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert {
        "aggregates/v2;n=128;env=local;sched=ws",
        "aggregates/v2;n=128;env=remote;sched=ws",
        "integrate/v2;implementation=cython;steps=20000000;env=threads;sched=none",
        "integrate/v2;implementation=python;steps=50000;env=remote-processes;sched=ws",
    } <= {c["id"] for c in document["cells"]}
    assert not any("n=256" in c["id"] for c in document["cells"])
    assert {c["request"]["repeats"] for c in document["cells"]} == {7}
    assert document["estimate_s"] > 0
    assert not list(home.iterdir())


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (("plan", "nowhere.toml"), 2, "InputError"),
        (("show", "20200101T000000Z-000000"), 2, "UnknownRunError"),
        (("show", "../../etc/passwd"), 2, "UnknownRunError"),
        (("verify", "latest"), 2, "UnknownRunError"),
        (("list", "--store", "ftp://x"), 2, "InputError"),
        (("run", "smoke", "--scheduler", "tcp://x:1", "--subject", "no.whl"), 2, "WheelError"),
    ],
)  # fmt: skip
def test_errors_are_documents_with_the_code_of_their_kind(
    home: Path, words: tuple[str, ...], code: int, kind: str
) -> None:
    done = call(*words, "--json")
    assert done.exit_code == code, done.output
    error = json.loads(done.stdout)["error"]
    assert error["type"] == kind
    assert error["message"] in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("show",),
        ("nosuch",),
        ("list", "--limit", "0"),
        ("plan", "nightly", "--repeats", "0"),
        ("list", "--store", ""),
        ("list", "--store", "/etc/passwd"),
        ("list", "--store", "file:///no/such/folder"),
        ("--home", "/etc/passwd", "list"),
        ("show", ""),
        ("verify", ""),
    ],
)
def test_every_refusal_is_a_document_too(home: Path, words: tuple[str, ...]) -> None:
    done = call(*words, "--json")
    assert done.exit_code == 2, done.output
    assert set(json.loads(done.stdout)["error"]) >= {"type", "kind", "message", "todo"}
    assert done.stderr


def test_a_damaged_stack_is_not_passed_over_silently(home: Path) -> None:
    (home / "stack.json").write_text("{not json")
    done = call("list", "--json")
    assert done.exit_code == 3
    assert "stack.json" in done.stderr


def test_an_empty_store_says_how_to_begin(home: Path) -> None:
    assert json.loads(call("list", "--json").stdout) == {"runs": []}
    assert "make nightly" in call("list").stdout


def test_nothing_waits_in_an_empty_spool(home: Path) -> None:
    done = call("publish", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"published": [], "waiting": {}})


def test_doctor_judges_this_machine(home: Path) -> None:
    done = call("doctor", "--json")
    document = json.loads(done.stdout)
    assert document["fit"] == (done.exit_code == 0)
    by_name = {c["name"]: c for c in document["checks"]}
    assert {"cores", "memory", "load", "spread", "python"} <= set(by_name)
    assert all(c["level"] in ("good", "note", "warn", "bad") for c in document["checks"])
    assert all(c["advice"] for c in document["checks"] if c["level"] in ("warn", "bad"))
