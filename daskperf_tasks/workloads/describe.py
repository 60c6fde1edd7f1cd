"""Says what workloads are: ``python -m daskperf_tasks.workloads.describe``.

Planning must know the workloads of a wheel that is not installed here. Their code
is run in this process, which ends when planning is done, and never in the
orchestrator's. Questions (:mod:`daskperf_tasks.workloads.questions`) are such::

    {"load": {"words": "mypackage.words:WORDS"}}    name of the entry point -> what it names
    {"ask": "words", "method": "own_units", "params": {"n": 3}}
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.workloads.protocol import ParamSpec, Workload, libraries_of
from daskperf_tasks.workloads.questions import answer_questions
from daskperf_tasks.workloads.registry import load_workload

KINDS: Mapping[str, type] = {"int": int, "float": float, "str": str, "bool": bool}


def described(workload: Workload) -> dict[str, Any]:
    """Return what planning must know of a workload, as JSON holds it.

    Raises
    ------
    InputError
        When a member is not what the protocol says.
    """
    params = {}
    for name, spec in dict(workload.params).items():
        if not isinstance(spec, ParamSpec) or spec.kind not in KINDS.values():
            raise _wrong(workload, f"params[{name!r}]", "a ParamSpec of int, float, str or bool")
        spec.check(spec.default)
        params[name] = {
            "kind": spec.kind.__name__,
            "default": spec.default,
            "choices": list(spec.choices),
            "minimum": spec.minimum,
            "maximum": spec.maximum,
        }
    if not isinstance(workload.unit, str) or not workload.unit:
        raise _wrong(workload, "unit", "a word in the singular")
    modules = {"requires": workload.requires, "libraries": libraries_of(workload)}
    for member, names in modules.items():
        if isinstance(names, str) or not all(isinstance(n, str) for n in names):
            raise _wrong(workload, member, "a tuple of import names")
    return {
        "name": workload.name,
        "version": workload.version,
        "unit": workload.unit,
        "requires": list(workload.requires),
        "libraries": list(libraries_of(workload)),
        "params": params,
        "counts_units": getattr(workload, "own_units", None) is not None,
    }


def _wrong(workload: Workload, member: str, expected: str) -> InputError:
    return InputError(
        f"workload {workload.name!r}: {member} is not what it must be", expected=expected
    )


def answer(question: Mapping[str, Any], loaded: dict[str, Workload]) -> Any:
    """Answer one question; ``loaded`` keeps the workloads by name."""
    if "load" in question:
        found = []
        for point, spec in question["load"].items():
            workload = load_workload(spec, f"entry point {point!r} of the wheel")
            if workload.name in loaded:
                raise InputError(
                    f"two workloads of the wheel are named {workload.name!r}",
                    todo="rename one of them",
                )
            loaded[workload.name] = workload
            found.append(described(workload))
        return found
    workload = loaded[question["ask"]]
    params: dict[str, Scalar] = question["params"]
    value = getattr(workload, question["method"])(params)
    return operator.index(value) if question["method"] == "own_units" else float(value)


def says(err: BaseException) -> str:
    """Word an exception; errors of ours say themselves what they are."""
    return str(err) if isinstance(err, InputError) else f"{type(err).__name__}: {err}"


if __name__ == "__main__":
    loaded_here: dict[str, Workload] = {}
    answer_questions(lambda question: answer(question, loaded_here), says)
