"""daskperf: scheduled benchmarking for Dask.

The package holds the work; Airflow's DAGs and the command line only call it
(see ``stages``). Importing it stays cheap: everything heavy is imported where
it is used.
"""

from __future__ import annotations

__version__ = "0.1.0"
