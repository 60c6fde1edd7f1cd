"""Text documents made from a seed, where the tasks run; and a plain reading of them.

Words are pronounceable (one to three syllables of two letters), their frequencies
follow Zipf's law as Mandelbrot has it, ``1 / (rank + 2.7)``. A document depends on the
seed, its field and its number alone: the corpus is the same however it is cut. Only raw
bits of NumPy's Philox are used, which stay the same in all its versions.

The other half is for checks: words, their hashes and a digest of sparse rows, in
plain Python, so that scikit-learn is not compared with itself.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.errors import InputError
from daskperf_tasks.model.ids import Scalar
from daskperf_tasks.workloads.protocol import ParamSpec

_VOCABULARY = 20_000
_SYLLABLES = tuple(c + v for c in "bcdfghjklmnprstvwxyz" for v in "aeiou")
_WORD = re.compile(r"\w\w+")
#: Odd, so that all columns get different weights.
_MIX = 2_654_435_761
#: What another order of adding may change, as a part of the magnitudes.
TOLERANCE = 1e-9


#: Documents that are counted again in plain Python, which takes about a millisecond each.
_RECOUNTED = 1000


def text_params(*, n: int, p: int, features: int) -> dict[str, ParamSpec]:
    """Return the parameters of a workload on a corpus."""
    return {
        "n": ParamSpec(kind=int, default=n, minimum=1, maximum=10_000_000),
        "p": ParamSpec(kind=int, default=p, minimum=1, maximum=100_000),
        "words": ParamSpec(kind=int, default=350, minimum=2, maximum=10_000),
        "features": ParamSpec(kind=int, default=features, minimum=16, maximum=2**30),
    }


def cuts(params: Mapping[str, Scalar]) -> list[tuple[int, int]]:
    """Return the first document and the last plus one of every partition.

    Raises
    ------
    InputError
        When there are more partitions than documents.

    Examples
    --------
    >>> cuts({"n": 5, "p": 2})
    [(0, 2), (2, 5)]
    """
    n, p = int(params["n"]), int(params["p"])
    if p > n:
        raise InputError(
            "text: there are more partitions than documents",
            expected=f"'p' of at most {n:,}",
            found=f"{p:,}",
        )
    return [(i * n // p, (i + 1) * n // p) for i in range(p)]


def recounted(params: Mapping[str, Scalar]) -> list[int]:
    """Return the partitions that a check counts again: all, or some of a large corpus.

    The first is always among them, the others are spread evenly.

    Examples
    --------
    >>> recounted({"n": 4000, "p": 8})
    [0, 4]
    """
    n, p = int(params["n"]), int(params["p"])
    chosen = max(1, p * _RECOUNTED // n)
    return list(range(p)) if chosen >= p else [i * p // chosen for i in range(chosen)]


def some_documents(seed: int, field: int, first: int, stop: int, words: int) -> list[str]:
    """Return the texts of the documents ``first`` to ``stop`` (excluded).

    Parameters
    ----------
    seed, field
        Of the corpus; fields of one seed (titles, bodies) are independent of each other.
    words
        Words of a document on average; the shortest has about half of them.

    Examples
    --------
    >>> some_documents(1, 0, 7, 8, 4) == some_documents(1, 0, 5, 9, 4)[2:3]
    True
    """
    return [_document(seed, field, number, words) for number in range(first, stop)]


def _document(seed: int, field: int, number: int, words: int) -> str:
    import numpy as np

    key = (seed % 2**64) | (field << 64)
    # The lowest part of the counter counts a document's own numbers.
    bits = np.random.Philox(key=key, counter=number << 64)
    length = words // 2 + int(bits.random_raw() % (words + 1)) or 1
    raw = bits.random_raw(length)
    chosen = np.searchsorted(_cumulated(), (raw >> np.uint64(11)) * 2.0**-53, side="right")
    vocabulary = _vocabulary()
    said = [vocabulary[rank] for rank in chosen.tolist()]
    # The lower bits chose no word; they say where a sentence (of 12 words on average) ends.
    ends = np.flatnonzero((raw & np.uint64(1023)) < 85).tolist()
    start = 0
    for end in (*ends, length - 1):
        if start < length:
            said[start] = said[start].capitalize()
        said[end] = said[end].rstrip(".") + "."
        start = end + 1
    return " ".join(said)


@functools.cache
def _vocabulary() -> tuple[str, ...]:
    """Return all words, the most frequent first: the shortest come first, as in languages."""
    base = len(_SYLLABLES)
    found = []
    for rank in range(_VOCABULARY):
        rest, word = rank + 1, ""
        while rest:
            rest, digit = divmod(rest - 1, base)
            # 37 has no divisor in common with 100: neighbours in rank begin differently.
            word = _SYLLABLES[digit * 37 % base] + word
        found.append(word)
    return tuple(found)


@functools.cache
def _cumulated() -> Any:
    import numpy as np

    frequency = 1.0 / (np.arange(_VOCABULARY) + 1 + 2.7)
    total = np.cumsum(frequency)
    total /= total[-1]
    total[-1] = 1.0
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What is told of a sparse matrix instead of the matrix."""

    rows: int
    #: Entries that are stored.
    entries: int
    #: Sum of the entries' squares: the number of rows when each has length 1.
    squares: float
    #: Sum of the entries, each times a weight (0 to 1) of its column.
    weighed: float

    def is_near(self, other: Digest) -> bool:
        """Return whether both can be of one matrix, added up in another order."""
        within = TOLERANCE * max(1, self.entries)
        return (
            (self.rows, self.entries) == (other.rows, other.entries)
            and abs(self.squares - other.squares) <= within
            and abs(self.weighed - other.weighed) <= within
        )


def digest(matrix: Any) -> Digest:
    """Return the digest of a SciPy sparse matrix of compressed rows."""
    import numpy as np

    weights = (matrix.indices.astype(np.uint64) * np.uint64(_MIX) % np.uint64(2**32)) * 2.0**-32
    return Digest(
        rows=int(matrix.shape[0]),
        entries=int(matrix.nnz),
        squares=float(np.dot(matrix.data, matrix.data)),
        weighed=float(np.dot(matrix.data, weights)),
    )


def plain_digest(rows: Iterable[Mapping[int, float]]) -> Digest:
    """Return the digest of rows given as column -> value, by plain Python."""
    count = entries = 0
    squares = weighed = 0.0
    for row in rows:
        count += 1
        entries += len(row)
        squares += sum(value * value for value in row.values())
        weighed += sum(value * (col * _MIX % 2**32) / 2**32 for col, value in row.items())
    return Digest(rows=count, entries=entries, squares=squares, weighed=weighed)


def normed(row: Mapping[int, float]) -> dict[int, float]:
    """Return the row scaled to length 1; one of zeros stays as it is.

    Examples
    --------
    >>> normed({1: 3.0, 7: 4.0})
    {1: 0.6, 7: 0.8}
    """
    length = math.sqrt(sum(value * value for value in row.values())) or 1.0
    return {column: value / length for column, value in row.items()}


def plain_counts(texts: Sequence[str], features: int, *, signed: bool) -> list[dict[int, float]]:
    """Return the hashed words of every text: column -> count, by plain Python.

    Parameters
    ----------
    signed
        Whether a word whose hash is negative counts as -1, as ``HashingVectorizer`` has
        it by default. Words that cancel in a column leave an entry of 0 there.
    """
    rows = []
    for text in texts:
        row: dict[int, float] = {}
        for word, count in Counter(_WORD.findall(text.lower())).items():
            hashed = _signed_hash(word)
            column = abs(hashed) % features
            row[column] = row.get(column, 0.0) + (-count if signed and hashed < 0 else count)
        rows.append(row)
    return rows


@functools.lru_cache(maxsize=2 * _VOCABULARY)
def _signed_hash(word: str) -> int:
    hashed = murmurhash3(word.encode())
    return hashed - 2**32 if hashed >= 2**31 else hashed


def murmurhash3(data: bytes) -> int:
    """Return the 32-bit MurmurHash3 of the seed 0.

    Notes
    -----
    Austin Appleby's ``MurmurHash3_x86_32`` (public domain), which scikit-learn's hashing
    uses as well.

    Examples
    --------
    >>> hex(murmurhash3(b"hello"))
    '0x248bfa47'
    """

    def mixed(block: int) -> int:
        block = block * 0xCC9E2D51 & 0xFFFFFFFF
        return ((block << 15 | block >> 17) & 0xFFFFFFFF) * 0x1B873593 & 0xFFFFFFFF

    value = 0
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        value ^= mixed(int.from_bytes(data[i : i + 4], "little"))
        value = ((value << 13 | value >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if whole < len(data):
        value ^= mixed(int.from_bytes(data[whole:], "little"))
    value ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        value = (value ^ value >> shift) * factor & 0xFFFFFFFF
    return value ^ value >> 16
