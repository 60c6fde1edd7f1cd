from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.integrate import Integrate
from daskperf_tasks.workloads.protocol import ParamSpec, Workload
from daskperf_tasks.workloads.registry import load_registry

OWN = Integrate(name="mine")
TWIN = Integrate(name="mine", version=3)
ILL_NAMED = Integrate(name="Not a name")
NO_VERSION = Integrate(name="mine", version=10**400)
NOTHING = object()


@dataclasses.dataclass(frozen=True)
class _OddParams(Integrate):
    name: str = "mine"

    @property
    def params(self):  # type: ignore[no-untyped-def]
        return {"workers": ParamSpec(kind=int, default=1)}


ODD_PARAMS = _OddParams()
HERE = "tests.workloads.test_registry"


def test_the_built_in_ones_are_there() -> None:
    registry = load_registry({})
    assert {"aggregates", "integrate"} <= set(registry)
    assert all(isinstance(w, Workload) and w.name == name for name, w in registry.items())
    assert all(
        spec.check(spec.default) == spec.default
        for w in registry.values()
        for spec in w.params.values()
    )


def test_the_environment_names_more() -> None:
    registry = load_registry({"DASKPERF_WORKLOADS": f" {HERE}:OWN , "})
    assert registry["mine"] is OWN


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no.such.module:X", "cannot be imported"),
        (f"{HERE}:MISSING", "cannot be imported"),
        ("nonsense", "cannot be imported"),
        (f"{HERE}:NOTHING", "is no workload"),
        (f"{HERE}:ILL_NAMED", "not a valid workload name"),
        (f"{HERE}:OWN,{HERE}:TWIN", "two workloads are named 'mine'"),
        (f"{HERE}:NO_VERSION", "version of workload 'mine' cannot be used"),
        (f"{HERE}:ODD_PARAMS", "params of workload 'mine' cannot be used"),
    ],
)
def test_what_cannot_be_taken_is_named(value: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_registry({"DASKPERF_WORKLOADS": value})


def test_an_installed_package_brings_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "brings_one.py").write_text(
        "from daskperf_tasks.workloads.integrate import Integrate\n"
        "IT = Integrate(name='brought', version=7)\n"
    )
    info = tmp_path / "brings_one-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brings-one\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[daskperf.workloads]\nbrought = brings_one:IT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert load_registry({})["brought"].version == 7
    finally:
        sys.modules.pop("brings_one", None)


@pytest.mark.parametrize(
    ("spec", "value", "says"),
    [
        (ParamSpec(kind=int, default=1), True, "not of type int"),
        (ParamSpec(kind=int, default=1), 1.0, "not of type int"),
        (ParamSpec(kind=int, default=1, minimum=0, maximum=5), 6, "above 5"),
        (ParamSpec(kind=int, default=1, minimum=0, maximum=5), -1, "below 0"),
        (ParamSpec(kind=bool, default=True), 1, "not of type bool"),
        (ParamSpec(kind=float, default=1.0), "1", "not of type float"),
        (ParamSpec(kind=float, default=1.0, minimum=0), float("nan"), "not finite"),
        (ParamSpec(kind=float, default=1.0), float("inf"), "not finite"),
        (ParamSpec(kind=float, default=1.0), 10**400, "too large for a number"),
        (ParamSpec(kind=int, default=1), 2**63, "too large for a number"),
        (ParamSpec(kind=int, default=1, maximum=5), 10**400, "more than 40 digits is above 5"),
    ],
)
def test_values_that_do_not_fit(spec: ParamSpec, value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        spec.check(value)


def test_whole_numbers_are_numbers() -> None:
    assert ParamSpec(kind=float, default=1.0).check(3) == 3.0


@pytest.mark.parametrize("what", ["import no_such_thing", "IT = 3", "raise SystemExit(3)"])
def test_a_broken_package_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tmp_path / "broken_one.py").write_text(f"{what}\n")
    info = tmp_path / "broken_one-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Broken.One\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[daskperf.workloads]\nmine = broken_one:IT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        registry = load_registry({})
        assert {"aggregates", "integrate"} <= set(registry)
        [why] = registry.broken
        assert "broken_one:IT" in why and "entry point 'mine' of Broken.One 1.0" in why
        # Asked for by name, it is an error of whoever asks.
        with pytest.raises(InputError, match="broken_one:IT"):
            load_registry({"DASKPERF_WORKLOADS": "broken_one:IT"})
        # Another version of the distribution is about to bring its own.
        assert load_registry({}, without=["broken-one"]).broken == ()
    finally:
        sys.modules.pop("broken_one", None)


def test_what_is_said_of_something_that_lacks_members() -> None:
    with pytest.raises(InputError, match="is no workload") as seen:
        load_registry({"DASKPERF_WORKLOADS": f"{HERE}:NOTHING"})
    assert "object without name, version" in str(seen.value)
