"""Counting words in pages of text that a seed makes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

VOCABULARY = ("task", "graph", "worker", "chunk", "scheduler", "partition", "future", "spill")


def page(seed: int, number: int, words: int) -> str:
    """Return a page of ``words`` words; early words of the vocabulary are the frequent ones."""
    rng = random.Random(f"{seed}/{number}")
    last = len(VOCABULARY) - 1
    return " ".join(VOCABULARY[min(int(rng.expovariate(0.5)), last)] for _ in range(words))


def count_page(seed: int, number: int, words: int) -> dict[str, int]:
    """Return how often each word stands on a page."""
    counts: dict[str, int] = {}
    for word in page(seed, number, words).split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def add_up(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sums of counts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)
