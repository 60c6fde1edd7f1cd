"""The documents of a run as rows: can each be stored and read back, and is it of this run?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daskperf_tasks.errors import SchemaError
from daskperf_tasks.model.codec import Stored, dumps, loads

Row = dict[str, Any]


def not_finite(value: Any, path: str = "") -> Iterator[str]:
    """Yield where in a document a number is NaN or infinite.

    Examples
    --------
    >>> list(not_finite({"a": [1.0, float("nan")]}))
    ['a[1]']
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            yield path
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from not_finite(getattr(value, field.name), f"{path}.{field.name}".lstrip("."))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from not_finite(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            yield from not_finite(inner, f"{path}[{index}]")


def document_rows(run_id: str, documents: Iterable[tuple[str, Stored | None]]) -> list[Row]:
    """Return a row a document: what it is, whether it reads back equal, where it has no number.

    Parameters
    ----------
    run_id
        The run that all of them must be of.
    documents
        Name and object; None for one that the run did not leave.
    """
    return [_row(run_id, name, document) for name, document in documents]


def _row(run_id: str, name: str, document: Stored | None) -> Row:
    if document is None:
        return {
            "what": name,
            "present": False,
            "run_id": run_id,
            "not_finite": "",
            "reads_back": "yes",
        }
    holes = list(not_finite(document))
    return {
        "what": name,
        "present": True,
        # Documents of the lane carry no run id: what they are of is where they lie.
        "run_id": getattr(document, "run_id", run_id),
        "not_finite": ", ".join(holes[:5]),
        "reads_back": "yes" if holes else _reads_back(document),
    }


def _reads_back(document: Stored) -> str:
    try:
        same = loads(dumps(document), type(document)) == document
    except SchemaError as err:
        return f"{document.SCHEMA} version {document.VERSION}: {err.message} ({err.where})"
    return "yes" if same else f"{document.SCHEMA} version {document.VERSION}: reads back otherwise"
