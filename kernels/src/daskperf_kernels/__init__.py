"""Numeric kernels that daskperf deploys and measures by default.

Two leaf computations, each compiled (Cython, without the GIL) and in plain
Python, with the same bits from both on every 64-bit host:

- :func:`integrate`: a midpoint rule whose result is pi;
- :func:`aggregate`: one cluster of monomers grown by diffusion.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import numpy.typing as npt

from daskperf_kernels import aggregate_python, integrate_python
from daskperf_kernels._arguments import (
    MAX_MONOMERS,
    MAX_POINTS,
    finite_number,
    whole_number,
)

__all__ = [
    "MAX_MONOMERS",
    "MAX_POINTS",
    "__version__",
    "aggregate",
    "available_implementations",
    "integrate",
]

_Cluster = tuple[npt.NDArray[np.float64], float]

_INTEGRATE: dict[str, Callable[[int, float], float]] = {"python": integrate_python.integrate}
_AGGREGATE: dict[str, Callable[[int, int], _Cluster]] = {"python": aggregate_python.aggregate}
_WHY_NOT_COMPILED = ""

try:
    from daskperf_kernels import _aggregate, _integrate
except ImportError as error:
    # The plain Python half still serves; whoever asks for the other is told why.
    _WHY_NOT_COMPILED = str(error)
else:
    _INTEGRATE = {"cython": _integrate.integrate, **_INTEGRATE}
    _AGGREGATE = {"cython": _aggregate.aggregate, **_AGGREGATE}


def _installed_version() -> str:
    """Return the version in the metadata beside this package, else of any on the path.

    Several versions may be installed side by side; the one beside these files
    is the one that runs.
    """
    name = "daskperf-kernels"
    beside = str(Path(__file__).resolve().parent.parent)
    for distribution in metadata.distributions(name=name, path=[beside]):
        return distribution.version
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "0+unknown"


__version__ = _installed_version()


def available_implementations() -> tuple[str, ...]:
    """Return the names that ``implementation`` takes here, the fastest first.

    Examples
    --------
    >>> "python" in available_implementations()
    True
    """
    return tuple(_INTEGRATE)


def _check_implementation(implementation: object) -> None:
    if isinstance(implementation, str) and implementation in _INTEGRATE:
        return
    if implementation == "cython":
        raise ImportError(
            "implementation 'cython': the compiled modules of daskperf_kernels "
            f"{__version__} do not load here: {_WHY_NOT_COMPILED}. "
            "Install the wheel that was built for this Python and platform, "
            "or pass implementation='python'."
        )
    names = " or ".join(repr(name) for name in _INTEGRATE)
    raise ValueError(f"implementation: expected {names}, found {implementation!r}")


def integrate(n: int, phase: float, implementation: str = "cython") -> float:
    """Integrate a smooth periodic function over one period by the midpoint rule.

    Parameters
    ----------
    n : int
        Number of points, 1 to :data:`MAX_POINTS`.
    phase : float
        Where the period starts, in periods. Any finite number; the exact
        integral is the same for all.
    implementation : str
        ``"cython"`` (releases the GIL) or ``"python"``.

    Returns
    -------
    float
        Pi, with an error of at most 7 n^-5 from n = 64 on, plus rounding:
        within 1e-9 from n = 100 on, within 1e-12 from n = 400 on.

    Raises
    ------
    ValueError
        An argument of the wrong type or outside its range.
    ImportError
        The compiled modules were asked for and do not load.

    Notes
    -----
    The integrand is 4 w'(x) / (1 + w(x)^2) with a polynomial w that makes it
    periodic: see ``integrate_python.py``.

    Examples
    --------
    >>> abs(integrate(1000, 0.25, "python") - 3.141592653589793) < 1e-12
    True
    """
    _check_implementation(implementation)
    points = whole_number("n", n, 1, MAX_POINTS)
    start = finite_number("phase", phase)
    return _INTEGRATE[implementation](points, start)


def aggregate(n: int, seed: int, implementation: str = "cython") -> _Cluster:
    """Grow one cluster of monomers by diffusion-limited hit-and-stick aggregation.

    Parameters
    ----------
    n : int
        Number of monomers, 1 to :data:`MAX_MONOMERS`. The time grows a little
        faster than n: about 4 microseconds a monomer, compiled.
    seed : int
        From 0 to 2**64 - 1. The same seed gives the same bits on every host,
        in every release of this workload, and in both implementations.
    implementation : str
        ``"cython"`` (releases the GIL) or ``"python"``.

    Returns
    -------
    positions : numpy.ndarray, shape (n, 3), float64
        Centres of the monomers in the order in which they stuck, in monomer
        diameters; the first is the origin.
    radius_of_gyration : float
        Root mean square distance of the centres from their mean, in monomer
        diameters (the monomers' own extent is not counted).

    Raises
    ------
    ValueError
        An argument of the wrong type or outside its range.
    ImportError
        The compiled modules were asked for and do not load.

    Notes
    -----
    The model, its steps and its sources are in ``aggregate_python.py``, how a
    walker knows its distance from the cluster in ``surroundings_python.py``.

    Examples
    --------
    >>> positions, radius = aggregate(2, 7, "python")
    >>> positions.shape, round(radius, 12)
    ((2, 3), 0.5)
    """
    _check_implementation(implementation)
    monomers = whole_number("n", n, 1, MAX_MONOMERS)
    start = whole_number("seed", seed, 0, 2**64 - 1)
    return _AGGREGATE[implementation](monomers, start)
