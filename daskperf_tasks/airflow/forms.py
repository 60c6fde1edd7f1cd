"""What a DAG run may be asked for: the form, and the refusal of what it does not know."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import Param

from daskperf_tasks.errors import InputError
from daskperf_tasks.plan.experiments.kinds import KINDS
from daskperf_tasks.plan.experiments.option import Option
from daskperf_tasks.plan.experiments.single import USUAL_REPEATS, USUAL_ROUNDS
from daskperf_tasks.plan.limits import EXPERIMENT_VALUES, REPEATS, ROUNDS, Limits
from daskperf_tasks.settings import read_settings
from daskperf_tasks.workloads.aggregates import AGGREGATES

#: Keys of a run's conf, in the order of the form.
KEYS = ("matrix", "n", "repeats", "wheel", "against", "scheduler")


def matrix_names(folder: Path) -> list[str]:
    """Return the names of the matrix files in a folder, sorted.

    Parameters
    ----------
    folder
        Looked at without reading the files: a DAG is parsed every few seconds.
    """
    return sorted(path.stem for path in folder.glob("*.toml"))


def run_params() -> dict[str, Param]:
    """Return the form's fields with their limits and defaults."""
    names = matrix_names(read_settings().matrix_dir) or ["nightly"]
    size = AGGREGATES.params["n"]  # planning asks the workload of the matrix again
    default = "nightly" if "nightly" in names else names[0]
    return {
        "matrix": Param(
            default,
            type="string",
            enum=names,
            title="Matrix",
            description_md="What is measured: a file of the folder `matrix/`.",
            section="What",
        ),
        "n": Param(
            None,
            type=["null", "array"],
            items={"type": "integer", "minimum": size.minimum, "maximum": size.maximum},
            minItems=1,
            uniqueItems=True,
            examples=[128, 256, 512],
            title="N",
            description_md="Sizes (monomers in a cluster) instead of the matrix's own, "
            f"{size.limits}, for example `[128, 256]`. Empty: as the matrix says.",
            section="What",
        ),
        "repeats": Param(
            None,
            type=["null", "integer"],
            minimum=REPEATS.low,
            maximum=REPEATS.high,
            title="Repeats",
            description_md="Measured repeats in each block. Empty: as the matrix says.",
            section="What",
        ),
        "wheel": _wheel(),
        "against": Param(
            None,
            type=["null", "string"],
            minLength=1,
            title="Against",
            description_md="Path of a wheel that is measured in the same run for comparison, or "
            "`none`. Empty: the wheel of the last accepted run.",
            section="Subject",
        ),
        "scheduler": _scheduler(),
    }


def experiment_params(kind: str) -> dict[str, Param]:
    """Return the fields of the form of one experiment: its options, then the common ones."""
    fields = {option.name: _field(option) for option in KINDS[kind].options}
    return fields | {
        "rounds": _count("Rounds", ROUNDS, USUAL_ROUNDS, "Passes, each in a fresh process."),
        "repeats": _count("Repeats", REPEATS, USUAL_REPEATS, "Measured repeats in each block."),
        "wheel": _wheel(),
        "scheduler": _scheduler(),
    }


def _field(option: Option) -> Param:
    one: dict[str, Any] = {"type": "string", "minLength": 1}
    if option.limits is not None:
        one = {"type": "integer", "minimum": option.limits.low, "maximum": option.limits.high}
    if option.choices:
        one["enum"] = list(option.choices)
    title = option.name.replace("_", " ").capitalize()
    about = {"title": title, "description_md": option.described, "section": "What"}
    if option.many:
        return Param(
            None,
            type=["null", "array"],
            items=one,
            minItems=1,
            maxItems=EXPERIMENT_VALUES,
            uniqueItems=True,
            **about,
        )
    if option.choices:
        one["enum"].append(None)
    return Param(None, **{**one, "type": ["null", one["type"]]}, **about)


def _count(title: str, allowed: Limits, usual: int, about: str) -> Param:
    return Param(
        None,
        type=["null", "integer"],
        minimum=allowed.low,
        maximum=allowed.high,
        title=title,
        description_md=f"{about} Empty: {usual}.",
        section="How often",
    )


def _wheel() -> Param:
    return Param(
        None,
        type=["null", "string"],
        minLength=1,
        title="Wheel",
        description_md="Path of the wheel under test. Empty: the latest wheel of the wheel source.",
        section="Subject",
    )


def _scheduler() -> Param:
    return Param(
        None,
        type=["null", "string"],
        pattern=r"^(tcp|tls|ws|wss|ucx)://[^\s/]+:[0-9]{1,5}$",
        title="Scheduler",
        description_md="Address of the Dask scheduler, for example `tcp://10.0.0.5:8786`. Empty: "
        "the lane file's.",
        section="Where",
    )


def check_conf(conf: Mapping[str, Any] | None, known: Iterable[str] = KEYS) -> None:
    """Refuse keys that no field of the form has.

    Airflow checks the values of the keys it knows and keeps the others
    without a word; a misspelt key would measure the default.

    Raises
    ------
    InputError
        Naming each unknown key with the nearest valid one.
    """
    valid = tuple(known)
    unknown = [key for key in (conf or {}) if key not in valid]
    if not unknown:
        return
    hints = []
    for key in unknown:
        near = difflib.get_close_matches(str(key), valid, n=1, cutoff=0.5)
        hints.append(f"{key!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    raise InputError(
        "the run was asked for with a key that it does not know",
        where="conf of the DAG run",
        expected="keys out of " + ", ".join(valid),
        found=", ".join(hints),
        todo="trigger it again with the right key; nothing was touched",
    )
