"""How a stage went: its time and, where it failed, why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from daskperf_tasks.model.codec import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord(Stored):
    """The latest try at a stage (``stages/<name>.json``)."""

    SCHEMA: ClassVar[str] = "daskperf.stage"
    VERSION: ClassVar[int] = 1

    name: str
    started_at: str
    seconds: float
    outcome: Literal["done", "failed"]
    #: Whose fault (``input``, ``infra``, ``product``, ``harness``) and what, when it failed.
    fault: str | None = None
    error: str | None = None
