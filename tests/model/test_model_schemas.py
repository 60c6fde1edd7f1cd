"""One file of every schema version ever written is kept, and loads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daskperf_tasks.model.codec import Stored, dumps, loads
from tests.model.stored_classes import STORED

FILES = Path(__file__).parent.parent / "data" / "schemas"
_WRITTEN = [
    pytest.param(cls, version, id=f"{cls.SCHEMA}-v{version}")
    for cls in STORED
    for version in range(1, cls.VERSION + 1)
]


def file_of(cls: type[Stored], version: int) -> Path:
    return FILES / f"{cls.SCHEMA.removeprefix('daskperf.')}-v{version}.json"


@pytest.mark.parametrize(("cls", "version"), _WRITTEN)
def test_every_version_ever_written_loads(cls: type[Stored], version: int) -> None:
    text = file_of(cls, version).read_text(encoding="utf-8")
    document = json.loads(text)
    assert (document["schema"], document["version"]) == (cls.SCHEMA, version)
    value = loads(text, cls)
    assert isinstance(value, cls)
    assert loads(dumps(value), cls) == value


@pytest.mark.parametrize("cls", STORED, ids=lambda c: c.SCHEMA)
def test_the_current_version_is_written_as_the_kept_file(cls: type[Stored]) -> None:
    text = file_of(cls, cls.VERSION).read_text(encoding="utf-8")
    written, kept = json.loads(dumps(loads(text, cls))), json.loads(text)
    # Fields with a default may have come since; none may have gone or changed.
    assert {k: written.get(k) for k in kept} == kept


def test_no_schema_is_claimed_twice_and_no_file_is_left_over() -> None:
    assert len({c.SCHEMA for c in STORED}) == len(STORED) >= 15
    expected = {file_of(c, v).name for c in STORED for v in range(1, c.VERSION + 1)}
    assert {f.name for f in FILES.iterdir()} == expected
