"""``wordbag-n-p``: titles and bodies of n documents to bags of words, weighed by tf-idf.

A pipeline of scikit-learn in the manner of the package wordbatch, which the paper used
and which does not install any more. A partition has five tasks, joined by four arcs: two
make the texts of a field, two normalise them and count their hashed words, the last
weighs both bags by tf-idf (fitted to the partition) and tells their digests. This is
the shape of Böhm and Beránek 2020, Table I: wordbag-100K-50 has 250 tasks, 200 arcs and
longest path 2; so has this. There the mean output is 5.1 MB; here, with 2,000 documents
a partition, it is 1.9 MB, as titles are short and the last task returns digests only.

The graph is run as it is written: fusion would make fewer tasks of it.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
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

_PARAMS: Mapping[str, ParamSpec] = text_params(n=600, p=6, features=2**18)
_TITLE, _BODY = 1, 2
_TITLE_WORDS = 8
_NO_LETTERS = re.compile(r"[^a-z]+")

#: Of the titles, of the bodies.
Digests = tuple[Digest, Digest]


def bag_of_words(texts: list[str], features: int) -> Any:
    """Return the counts of the hashed words of normalised texts as a sparse matrix."""
    from sklearn.feature_extraction.text import (  # type: ignore[import-untyped, unused-ignore]
        HashingVectorizer,
    )

    normal = [_NO_LETTERS.sub(" ", text.lower()).strip() for text in texts]
    counting = HashingVectorizer(
        n_features=features, norm=None, alternate_sign=False, lowercase=False
    )
    return counting.transform(normal)


def weighed_bags(titles: Any, bodies: Any) -> Digests:
    """Return the digests of both bags, weighed by tf-idf, rows of length 1."""
    from sklearn.feature_extraction.text import (  # type: ignore[import-untyped, unused-ignore]
        TfidfTransformer,
    )

    return (
        digest(TfidfTransformer().fit_transform(titles)),
        digest(TfidfTransformer().fit_transform(bodies)),
    )


@dataclass(frozen=True, slots=True)
class WordBag:
    """``n`` documents in ``p`` partitions: texts, bags of words, tf-idf."""

    name: str = "wordbag"
    version: int = 1
    unit: str = "document"
    requires: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("sklearn",)

    @property
    def params(self) -> Mapping[str, ParamSpec]:
        """Documents, partitions, mean words of a body (titles have 8), columns of a bag."""
        return _PARAMS

    def unit_cost_s(self, params: Params) -> float:
        """Return the time to make, to count and to weigh a document's words."""
        return 1e-4 + 8e-7 * float(_full(self, params)["words"])

    def own_units(self, params: Params) -> int:
        """Return the number of documents."""
        return cuts(_full(self, params))[-1][1]

    def build(self, params: Params, *, units: int, seed: int) -> Built:
        """Return two digests a partition."""
        from dask.base import tokenize

        full = _full(self, params)
        features = full["features"]
        token = tokenize(self.name, sorted(full.items()), seed)
        fields = (("title", _TITLE, _TITLE_WORDS), ("body", _BODY, int(full["words"])))
        last = f"weighed-bags-{token}"
        tasks: dict[Any, Any] = {}
        keys = []
        for i, (first, stop) in enumerate(cuts(full)):
            bags = []
            for field, number, words in fields:
                texts, bag = (f"{field}-texts-{token}", i), (f"{field}-bag-{token}", i)
                tasks[texts] = (some_documents, seed, number, first, stop, words)
                tasks[bag] = (bag_of_words, texts, features)
                bags.append(bag)
            tasks[(last, i)] = (weighed_bags, *bags)
            keys.append((last, i))
        return in_one_layer(last, tasks, *keys)

    def check(self, results: tuple[Any, ...], params: Params, *, units: int, seed: int) -> Checked:
        """Do it all in plain Python; of a large corpus some partitions, the rest by rules."""
        full = _full(self, params)
        words, features = int(full["words"]), int(full["features"])
        return check_partitions(
            self.name,
            results,
            full,
            seed,
            possible=lambda found, rows: _is_possible(found, rows, words),
            rule=f"twice rows of length 1, of at most {_longest(_TITLE_WORDS)} and "
            f"{_longest(words)} words",
            reference=lambda first, stop: _reference(seed, first, stop, words, features),
            is_near=lambda right, found: all(map(Digest.is_near, right, found)),
            method="bags counted and weighed in plain Python",
        )


def _longest(words: int) -> int:
    return words // 2 + words


def _is_possible(found: object, rows: int, words: int) -> bool:
    if not isinstance(found, tuple) or len(found) != 2:
        return False
    for each, longest in zip(found, (_longest(_TITLE_WORDS), _longest(words)), strict=True):
        if not isinstance(each, Digest) or each.rows != rows:
            return False
        within = TOLERANCE * max(1, each.entries)
        if not rows <= each.entries <= rows * longest or not 0 <= each.weighed <= each.entries:
            return False
        if not abs(each.squares - rows) <= within:
            return False
    return True


@functools.lru_cache(maxsize=1024)
def _reference(seed: int, first: int, stop: int, words: int, features: int) -> Digests:
    titles = some_documents(seed, _TITLE, first, stop, _TITLE_WORDS)
    bodies = some_documents(seed, _BODY, first, stop, words)
    return _plain(titles, features), _plain(bodies, features)


def _plain(texts: list[str], features: int) -> Digest:
    """Return the digest of the texts' tf-idf.

    Notes
    -----
    A column's weight is ``log((1 + rows) / (1 + rows that have it)) + 1``, scikit-learn's
    smooth inverse document frequency.
    """
    rows = plain_counts(texts, features, signed=False)
    having = Counter(column for row in rows for column in row)
    weight = {col: math.log((1 + len(rows)) / (1 + n)) + 1 for col, n in having.items()}
    return plain_digest(
        normed({column: count * weight[column] for column, count in row.items()}) for row in rows
    )


WORDBAG = WordBag()
