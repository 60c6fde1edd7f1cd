"""What daskperf runs on: the embedded stack and, beside it, deployment recipes.

The folder is called ``infra`` in the checkout and ``daskperf_infra`` on the
import path.
"""
