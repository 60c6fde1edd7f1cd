"""Where wheels come from, and which one is the latest."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daskperf_tasks.deploy.wheel_facts import read_wheel, split_file_name
from daskperf_tasks.errors import WheelError
from daskperf_tasks.model.subject import Subject
from daskperf_tasks.store.filesystem import FilesystemStore
from daskperf_tasks.store.open import open_store
from daskperf_tasks.store.protocol import ArtifactStore

RULE = "highest version (PEP 440)"
RULE_TIES = "highest version (PEP 440), the newest of {n} files of that version"
BY_HAND = "given by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFile:
    """A wheel in a source, as its name tells."""

    #: File name.
    file: str
    #: Key in the source; ends with the file name.
    key: str
    name: str
    version: str
    #: Unix time of the last write.
    modified: float
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.file} ({self.version})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a source holds for a distribution."""

    wheels: tuple[WheelFile, ...]
    #: Files that are not considered, each with its reason.
    ignored: tuple[str, ...]


class WheelSource:
    """Wheels in a folder or below an ``s3://`` prefix, at any depth."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store

    @property
    def url(self) -> str:
        """Where it looks: a path, or ``s3://bucket/prefix``."""
        store = self._store
        return str(store.root) if isinstance(store, FilesystemStore) else store.url

    def survey(self, name: str) -> Survey:
        """Return the wheels of the distribution ``name`` that this Python can install."""
        wheels, ignored = [], []
        for stored in self._store.list(""):
            file = stored.key.rpartition("/")[2]
            if not file.endswith(".whl"):
                continue
            try:
                version = _fitting_version(file, name)
            except WheelError as err:
                ignored.append(f"{file}: {err.message}")
                continue
            wheels.append(
                WheelFile(
                    file=file,
                    key=stored.key,
                    name=name,
                    version=version,
                    modified=stored.modified,
                    size_bytes=stored.size_bytes,
                )
            )
        return Survey(wheels=tuple(wheels), ignored=tuple(ignored))

    def wheels(self, name: str) -> tuple[WheelFile, ...]:
        """Return the wheels of the distribution ``name``."""
        return self.survey(name).wheels

    def fetch(self, wheel: WheelFile) -> bytes:
        """Return a wheel's bytes."""
        return self._store.get(wheel.key)


def open_source(url: str, *, client_options: Mapping[str, Any] | None = None) -> WheelSource:
    """Return the wheel source at ``url``: a folder, ``file:///folder`` or ``s3://bucket/prefix``.

    Raises
    ------
    InputError
        When it is none of these.
    """
    return WheelSource(open_store(url, client_options=client_options))


def choose(
    wheels: Sequence[WheelFile],
    name: str,
    *,
    where: str | None = None,
    ignored: Sequence[str] = (),
) -> tuple[WheelFile, str, tuple[str, ...]]:
    """Pick the latest wheel: highest PEP 440 version, among equals the newest file.

    Returns
    -------
    wheel, chosen_by, passed_over
        The wheel, the rule in words, and the others, best first.

    Raises
    ------
    WheelError
        When there is none; says where was looked and what was ignored.
    """
    if not wheels:
        raise _no_wheel(name, where, ignored)
    first, *rest = ranked(wheels)
    same = sum(w.version == first.version for w in wheels)
    rule = RULE if same == 1 else RULE_TIES.format(n=same)
    return first, rule, tuple(map(str, rest))


def ranked(wheels: Sequence[WheelFile]) -> list[WheelFile]:
    """Return the wheels, latest first."""
    from packaging.version import Version

    return sorted(wheels, key=lambda w: (Version(w.version), w.modified, w.key), reverse=True)


def latest(source: WheelSource, name: str) -> tuple[Subject, bytes]:
    """Return the latest good wheel of a source with its bytes.

    A broken file does not stand in the way of the good ones: it is passed
    over, and ``passed_over`` says why.

    Raises
    ------
    WheelError
        When there is no good wheel.
    """
    survey = source.survey(name)
    ignored = list(survey.ignored)
    candidates = ranked(survey.wheels)
    while candidates:
        wheel, rule, others = choose(candidates, name)
        data = source.fetch(wheel)
        try:
            subject = subject_of(
                wheel.file,
                data,
                source=source.url,
                chosen_by=rule,
                passed_over=(*others, *(f"ignored {i}" for i in ignored)),
            )
        except WheelError as err:
            ignored.append(f"{wheel.file}: {err.message}")
            candidates.remove(wheel)
            continue
        return subject, data
    raise _no_wheel(name, source.url, ignored)


def wheel_by_hand(path: Path | str) -> tuple[Subject, bytes]:
    """Return the wheel at a path that somebody gave.

    Raises
    ------
    WheelError
        When there is none, it is not a good wheel, or it is for another
        platform or Python.
    """
    path = Path(path).expanduser().absolute()
    try:
        data = path.read_bytes()
    except OSError as err:
        raise WheelError(
            "the wheel cannot be read",
            where=str(path),
            found=err.strerror,
            todo="give the path of a .whl file",
        ) from err
    subject = subject_of(path.name, data, source=str(path.parent), chosen_by=BY_HAND)
    built_for = _built_for_others(path.name)
    if built_for:
        raise WheelError(
            "the wheel cannot be installed by this Python",
            where=str(path),
            expected=f"a wheel for {_this_python()}",
            found=f"one for {built_for}",
            todo="build it for this platform and Python; the local environments run it here",
        )
    return subject, data


def subject_of(
    file: str | Path | WheelFile,
    data: bytes,
    *,
    source: str,
    chosen_by: str,
    passed_over: Sequence[str] = (),
) -> Subject:
    """Return what a wheel's bytes say about it.

    Parameters
    ----------
    file
        Its name (of a path only the last part counts).
    data
        Its bytes.
    source, chosen_by, passed_over
        How it was found, for the record.

    Raises
    ------
    WheelError
        When it is no wheel, is damaged, does not match its name, or holds
        paths that would leave the folder it is unpacked into.
    """
    file_name = file.file if isinstance(file, WheelFile) else Path(file).name
    facts = read_wheel(file_name, data)
    return Subject(
        name=facts.name,
        version=facts.version,
        sha256=facts.sha256,
        file=file_name,
        size_bytes=len(data),
        import_name=facts.import_name,
        source=source,
        chosen_by=chosen_by,
        passed_over=tuple(passed_over),
    )


def _fitting_version(file: str, name: str) -> str:
    """Return the version of a wheel file of ``name`` that this Python can install."""
    from packaging.utils import canonicalize_name

    parsed = split_file_name(file)
    if parsed.name != canonicalize_name(name):
        raise WheelError(f"another distribution ({parsed.name})")
    built_for = _built_for_others(file)
    if built_for:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise WheelError(f"built for {built_for}, not for this Python {python}")
    return parsed.version


def _built_for_others(file: str) -> str:
    """Return the tags of a wheel file that this Python cannot install, else nothing."""
    from packaging.tags import sys_tags

    tags = split_file_name(file).tags
    return ", ".join(sorted(map(str, tags))) if tags.isdisjoint(sys_tags()) else ""


def _this_python() -> str:
    from packaging.tags import sys_tags

    return str(next(iter(sys_tags())))


def _no_wheel(name: str, where: str | None, ignored: Sequence[str]) -> WheelError:
    return WheelError(
        f"there is no wheel of {name}",
        where=where,
        found=f"ignored: {'; '.join(ignored)}" if ignored else "no .whl file",
        todo="build one into it (`make nightly` builds daskperf-kernels), point DASKPERF_WHEELS "
        "to a folder or s3:// prefix that has one, or give a file with --subject (in a DAG's form: "
        "`wheel`)",
    )
