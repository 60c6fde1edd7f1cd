"""Where the keys of a TOML text stand: the line numbers that ``tomllib`` does not keep.

Works on a text that ``tomllib`` has read without complaint, so it only has to
tell keys from values, and may trust that brackets and quotes are closed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

#: Keys and, for elements of arrays of tables, their index: ``("workload", 0, "params", "n")``.
Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r]|#[^\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^,\]}\n#]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def key_lines(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every table header and key.

    Parameters
    ----------
    text
        Valid TOML.

    Examples
    --------
    >>> key_lines('[matrix]\\nname = "x"\\n[[workload]]\\nunits = 3')
    {('matrix',): 1, ('matrix', 'name'): 2, ('workload', 0): 3, ('workload', 0, 'units'): 4}
    """
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}
        #: Where each line starts: counting the breaks anew for every key would be quadratic.
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        while True:
            self.skip(_BLANK_LINES)
            if self.at >= len(self.text):
                return self.lines
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> Path:
        line = self.line()
        array = self.text.startswith("[[", self.at)
        self.at += 2 if array else 1
        keys = self.dotted()
        self.at += 2 if array else 1
        path = self.resolve(keys, new_element=array)
        self.lines.setdefault(path, line)
        return path

    def resolve(self, keys: tuple[str, ...], *, new_element: bool) -> Path:
        """Put in the index of the current element wherever a key names an array of tables."""
        path: Path = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            if new_element and i == len(keys) - 1:
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def pair(self, table: Path) -> None:
        line = self.line()
        path = (*table, *self.dotted())
        self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self.skip(_BLANK)
        self.value(path)

    def value(self, path: Path) -> None:
        first = self.text[self.at]
        if first in "\"'":
            self.string()
        elif first == "[":
            self.at += 1
            index = 0
            while self.more("]"):
                self.lines.setdefault((*path, index), self.line())
                self.value((*path, index))
                index += 1
        elif first == "{":
            self.at += 1
            while self.more("}"):
                self.pair(path)
        else:
            self.skip(_PLAIN)

    def more(self, end: str) -> bool:
        """Go to the next element of an array or inline table; False at its end."""
        self.skip(_BLANK_LINES)
        if self.text[self.at] == ",":
            self.at += 1
            self.skip(_BLANK_LINES)
        if self.text[self.at] == end:
            self.at += 1
            return False
        return True

    def dotted(self) -> tuple[str, ...]:
        keys = []
        while True:
            self.skip(_BLANK)
            if self.text[self.at] in "\"'":
                keys.append(self.string())
            else:
                bare = _BARE.match(self.text, self.at)
                if bare is None:  # not the valid TOML that was promised: go on, find nothing
                    self.at += 1
                    return tuple(keys)
                keys.append(bare[0])
                self.at = bare.end()
            self.skip(_BLANK)
            if self.text[self.at : self.at + 1] != ".":
                return tuple(keys)
            self.at += 1

    def string(self) -> str:
        quote = self.text[self.at]
        mark = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        start = end = self.at + len(mark)
        while not self.text.startswith(mark, end):
            end += 2 if quote == '"' and self.text[end] == "\\" else 1
        self.at = end + len(mark)
        if len(mark) == 3:  # up to two more quotes may belong to the text
            while self.text.startswith(quote, self.at):
                self.at += 1
        return _ESCAPE.sub(r"\1", self.text[start:end]) if quote == '"' else self.text[start:end]

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def line(self) -> int:
        return bisect_right(self.starts, self.at)


def line_of(lines: dict[Path, int], path: tuple[Any, ...]) -> int:
    """Return the line of a path, or of the nearest table around it, or 1."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1
