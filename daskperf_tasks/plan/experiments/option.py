"""Options of an experiment: their limits, their defaults, and what is wrong with a value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from daskperf_tasks.model.ids import ENVIRONMENTS, Environment, Scalar
from daskperf_tasks.plan.limits import EXPERIMENT_VALUES, Limits, shown

Values = tuple[Scalar, ...]


class OptionError(ValueError):
    """An option's value that cannot be measured, in words."""

    def __init__(self, option: str, text: str) -> None:
        super().__init__(option, text)
        self.option = option
        self.text = text


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a kind of experiment: whole numbers within limits, or words."""

    name: str
    #: For the command line and the form, in one line.
    help: str
    #: Of a number; None for words.
    limits: Limits | None = None
    #: The words it may be; empty: any, the workload decides.
    choices: tuple[str, ...] = ()
    #: Whether it takes several values.
    many: bool = False
    #: Taken when it is not given; empty: it follows from the allocation.
    default: Values = ()

    @property
    def described(self) -> str:
        """The help with limits and default.

        Examples
        --------
        >>> Option(name="tasks", help="Numbers of tasks.", many=True, default=(2, 8)).described
        'Numbers of tasks; default: 2, 8.'
        """
        words = [self.help.rstrip(".")]
        if self.choices:
            words.append(" or ".join([", ".join(self.choices[:-1]), self.choices[-1]]))
        if self.default:
            words.append(f"default: {', '.join(map(str, self.default))}")
        return "; ".join(words) + "."

    def faults(self, given: object) -> Iterator[tuple[int | None, str]]:
        """Yield what is wrong with a value: its index in a list, and why."""
        values = given if isinstance(given, list | tuple) else [given]
        if isinstance(given, list | tuple) and not self.many and len(values) != 1:
            yield None, f"{self.name!r} must be one value, not a list"
            return
        if not values or len(values) > EXPERIMENT_VALUES:
            yield None, f"{self.name!r} must have 1 to {EXPERIMENT_VALUES:,} values"
            return
        for i, value in enumerate(values):
            at = i if isinstance(given, list | tuple) else None
            if self.limits is not None and value not in self.limits:
                yield at, f"{self.name!r} must be {self.limits.text}, not {shown(value)}"
            elif self.limits is None and not isinstance(value, str):
                yield at, f"{self.name!r} must be a word, not {shown(value)}"
            elif self.choices and value not in self.choices:
                what = f"{self.name!r} cannot be {shown(value)}"
                yield at, f"{what}{nearest(str(value), self.choices)}"
            elif value in values[:i]:
                yield at, f"{self.name!r} lists {shown(value)} twice"

    def values(self, given: object) -> Values:
        """Return a value without faults as a tuple."""
        return tuple(given) if isinstance(given, list | tuple) else (given,)  # type: ignore[return-value]


class Chosen:
    """All options of an experiment: given ones, and the defaults of the others."""

    __slots__ = ("_values",)

    def __init__(self, options: Iterable[Option], given: Mapping[str, Values]) -> None:
        self._values = {o.name: given.get(o.name) or o.default for o in options}

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return the numbers of an option; empty when it follows from the allocation."""
        return tuple(int(v) for v in self._values[name])

    def number(self, name: str) -> int | None:
        """Return the number of an option; None when it follows from the allocation."""
        return next(iter(self.numbers(name)), None)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of an option."""
        return tuple(str(v) for v in self._values[name])

    def environment(self, otherwise: Environment) -> Environment:
        """Return the option ``environment``, or another one when it is not given."""
        given = self.words("environment")
        return next((env for env in ENVIRONMENTS if env in given), otherwise)


def nearest(word: str, valid: Iterable[str]) -> str:
    """Return a hint at the nearest valid word, or at all of them.

    Examples
    --------
    >>> nearest("task", ["tasks", "workers"]), nearest("zz", ["a", "b"])
    ("; did you mean 'tasks'?", '; valid are a, b')
    """
    names = sorted(valid)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; valid are {', '.join(names)}" if names else "; it takes none"
