"""Which wheel a process imports: told by where the module lies and by the wheel's metadata.

A deployed wheel stands in a folder that is named after its sha256. What the
module says about itself (``__version__``) proves nothing and need not exist.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

_TRACEBACK_LINES = 15
_RELEASE = re.compile(r"(?P<release>\d+(?:\.\d+)*)(?P<rest>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an import of the subject gave in a process."""

    #: The module's file, or its folder when it has no file.
    location: str = ""
    #: Folder of the deployed wheel that the module lies in; empty: in none, or another one's.
    folder: str = ""
    #: Versions that the metadata there name; one, for a wheel's own folder.
    versions: tuple[str, ...] = ()
    #: Whether that wheel's folder is on the import path at all.
    on_path: bool = True
    #: End of the traceback when the import failed.
    error: str | None = None


def find_subject(import_name: str, sha256: str) -> Found:
    """Import the subject here and say what came.

    Parameters
    ----------
    sha256
        Of the deployed wheel, the name of its folder; empty: whatever is installed.
    """
    on_path = not sha256 or any(Path(p).name == sha256 for p in sys.path)
    try:
        module = importlib.import_module(import_name)
    except (Exception, SystemExit) as err:
        lines = "".join(traceback.format_exception(err)).strip().splitlines()
        return Found(on_path=on_path, error="\n".join(lines[-_TRACEBACK_LINES:]))
    file = getattr(module, "__file__", None)
    location = str(file or next(iter(getattr(module, "__path__", ())), ""))
    if not sha256:
        return Found(location=location, versions=_installed(import_name))
    folder = next((str(p) for p in Path(location).parents if p.name == sha256), "")
    versions = versions_in(folder) if folder else _installed(import_name)
    return Found(location=location, folder=folder, versions=versions, on_path=on_path)


def versions_in(folder: str) -> tuple[str, ...]:
    """Return the versions in the metadata that stand in a folder."""
    found = importlib.metadata.distributions(path=[folder])
    return tuple(sorted({str(d.version) for d in found}))


def _installed(import_name: str) -> tuple[str, ...]:
    """Return the versions of the distributions that bring a module, else what it says itself."""
    top = import_name.partition(".")[0]
    names = importlib.metadata.packages_distributions().get(top, [])
    versions = {importlib.metadata.version(name) for name in names}
    said = getattr(sys.modules.get(import_name), "__version__", None)
    if not versions and said is not None:
        versions = {str(said)}
    return tuple(sorted(versions))


def same_version(a: str, b: str) -> bool:
    """Return whether two spellings are one version (PEP 440).

    Where ``packaging`` is not installed, letter case and zeros at the end of
    the release are looked past, and nothing else.

    Examples
    --------
    >>> same_version("2.1", "2.1.0"), same_version("2.1", "2.1.1")
    (True, False)
    """
    try:
        from packaging.version import InvalidVersion, Version
    except ImportError:
        return plain_version(a) == plain_version(b)
    try:
        return Version(a) == Version(b)
    except InvalidVersion:
        return plain_version(a) == plain_version(b)


def plain_version(version: str) -> str:
    """Return a version in lower case, without zeros at the end of its release.

    Examples
    --------
    >>> plain_version("V2.1.0.dev1+Abc")
    '2.1.dev1+abc'
    """
    text = version.strip().lower().removeprefix("v")
    match = _RELEASE.fullmatch(text)
    if match is None:
        return text
    release = match["release"].split(".")
    while len(release) > 1 and not release[-1].strip("0"):
        release.pop()
    return ".".join(release) + match["rest"]
