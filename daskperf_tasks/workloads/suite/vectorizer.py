"""``vectorizer-n-p``: the words of n documents hashed into sparse rows of 2^25 columns.

Böhm and Beránek 2020, Table I: vectorizer-1M-300 has 301 tasks, no arc, and 10 MB of
output a task. Here a partition has two tasks: one makes its documents and their rows
(10 MB too: the default length of a document is chosen so), a second, which depends on the
first alone, replaces the matrix by a digest where it lies, so that gigabytes need not
travel to be checked. So 300 partitions are 600 tasks, 300 arcs, longest path 1. The graph
is run as it is written: fusion would make one task of the two and leave no matrix.

Each task makes its documents before it hashes them; hashing is the larger part.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daskperf_tasks.workloads.protocol import Built, Checked, Params, ParamSpec, in_one_layer
from daskperf_tasks.workloads.protocol import with_defaults as _full
from daskperf_tasks.workloads.suite.corpus import (
    TOLERANCE,
    Digest,
    cuts,
    digest,
    normed,
    plain_counts,
    plain_digest,
    some_documents,
    text_params,
)
from daskperf_tasks.workloads.suite.text_check import check_partitions

_PARAMS: Mapping[str, ParamSpec] = text_params(n=600, p=6, features=2**25)
_FIELD = 0


def hashed_rows(seed: int, first: int, stop: int, words: int, features: int) -> Any:
    """Return the rows of these documents as a sparse matrix; runs where the task runs."""
    from sklearn.feature_extraction.text import (  # type: ignore[import-untyped, unused-ignore]
        HashingVectorizer,
    )

    texts = some_documents(seed, _FIELD, first, stop, words)
    return HashingVectorizer(n_features=features).transform(texts)


@dataclass(frozen=True, slots=True)
class Vectorizer:
    """``n`` documents in ``p`` partitions by scikit-learn's ``HashingVectorizer``."""

    name: str = "vectorizer"
    version: int = 1
    unit: str = "document"
    requires: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("sklearn",)

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Documents, partitions, mean words of a document, columns of the matrix."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time to make and to hash a document's words."""
        return 5e-5 + 6e-7 * float(_full(self, params)["words"])

    def own_units(self, params: Params) -> int:
        """Return the number of documents."""
        return cuts(_full(self, params))[-1][1]

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return one digest a partition."""
        from dask.base import tokenize

        full = _full(self, params)
        token = tokenize(self.name, sorted(full.items()), seed)
        rows, told = f"hashed-rows-{token}", f"digest-{token}"
        tasks: dict[Any, Any] = {}
        keys = []
        for i, (first, stop) in enumerate(cuts(full)):
            size = full["words"], full["features"]
            tasks[(rows, i)] = (hashed_rows, seed, first, stop, *size)
            tasks[(told, i)] = (digest, (rows, i))
            keys.append((told, i))
        return in_one_layer(told, tasks, *keys)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Count and hash in plain Python; of a large corpus some partitions, the rest by rules."""
        full = _full(self, params)
        words, features = int(full["words"]), int(full["features"])
        return check_partitions(
            self.name,
            results,
            full,
            seed,
            possible=lambda found, rows: _is_possible(found, rows, words),
            rule=f"rows of length 1, of at most {words * 3 // 2} words",
            reference=lambda first, stop: _reference(seed, first, stop, words, features),
            is_near=Digest.is_near,
            method="words counted and hashed in plain Python",
        )


def _is_possible(found: object, rows: int, words: int) -> bool:
    """Rows have length 1, or 0 where the words of a short document cancel."""
    if not isinstance(found, Digest) or found.rows != rows:
        return False
    within = TOLERANCE * max(1, found.entries)
    longest = words // 2 + words
    return (
        rows <= found.entries <= rows * longest
        and math.isfinite(found.squares)
        and abs(found.squares - round(found.squares)) <= within
        and found.squares <= rows + within
        and abs(found.weighed) <= found.entries
    )


@functools.lru_cache(maxsize=1024)
def _reference(seed: int, first: int, stop: int, words: int, features: int) -> Digest:
    texts = some_documents(seed, _FIELD, first, stop, words)
    return plain_digest(map(normed, plain_counts(texts, features, signed=True)))


VECTORIZER = Vectorizer()
