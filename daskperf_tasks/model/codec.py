"""JSON for the artifacts: versioned, strict, loadable for ever.

Every document starts with its schema and version::

    {"schema": "daskperf.plan", "version": 1, ...}

A class that is stored declares ``SCHEMA`` and ``VERSION``. When its layout
changes, ``VERSION`` goes up and one upgrade step is registered for the old
version; ``loads`` applies the steps one after the other.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, TypeVar

from daskperf_tasks.errors import SchemaError

T = TypeVar("T")
Document = dict[str, Any]
Upgrade = Callable[[Document], Document]

_UPGRADES: dict[tuple[str, int], Upgrade] = {}


class Stored:
    """Mixin of the classes that are stored as documents of their own."""

    __slots__ = ()
    SCHEMA: ClassVar[str]
    VERSION: ClassVar[int]


def register_upgrade(schema: str, from_version: int) -> Callable[[Upgrade], Upgrade]:
    """Register the step that turns ``from_version`` of ``schema`` into the next."""

    def keep(step: Upgrade) -> Upgrade:
        _UPGRADES[schema, from_version] = step
        return step

    return keep


def encode(value: Any) -> Any:
    """Turn dataclasses, tuples and mappings into plain JSON values.

    Raises
    ------
    SchemaError
        For a NaN or an infinity: a missing figure is stored as its reason
        (:class:`daskperf_tasks.model.measured.Missing`), never as a number.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, str):
        # Half of a surrogate pair, as undecodable file names have, is no text in UTF-8.
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SchemaError(
                "a number that is not finite cannot be stored",
                found=repr(value),
                todo="store a Missing with its reason instead",
            )
        return value
    raise SchemaError("a value of this type cannot be stored", found=type(value).__name__)


def dumps(obj: Stored) -> str:
    """Write a stored object as an indented JSON document with its schema and version."""
    body = {"schema": obj.SCHEMA, "version": obj.VERSION, **encode(obj)}
    return json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str | bytes, cls: type[T], *, where: str | None = None) -> T:
    """Read a document as ``cls``, upgrading older versions step by step.

    Parameters
    ----------
    text
        The JSON document.
    cls
        A class with ``SCHEMA`` and ``VERSION``.
    where
        The key or path it came from, for the error.

    Raises
    ------
    SchemaError
        When it is no JSON, another schema, newer than this daskperf, or
        does not fit the class.
    """
    try:
        doc = json.loads(text)
    except ValueError as err:
        raise SchemaError(
            "the artifact is no JSON document",
            where=where,
            found=str(err),
            todo="check it with `daskperf verify RUN`; derived artifacts come back with "
            "`daskperf rebuild RUN`",
        ) from err
    schema, version = cls.SCHEMA, cls.VERSION  # type: ignore[attr-defined]
    if not isinstance(doc, dict) or doc.get("schema") != schema:
        found = doc.get("schema", "no schema") if isinstance(doc, dict) else type(doc).__name__
        raise SchemaError(
            "the artifact is of another kind", where=where, expected=schema, found=str(found)
        )
    have = doc.get("version")
    if not isinstance(have, int) or isinstance(have, bool) or have < 1:
        raise SchemaError(
            "the artifact has no valid version", where=where, expected="1 or more", found=repr(have)
        )
    if have > version:
        raise SchemaError(
            f"{schema} was written by a newer daskperf",
            where=where,
            expected=f"version {version} or older",
            found=f"version {have}",
            todo="upgrade daskperf to read it",
        )
    while have < version:
        step = _UPGRADES.get((schema, have))
        if step is None:
            raise SchemaError(
                f"no upgrade step from version {have} of {schema}",
                where=where,
                todo="this is a defect of daskperf: every version ever written must load",
            )
        doc = step(doc)
        have += 1
    body = {k: v for k, v in doc.items() if k not in ("schema", "version")}
    return typing.cast(T, decode(body, cls, path=where or schema))


def decode(value: Any, hint: Any, *, path: str = "$") -> Any:
    """Build a value of the type ``hint`` from plain JSON values.

    Raises
    ------
    SchemaError
        Naming the path inside the document, what was expected and found.
    """
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if hint is Any or hint is object:
        return value
    if origin is Literal:
        if value not in args:
            raise _misfit(path, " or ".join(map(repr, args)), value)
        return value
    if origin in (typing.Union, types.UnionType):
        return _decode_union(value, args, path)
    if origin is tuple:
        return _decode_tuple(value, args, path)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _misfit(path, "an object", value)
        return {k: decode(v, args[1], path=f"{path}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _decode_dataclass(value, hint, path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is type(None) or hint is None:
        if value is None:
            return None
        raise _misfit(path, "null", value)
    if isinstance(hint, type) and isinstance(value, hint):
        if isinstance(value, bool) and hint is not bool:
            raise _misfit(path, hint.__name__, value)
        return value
    raise _misfit(path, getattr(hint, "__name__", str(hint)), value)


def _decode_union(value: Any, args: tuple[Any, ...], path: str) -> Any:
    if value is None and type(None) in args:
        return None
    classes: list[Any] = [a for a in args if dataclasses.is_dataclass(a)]
    mappings = [a for a in args if _is_mapping(a)]
    if isinstance(value, dict) and mappings:
        # A mapping or a class such as Missing: the class where it fits exactly.
        for cls in classes:
            if set(value) == {f.name for f in dataclasses.fields(cls)}:
                try:
                    return decode(value, cls, path=path)
                except SchemaError:
                    continue
        return decode(value, mappings[0], path=path)
    if isinstance(value, dict) and classes:
        for cls in classes:
            names = {f.name for f in dataclasses.fields(cls)}
            kind = _hints(cls).get("kind")
            if kind is not None and value.get("kind") in typing.get_args(kind):
                return decode(value, cls, path=path)
            if kind is None and set(value) <= names:
                return decode(value, cls, path=path)
        raise _misfit(path, " or ".join(c.__name__ for c in classes), value)
    plain = [a for a in args if a not in classes and a is not type(None)]
    # bool before int before float: JSON tells them apart, Python's isinstance does not.
    for want in sorted(
        plain, key=lambda a: (bool, int, float).index(a) if a in (bool, int, float) else 9
    ):
        try:
            return decode(value, want, path=path)
        except SchemaError:
            continue
    raise _misfit(path, " or ".join(getattr(a, "__name__", str(a)) for a in args), value)


def _is_mapping(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _decode_tuple(value: Any, args: tuple[Any, ...], path: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _misfit(path, "a list", value)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(decode(v, args[0], path=f"{path}[{i}]") for i, v in enumerate(value))
    if len(value) != len(args):
        raise _misfit(path, f"a list of {len(args)}", value)
    return tuple(
        decode(v, a, path=f"{path}[{i}]") for i, (v, a) in enumerate(zip(value, args, strict=True))
    )


def _decode_dataclass(value: Any, cls: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise _misfit(path, f"an object ({cls.__name__})", value)
    hints = _hints(cls)
    known = {f.name: f for f in dataclasses.fields(cls)}
    extra = sorted(set(value) - set(known))
    if extra:
        raise SchemaError(
            f"unknown field in {cls.__name__}",
            where=path,
            found=", ".join(extra),
            expected=", ".join(sorted(known)),
        )
    kwargs = {}
    for name, f in known.items():
        if name in value:
            kwargs[name] = decode(value[name], hints[name], path=f"{path}.{name}")
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise SchemaError(f"a field of {cls.__name__} is missing", where=path, expected=name)
    return cls(**kwargs)


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _misfit(path: str, expected: str, value: Any) -> SchemaError:
    shown = repr(value)
    return SchemaError(
        "the artifact does not fit its schema",
        where=path,
        expected=expected,
        found=shown if len(shown) <= 80 else shown[:77] + "...",
    )


def canonical_hash(value: Any) -> str:
    """Return the sha256 (hex) of a value's canonical JSON: same content, same hash."""
    text = json.dumps(encode(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
