"""The text of a matrix file, and its TOML, without asking yet what it means."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from daskperf_tasks.errors import MatrixError
from daskperf_tasks.plan.limits import FILE_BYTES

_AT_LINE = re.compile(r"^(.*?) \(at (?:line (\d+), column \d+|end of document)\)$")
_PART = r"""[\w \t'"-]{1,200}"""
#: A key of so many parts that reading it may take the parser minutes.
_LONG_KEY = re.compile(
    rf"(?:^[ \t]{{0,40}}\[{{0,2}}|[{{,]){_PART}(?:\.{_PART}){{16}}", re.MULTILINE
)
_LONG_NUMBER = re.compile(r"[0-9_]{4000}")


def read_matrix(path: Path) -> str:
    """Return the text of a matrix file; a byte order mark is left out.

    Raises
    ------
    MatrixError
        When it cannot be read, is no file, is too large, or is not UTF-8.
    """
    if path.is_dir():
        raise MatrixError("a matrix file is a folder", where=str(path), expected="a TOML file")
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES + 1)
    except OSError as err:
        raise MatrixError(
            "a matrix file cannot be read",
            where=str(path),
            found=err.strerror or type(err).__name__,
            todo="check its name and its permissions",
        ) from err
    if len(data) > FILE_BYTES:
        raise _too_large(str(path), None)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        raise MatrixError(
            f"{path}:{line}: not UTF-8",
            expected="a text file in UTF-8, as TOML asks for",
            found=f"byte 0x{data[err.start]:02x} at position {err.start} of the file",
            todo="save it as UTF-8",
        ) from err
    return text.replace("\r\n", "\n")


def _too_large(where: str, size: int | None) -> MatrixError:
    return MatrixError(
        "a matrix file is too large",
        where=where,
        expected=f"at most {FILE_BYTES:,} bytes",
        found="more" if size is None else f"{size:,} bytes",
        todo="is this the right file?",
    )


def parse_matrix(text: str, where: str) -> dict[str, Any]:
    """Return the document of a matrix file.

    Raises
    ------
    MatrixError
        Naming the line, when the text is too large or not TOML.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES:
        raise _too_large(where, size)

    def wrong(line: int, what: str) -> MatrixError:
        return MatrixError(
            f"{where}:{line}: not valid TOML: {what}",
            todo="correct that line; strings need quotes, lists brackets and commas",
        )

    if long := _LONG_KEY.search(text):
        raise wrong(text.count("\n", 0, long.start()) + 1, "a key of more than 16 parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        match = _AT_LINE.match(str(err))
        what = match[1] if match else str(err)
        line = int(match[2]) if match and match[2] else text.count("\n") + 1
        raise wrong(line, f"{what[:1].lower()}{what[1:200]}") from err
    except RecursionError as err:
        raise wrong(1, "lists or tables are nested too deeply") from err
    except ValueError as err:  # Python refuses to read numbers of thousands of digits
        found = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        raise wrong(line, "a number of thousands of digits" if found else f"{err}") from err
