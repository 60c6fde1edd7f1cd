"""Compiles the extension modules; everything static is in ``pyproject.toml``.

Environment variables read here:

``DASKPERF_KERNELS_VERSION``
    The version of the wheel. Without it, the base version of ``pyproject.toml``.
``DASKPERF_KERNELS_DEBUG``
    ``1`` compiles without optimisation and with bounds checks and checked divisions.
``DASKPERF_KERNELS_ANNOTATE``
    ``1`` leaves Cython's annotated HTML beside each ``.pyx``.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("DASKPERF_KERNELS_DEBUG") == "1"
ANNOTATE = os.environ.get("DASKPERF_KERNELS_ANNOTATE") == "1"

# The results are a contract: the same bits on every host and in Python. So no
# fast-math, no fused multiply-add, and no -march=native, because the wheel runs
# on other hosts than the one that builds it. -fno-math-errno lets sqrt be one
# instruction and changes no value. Without debug information (-g0) no build
# path gets into the file, and the same sources give the same bytes.
ALWAYS = ["-fno-fast-math", "-ffp-contract=off", "-fno-math-errno"]
COMPILE_ARGS = [*ALWAYS, "-O1", "-g"] if DEBUG else [*ALWAYS, "-O3", "-g0"]

# wraparound stays off in the debug build too: a negative index is then an error.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": not DEBUG,
    "embedsignature": True,
}


def version() -> str:
    """Return the version asked for, else the base version."""
    asked = os.environ.get("DASKPERF_KERNELS_VERSION")
    if asked:
        return asked
    project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())
    return str(project["tool"]["daskperf"]["base-version"])


extensions = [
    Extension(
        f"daskperf_kernels.{name}",
        [f"src/daskperf_kernels/{name}.pyx"],
        extra_compile_args=COMPILE_ARGS,
    )
    for name in ("_integrate", "_aggregate")
]

setup(
    version=version(),
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, annotate=ANNOTATE),
)
