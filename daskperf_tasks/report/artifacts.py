"""The files of a run, sorted for people: what was derived, and the raw ones by folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daskperf_tasks.model.results import FileEntry

#: Holds the hashes of all files.
MANIFEST = "manifest.json"
#: Folders of raw artifacts: many small files that are read by programs.
RAW = ("blocks/", "streams/", "logs/", "stages/")
#: Written after the list is made, so a list can hold neither their sizes nor their hashes.
LATER = ("report.html", "notes.md", MANIFEST)
#: What people look for, first.
_FIRST = (
    "verdicts.json",
    "comparison.json",
    "diagnosis.json",
    "local/summary.json",
    "remote/summary.json",
    "local/performance_report.html",
    "remote/performance_report.html",
    "local/timeline.html",
    "remote/timeline.html",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFolder:
    """All files of one folder of raw artifacts."""

    #: With its slash.
    name: str
    files: tuple[FileEntry, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all its files."""
        return sum(f.size_bytes for f in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedArtifacts:
    """Derived and single files in the order of interest, raw ones by folder."""

    derived: tuple[FileEntry, ...]
    raw: tuple[RawFolder, ...]

    @property
    def raw_count(self) -> int:
        """How many raw files there are."""
        return sum(len(f.files) for f in self.raw)

    @property
    def raw_bytes(self) -> int:
        """The size of all raw files."""
        return sum(f.size_bytes for f in self.raw)


def sort_artifacts(files: Iterable[FileEntry]) -> SortedArtifacts:
    """Sort a run's files for reading; those of :data:`LATER` are left out.

    Examples
    --------
    >>> names = ("blocks/a.json", "plan.json", "notes.md", "verdicts.json")
    >>> found = sort_artifacts(FileEntry(key=n, size_bytes=1, sha256="") for n in names)
    >>> [f.key for f in found.derived], [f.name for f in found.raw]
    (['verdicts.json', 'plan.json'], ['blocks/'])
    """
    rest, raw = [], dict[str, list[FileEntry]]()
    for f in files:
        if f.key in LATER:
            continue
        folder = next((r for r in RAW if f.key.startswith(r)), None)
        if folder is None:
            rest.append(f)
        else:
            raw.setdefault(folder, []).append(f)
    rank = {name: i for i, name in enumerate(_FIRST)}
    return SortedArtifacts(
        derived=tuple(sorted(rest, key=lambda f: (rank.get(f.key, len(rank)), f.key))),
        raw=tuple(
            RawFolder(name=r, files=tuple(sorted(raw[r], key=lambda f: f.key)))
            for r in RAW
            if r in raw
        ),
    )
