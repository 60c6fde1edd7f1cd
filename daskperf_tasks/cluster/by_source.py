"""Functions that travel to other processes as source text.

What looks at a foreign process must not depend on what is installed there: a
worker may lack daskperf, have another version of it, or run another Python, for
which pickled bytecode is no use. So the source of a function's module is sent,
together with the modules of daskperf that it imports from, and is compiled
where it arrives.

Modules whose functions are sent this way import the standard library at their
top, and each other only as ``from daskperf_tasks.x.y import name``.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from daskperf_tasks.errors import HarnessError

_OURS = "daskperf_tasks."


class Sent:
    """Stands for a function; unpickles as the function itself, made from source."""

    def __init__(self, function: Callable[..., Any]) -> None:
        module = inspect.getmodule(function)
        if module is None or getattr(module, function.__name__, None) is not function:
            raise HarnessError(
                "only functions at the top level of a module can be sent by source",
                found=repr(function),
            )
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self._expression = _expression(module.__name__, function.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function as it arrives elsewhere (what the other side does)."""
        return eval(self._expression)(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, (self._expression,))


@functools.cache
def _expression(module: str, name: str) -> str:
    sources = _sources(importlib.import_module(module), {})
    steps = "".join(
        f"exec(compile({text!r}, {'<sent> ' + where!r}, 'exec'), ns), "
        for where, text in sources.items()
    )
    return f"(lambda ns: ({steps}ns[{name!r}])[-1])({{'__name__': 'daskperf_sent'}})"


def _sources(module: ModuleType, found: dict[str, str]) -> dict[str, str]:
    """Return module name -> source without imports of ours, what is needed first."""
    tree = ast.parse(inspect.getsource(module))
    body: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS):
            needed = str(node.module)
            if any(alias.asname for alias in node.names):
                raise HarnessError(
                    "a module that is sent by source renames an import of ours",
                    where=f"{module.__name__}, line {node.lineno}",
                )
            if needed not in found:
                _sources(importlib.import_module(needed), found)
        else:
            body.append(node)
    tree.body = body
    found[module.__name__] = ast.unparse(tree)
    return found
