from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from daskperf_tasks.errors import InputError
from daskperf_tasks.workloads.suite import corpus
from daskperf_tasks.workloads.suite.corpus import (
    Digest,
    cuts,
    murmurhash3,
    plain_counts,
    plain_digest,
    recounted,
    some_documents,
)


@given(st.integers(0, 10**15), st.integers(1, 40), st.integers(1, 12))
@settings(max_examples=30, deadline=None)
def test_the_corpus_is_the_same_however_it_is_cut(seed: int, n: int, p: int) -> None:
    p = min(n, p)
    parts = [some_documents(seed, 1, *cut, 20) for cut in cuts({"n": n, "p": p})]
    assert [text for part in parts for text in part] == some_documents(seed, 1, 0, n, 20)


def test_seeds_fields_and_numbers_give_other_texts() -> None:
    texts = [
        some_documents(seed, field, number, number + 1, 30)[0]
        for seed in (0, 1)
        for field in (0, 1)
        for number in (0, 1, 2**40)
    ]
    assert len(set(texts)) == len(texts)


def test_the_first_document_of_a_seed_stays() -> None:
    assert some_documents(1, 0, 0, 1, 10) == ["Guda jo ki juli ki lazo xo."]


@pytest.mark.parametrize(("words", "shortest", "longest"), [(2, 1, 3), (20, 10, 30), (21, 10, 31)])
def test_documents_are_as_long_as_they_are_said_to_be(
    words: int, shortest: int, longest: int
) -> None:
    lengths = [len(text.split()) for text in some_documents(3, 0, 0, 600, words)]
    assert (min(lengths), max(lengths)) == (shortest, longest)
    assert sum(lengths) / len(lengths) == pytest.approx(words, rel=0.1)


def test_texts_are_sentences_of_words_whose_frequencies_are_zipf_s() -> None:
    texts = some_documents(3, 0, 0, 300, 350)
    assert all(text[0].isupper() and text[-1] == "." for text in texts)
    assert all(s.strip()[0].isupper() for text in texts for s in text.rstrip(".").split("."))
    counts = Counter(word.strip(".").lower() for text in texts for word in text.split())
    assert set(counts) <= set(corpus._vocabulary())
    total = sum(counts.values())
    share = 1 / sum(1 / (rank + 3.7) for rank in range(20_000))
    for rank in (0, 1, 10, 100):
        expected = share / (rank + 3.7)
        assert counts[corpus._vocabulary()[rank]] / total == pytest.approx(expected, rel=0.15)


def test_no_word_is_there_twice() -> None:
    vocabulary = corpus._vocabulary()
    assert len(set(vocabulary)) == len(vocabulary) == 20_000
    assert {len(word) for word in vocabulary} == {2, 4, 6}


@given(st.binary(max_size=40))
def test_the_hash_is_scikit_learn_s(data: bytes) -> None:
    assert murmurhash3(data) == murmurhash3_32(data, seed=0, positive=True)


def test_counts_are_signed_or_not() -> None:
    (row,) = plain_counts(["Ba ba, KO ko-ko x."], 2**20, signed=False)
    assert sorted(row.values()) == [2.0, 3.0]
    (signed,) = plain_counts(["Ba ba, KO ko-ko x."], 2**20, signed=True)
    assert {column: abs(value) for column, value in signed.items()} == row


def test_a_digest_sees_every_change() -> None:
    rows = [{1: 0.5, 4: -0.25}, {2: 1.0}]
    right = plain_digest(rows)
    assert right.is_near(plain_digest(reversed(rows)))
    for changed in (
        [{1: 0.5, 4: -0.25}],
        [{1: 0.5, 4: -0.25, 9: 0.0}, {2: 1.0}],
        [{1: 0.5, 4: -0.25}, {3: 1.0}],
        [{1: 0.5, 4: 0.25}, {2: 1.0}],
        [{1: 0.5, 4: -0.25}, {2: 1.000001}],
    ):
        assert not right.is_near(plain_digest(changed))
    assert not right.is_near(Digest(rows=2, entries=3, squares=float("nan"), weighed=0.0))


@pytest.mark.parametrize(
    ("n", "p", "expected"),
    [(1, 1, [0]), (1000, 4, [0, 1, 2, 3]), (2000, 4, [0, 2]), (10**6, 300, [0]), (1500, 3, [0, 1])],
)
def test_of_a_large_corpus_some_partitions_are_counted_again(
    n: int, p: int, expected: list[int]
) -> None:
    assert recounted({"n": n, "p": p}) == expected


def test_more_partitions_than_documents_are_refused() -> None:
    with pytest.raises(InputError, match="more partitions than documents"):
        cuts({"n": 3, "p": 4})
