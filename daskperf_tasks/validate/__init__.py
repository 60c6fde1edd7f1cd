"""Whether a run's tables hold what they promise: Great Expectations suites.

``tables`` turns the run's documents into flat rows, ``suites`` states what is
expected of them, ``validate_run`` has Great Expectations check it.
"""

from __future__ import annotations

from daskperf_tasks.validate.validate import validate_run

__all__ = ["validate_run"]
