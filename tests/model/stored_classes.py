"""Every class that is stored as a document of its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import daskperf_tasks.model
import daskperf_tasks.publish.marker
from daskperf_tasks.model.codec import Stored

for _module in pkgutil.iter_modules(daskperf_tasks.model.__path__, "daskperf_tasks.model."):
    importlib.import_module(_module.name)


def _below(cls: type) -> Iterator[type[Stored]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _below(sub)


#: What a round's measuring process is told; it is never stored, and read by its own version.
_MESSAGES = ("daskperf.round",)

# A dataclass with slots is made twice, and the first make lingers among the subclasses.
STORED: tuple[type[Stored], ...] = tuple(
    sorted(
        {
            getattr(importlib.import_module(c.__module__), c.__name__)
            for c in _below(Stored)
            if c.__module__.startswith("daskperf_tasks.") and c.SCHEMA not in _MESSAGES
        },
        key=lambda c: c.SCHEMA,
    )
)
