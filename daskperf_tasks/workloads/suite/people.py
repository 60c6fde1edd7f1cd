"""Records of people, each made of the seed and its own number alone."""

from __future__ import annotations

from typing import Any

from daskperf_tasks.workloads.suite.hashes import words

#: Youngest and oldest.
AGES = (16, 66)
_WORDS_EACH = 4
# fmt: off
_STARTS = (
    "ba", "be", "bi", "bo", "da", "de", "di", "do", "fa", "fe", "ga", "go",
    "ha", "he", "ka", "ke", "la", "le", "li", "lo", "ma", "me", "mi", "mo",
)
_ENDS = (
    "bert", "dan", "field", "ford", "gan", "ham", "land", "lin",
    "man", "mark", "ner", "nov", "ren", "ris", "ron", "son",
)
# fmt: on
_OCCUPATIONS = (
    "archivist",
    "baker",
    "carpenter",
    "dentist",
    "electrician",
    "farmer",
    "gardener",
    "joiner",
    "librarian",
    "mason",
    "nurse",
    "optician",
    "pilot",
    "sailor",
    "teacher",
    "weaver",
)

Person = dict[str, Any]


def some_people(seed: int, first: int, stop: int) -> list[Person]:
    """Return the people with the numbers ``first`` to ``stop`` (excluded).

    The fields are those of Dask's own demonstration records: name (two parts), age,
    occupation, telephone, address, credit card.
    """
    drawn = words(seed, 0, first * _WORDS_EACH, stop * _WORDS_EACH).tolist()
    return [_person(*drawn[i : i + _WORDS_EACH]) for i in range(0, len(drawn), _WORDS_EACH)]


def name_length(person: Person) -> int:
    """Return the letters of both parts of the name."""
    first, last = person["name"]
    return len(first) + len(last)


def _person(a: int, b: int, c: int, d: int) -> Person:
    low, high = AGES
    house, street = b % 199 + 1, _name(b >> 8)
    return {
        "name": (_name(a), _name(a >> 24)),
        "age": low + (a >> 48) % (high - low + 1),
        "occupation": _OCCUPATIONS[b >> 60],
        "telephone": f"{c % 1000:03d}-{(c >> 10) % 10_000:04d}",
        "address": {"address": f"{house} {street} Street", "city": _name(c >> 32)},
        "credit-card": {
            "number": f"{d % 10**16:016d}",
            "expiration-date": f"{(c >> 56) % 12 + 1:02d}/{(d >> 56) % 10 + 27}",
        },
    }


def _name(word: int) -> str:
    """Return one to three syllables and an ending, by the low 24 bits."""
    word &= 2**24 - 1
    middle = "".join(_STARTS[(word >> shift) % len(_STARTS)] for shift in (5, 10)[: word & 3])
    start, end = _STARTS[(word >> 15) % len(_STARTS)], _ENDS[(word >> 20) % len(_ENDS)]
    return (start + middle).capitalize() + end
