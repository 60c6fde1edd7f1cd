"""Workloads that a wheel brings are planned without being installed or imported here."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from daskperf_tasks.asking import Ask, plan_of
from daskperf_tasks.deploy.choice import check_fits, choose_reference, keep_comparable
from daskperf_tasks.deploy.sources import wheel_by_hand
from daskperf_tasks.deploy.wheel_workloads import Known, workloads_with
from daskperf_tasks.errors import MatrixError, WheelError
from daskperf_tasks.model.plan import Plan
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.reading import sketch_plan
from daskperf_tasks.settings import Settings, read_settings
from tests.wheels import make_wheel

RUN = "20261130T010203Z-616263"
MATRIX = """
[matrix]
name = "theirs"
rounds = 1

[[workload]]
name = "their-work"
environments = ["threads"]
params = { n = [2, 3] }
"""
WORKLOAD = """
from daskperf_tasks.workloads.protocol import Built, Checked, ParamSpec
class Theirs:
    name = "their-work"
    version = {version}
    unit = "thing"
    requires = ("theirs",)
    libraries = ("numpy",)
    params = {{"{param}": ParamSpec(kind=int, default=2, minimum=1, maximum=9)}}
    def unit_cost_s(self, params): return 0.5 * params["n"]
    def own_units(self, params): return 10 * params["n"]
    def build(self, params, *, units, seed): return Built(collections=())
    def check(self, results, params, *, units, seed): return Checked(right_units=units, text="")
IT = Theirs()
"""


def their_wheel(
    folder: Path,
    *,
    version: str = "1.0",
    workload: str | None = None,
    points: str = "their-work = theirs.work:IT",
    param: str = "n",
    number: int = 1,
) -> Path:
    text = WORKLOAD.format(version=number, param=param) if workload is None else workload
    info = f"theirs-{version}.dist-info/entry_points.txt"
    files = {
        "theirs/__init__.py": "",
        "theirs/work.py": text,
        info: f"[console_scripts]\nThem = theirs:main\n[daskperf.workloads]\n{points}\n",
    }
    return make_wheel(folder, "theirs", version, files)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings({"DASKPERF_HOME": str(tmp_path / "home")})


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "theirs.toml"
    path.write_text(MATRIX)
    return str(path)


@contextmanager
def planned(settings: Settings, matrix: str, wheel: Path) -> Iterator[tuple[Plan, Known, Subject]]:
    subject, data = wheel_by_hand(wheel)
    now = datetime(2026, 11, 30, tzinfo=UTC)
    with workloads_with(subject, data, local_root=settings.cache / "wheels") as known:
        ask = Ask(matrix=matrix)
        arms = ("subject",)
        plan = plan_of(settings, ask, run_id=RUN, created_at=now, arms=arms, known=known)
        yield plan, known, subject


def test_a_plan_with_the_workloads_of_a_wheel(
    settings: Settings, matrix: str, tmp_path: Path
) -> None:
    wheel = their_wheel(tmp_path / "wheels", number=4)
    with planned(settings, matrix, wheel) as (plan, known, subject):
        assert [c.cell_id for c in plan.cells] == [
            "their-work/v4;n=2;env=threads;sched=none",
            "their-work/v4;n=3;env=threads;sched=none",
        ]
        assert [c.request.units for c in plan.cells] == [20, 30]
        assert plan.estimate_s > 20  # it asked the workload for the cost of a unit
        assert known.own == {"their-work"} and "integrate" in known.registry
        theirs = known.registry["their-work"]
        assert (theirs.unit, theirs.libraries) == ("thing", ("numpy",))  # type: ignore[union-attr]
        assert theirs.params["n"].limits == "1 to 9"
        check_fits(subject, plan, known.registry, known.own)
    assert "theirs" not in sys.modules and "theirs.work" not in sys.modules
    assert sketch_plan(settings, Ask(matrix=matrix, wheel=str(wheel))).cells == plan.cells
    with pytest.raises(MatrixError, match="unknown workload 'their-work'") as seen:
        sketch_plan(settings, Ask(matrix=matrix))
    assert "--subject" in str(seen.value)


def test_a_value_that_the_wheels_workload_does_not_take(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(MATRIX.replace("[2, 3]", "[2, 12]"))
    with (
        pytest.raises(MatrixError, match="above 9"),
        planned(settings, str(path), their_wheel(tmp_path / "wheels")),
    ):
        pass


def test_the_wheels_version_is_taken_and_not_the_installed_one(
    settings: Settings, matrix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from daskperf_tasks.deploy.driver import install_here

    old, data = wheel_by_hand(their_wheel(tmp_path / "old", version="0.5", number=1))
    monkeypatch.syspath_prepend(install_here(old, data, tmp_path / "installed")["folder"])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path[:1]))
    new = their_wheel(tmp_path / "new", version="2.0", number=7)
    with planned(settings, matrix, new) as (plan, _, _):
        assert {c.cell.version for c in plan.cells} == {7}
    assert "theirs.work" not in sys.modules


@pytest.mark.parametrize(
    ("workload", "points", "says"),
    [
        ("import no_such_thing", None, "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise SystemExit('no way')", None, "SystemExit: no way"),
        ("import os; print('last words', flush=True); os._exit(7)", None, "ended with code 7"),
        ("import os; print('last words', flush=True); os._exit(7)", None, "last words"),
        ("import time; time.sleep(600)", None, "no answer within 2 s"),
        ("IT = 3", None, "int without name, version"),
        (None, "their-work = theirs.work:THAT", "has no attribute 'THAT'"),
        (None, "a = theirs.work:IT\nb = theirs.work:IT", "two workloads of the wheel are named"),
        (WORKLOAD.format(version='"1"', param="n"), None, "version of workload"),
        (WORKLOAD.format(version=1, param="n").replace("their-", "In "), None, "not a valid"),
        (WORKLOAD.format(version=1, param="n").replace("their-work", "integrate"), None, "'integ"),
    ],
)
def test_what_cannot_be_planned_says_why(
    settings: Settings, tmp_path: Path, workload: str | None, points: str | None, says: str
) -> None:
    more = {} if points is None else {"points": points}
    subject, data = wheel_by_hand(their_wheel(tmp_path, workload=workload, **more))
    began = time.monotonic()
    with pytest.raises(WheelError) as seen:
        timeout_s = 2.0 if "sleep" in str(workload) else 30.0
        with workloads_with(
            subject, data, local_root=settings.cache / "wheels", timeout_s=timeout_s
        ):
            pass
    assert says in str(seen.value) and "theirs-1.0" in str(seen.value)
    assert time.monotonic() - began < 30


def test_a_method_that_raises_or_prints(settings: Settings, matrix: str, tmp_path: Path) -> None:
    noisy = WORKLOAD.format(version=1, param="n").replace("return 0.5", "print('x' * 10**6); 1 / 0")
    with (
        pytest.raises(WheelError, match="cannot be planned") as seen,
        planned(settings, matrix, their_wheel(tmp_path, workload=noisy)),
    ):
        pass
    assert "unit_cost_s" in str(seen.value) and "ZeroDivisionError" in str(seen.value)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"number": 2}, "brings version 2 of the workload 'their-work'"),
        ({"points": "", "number": 1}, "brings no workload 'their-work'"),
        ({"param": "m"}, "without the parameter n"),
        ({"workload": "import no_such_thing"}, "cannot be loaded"),
        ({}, None),
    ],
)
def test_a_reference_with_other_workloads(
    settings: Settings, matrix: str, tmp_path: Path, other: dict, says: str | None
) -> None:
    wheel = their_wheel(tmp_path / "new", version="2.0")
    old = their_wheel(tmp_path / "old", **other)
    root = settings.cache / "wheels"
    with planned(settings, matrix, wheel) as (plan, known, subject):
        lane = {"before": RUN, "lane": "lab", "matrix": "theirs"}
        by_hand = choose_reference(settings, str(old), subject, **lane)
        assert by_hand[0] is not None
        asked = {"plan": plan, "subject": subject, "own": known.own, "local_root": root}
        if says is None:
            assert keep_comparable(by_hand, **asked) == by_hand
            return
        with pytest.raises(WheelError, match="cannot be measured by the plan") as seen:
            keep_comparable(by_hand, **asked)
        assert says in str(seen.value)
        # Of the last accepted run: no reason to lose a night, but nothing to compare with.
        from dataclasses import replace

        reason = "wheel of the last accepted run X"
        automatic = (replace(by_hand[0], chosen_by=reason), by_hand[1], reason)
        reference, data, why = keep_comparable(automatic, **asked)
        assert (reference, data) == (None, None)
        assert why.startswith(f"{reason} was left out: ") and says in why
