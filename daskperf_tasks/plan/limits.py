"""How much a matrix may ask for: one place for files, the command line and the form.

A slip of the keyboard (``rounds = 100000000``) must be refused with its line
before anything is multiplied out, not fill the memory or measure for a year.

==================  ====================  ==========================================
what                limits                why there
==================  ====================  ==========================================
file                1 MiB                 a matrix is some pages of text
``[[workload]]``    1,000 tables          each is at least one cell
cells               10,000 in all         counted before they are multiplied out
blocks              100,000 a wheel       cells times rounds
``seed``            0 to 10^15 - 1        fits a double, and what a kernel takes
``rounds``          1 to 1,000            each is a measuring process
``repeats``         1 to 1,000            beyond, an interval gets no narrower
``max_attempts``    1 to 10               what fails ten times is broken
``timeout_s``       0.1 to 86,400         one day
``workers``         1 to 10,000           more than any lane has
``units``           1 to 10,000,000       one task each, in the worst case
warm-up repeats     0 to 1,000            as repeats
``tolerance``       0 to 10               1 is a change by 100 %
``only``            1,000 patterns        each is tried on every cell
``[[experiment]]``  100 tables            each is a page of a report
an option's values  100                   each is a point of a plot
==================  ====================  ==========================================

The limits of a workload's parameters are its own (``ParamSpec``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The least and the most that a number may be, both included.

    Examples
    --------
    >>> ROUNDS.text, TIMEOUT_S.text
    ('a whole number from 1 to 1,000', 'a number from 0.1 to 86,400')
    >>> 3 in ROUNDS, 0 in ROUNDS, True in ROUNDS, 1.5 in ROUNDS
    (True, False, False, False)
    """

    low: float
    high: float
    whole: bool = True

    @property
    def text(self) -> str:
        """The limits in words."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {_spell(self.low)} to {_spell(self.high)}"

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return self.low <= value <= self.high


SEED = Limits(low=0, high=10**15 - 1)
ROUNDS = Limits(low=1, high=1_000)
REPEATS = Limits(low=1, high=1_000)
MAX_ATTEMPTS = Limits(low=1, high=10)
TIMEOUT_S = Limits(low=0.1, high=86_400, whole=False)
UNITS = Limits(low=1, high=10_000_000)
NUMBER_OF_WORKERS = Limits(low=1, high=10_000)
WARMUP_REPEATS = Limits(low=0, high=1_000)
TOLERANCE = Limits(low=0, high=10, whole=False)

FILE_BYTES = 2**20
WORKLOADS = 1_000
CELLS = 10_000
#: Blocks of one wheel: cells times rounds.
BLOCKS = 100_000
PATTERNS = 1_000
EXPERIMENTS = 100
EXPERIMENT_VALUES = 100


def _spell(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def shown(value: object, limit: int = 40) -> str:
    """Spell a value of a matrix file for a message, cut when it is long.

    Examples
    --------
    >>> shown("x" * 100, 12), shown(10**5000)
    ("'xxxxxxxx...", 'a number of about 5,001 digits')
    """
    if isinstance(value, int) and abs(value) >= 10**limit:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1:,} digits"
    try:
        text = repr(value[: 2 * limit] if isinstance(value, str | list) else value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deeply"
    return text if len(text) <= limit else text[: limit - 3] + "..."
